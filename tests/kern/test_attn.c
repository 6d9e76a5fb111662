/* tests/kern/test_attn.c - attention: every set gives the bits of ref, a row those it has alone,
 * and splits merged are near softmax in f64. */
#include "kern_test.h"

#include <math.h>
#include "base/num.h"

struct shape {
	int k_type, v_type, rows, heads, dk, dv, pos, window;
	float cap;
	int sink;
};
struct cache {
	struct fence *k, *v;
	const void **kp, **vp;
	int pages;
	size_t k_row, v_row;
};

static size_t width(int type) { return type == INFER_F16 ? 2 : 4; }

/* pages of n positions, each ending where its mapping ends (the last of fewer positions) */
static struct fence *pages_new(const void **at, int n, int type, int d, size_t row, uint64_t seed)
{
	int pages = (n + KERN_PAGE - 1) / KERN_PAGE;
	struct fence *f = block_new((size_t)pages * sizeof *f);
	float *x = block_new((size_t)d * 4);

	for (int i = 0; i < pages; i++) {
		int here = n - i * KERN_PAGE < KERN_PAGE ? n - i * KERN_PAGE : KERN_PAGE;
		f[i] = fence_new((size_t)(here - 1) * row + (size_t)d * width(type));
		at[i] = f[i].at;
		for (int p = 0; p < here; p++) {
			probe_floats(x, (size_t)d, PROBE_PLAIN,
			             seed + (uint64_t)(i * KERN_PAGE + p));
			for (int j = 0; j < d; j++)
				if (type == INFER_F16)
					((uint16_t *)(void *)(f[i].at + (size_t)p * row))[j] =
					    num_to_f16(x[j]);
				else
					memcpy(f[i].at + (size_t)p * row + (size_t)j * 4, x + j, 4);
		}
	}
	free(x);
	return f;
}

static struct cache cache_new(const struct shape *s, int n)
{
	struct cache c = {.pages = (n + KERN_PAGE - 1) / KERN_PAGE};

	c.k_row = (size_t)s->dk * width(s->k_type) + 8;
	c.v_row = (size_t)s->dv * width(s->v_type) + 24;
	c.kp = block_new((size_t)c.pages * sizeof *c.kp);
	c.vp = block_new((size_t)c.pages * sizeof *c.vp);
	c.k = pages_new(c.kp, n, s->k_type, s->dk, c.k_row, 100);
	c.v = pages_new(c.vp, n, s->v_type, s->dv, c.v_row, 9000);
	return c;
}

static void cache_free(struct cache *c)
{
	for (int i = 0; i < c->pages; i++)
		fence_free(&c->k[i]), fence_free(&c->v[i]);
	free(c->k), free(c->v), free(c->kp), free(c->vp);
}

static float value(const void *row, int type, int i)
{
	return type == INFER_F16 ? num_f16(((const uint16_t *)row)[i]) : ((const float *)row)[i];
}

/* m, l, o of every split: [splits][rows][heads] and [..][dv] */
struct parts {
	float *m, *l, *o;
	int splits;
};

static struct parts run(const struct kern *k, const struct shape *s, const struct cache *c,
                        const float *q, const float *sink, int row, int rows)
{
	int end = s->pos + s->rows, n = (end + KERN_SPLIT - 1) / KERN_SPLIT;
	size_t pairs = (size_t)rows * (size_t)s->heads;
	struct parts p = {block_new((size_t)n * pairs * 4), block_new((size_t)n * pairs * 4),
	                  block_new((size_t)n * pairs * (size_t)s->dv * 4), n};
	float *scratch = block_new(KERN_ATTN_SCRATCH(s->heads) * 4);

	memset(p.o, 0xff, (size_t)n * pairs * (size_t)s->dv * 4);
	for (int i = 0; i < n; i++) {
		struct kern_attn a = {
		    .q = q + (size_t)row * (size_t)s->heads * (size_t)s->dk,
		    .q_row = (size_t)s->heads * (size_t)s->dk,
		    .k = c->kp + i * KERN_SPLIT / KERN_PAGE,
		    .v = c->vp + i * KERN_SPLIT / KERN_PAGE,
		    .k_row = c->k_row,
		    .v_row = c->v_row,
		    .k_type = (uint8_t)s->k_type,
		    .v_type = (uint8_t)s->v_type,
		    .rows = rows,
		    .heads = s->heads,
		    .dk = s->dk,
		    .dv = s->dv,
		    .from = i * KERN_SPLIT,
		    .to = end < (i + 1) * KERN_SPLIT ? end : (i + 1) * KERN_SPLIT,
		    .pos = s->pos + row,
		    .window = s->window,
		    .scale = 1.0f / sqrtf((float)s->dk),
		    .cap = s->cap,
		    .sink = i ? NULL : sink,
		    .m = p.m + (size_t)i * pairs,
		    .l = p.l + (size_t)i * pairs,
		    .o = p.o + (size_t)i * pairs * (size_t)s->dv,
		    .ml_row = (size_t)s->heads,
		    .o_row = (size_t)s->heads * (size_t)s->dv,
		    .scratch = scratch,
		};
		memset(scratch, 0xff, KERN_ATTN_SCRATCH(s->heads) * 4);
		k->attn(&a);
	}
	free(scratch);
	return p;
}

static void parts_free(struct parts *p) { free(p->m), free(p->l), free(p->o); }

static void same(const float *got, const float *want, size_t n, const struct kern *k,
                 const struct shape *s, const char *what)
{
	int64_t i = probe_differ(got, want, n);

	if (i >= 0)
		fail_msg("%s %s rows %d heads %d dk %d dv %d pos %d window %d: at %lld %a, not %a",
		         k->name, what, s->rows, s->heads, s->dk, s->dv, s->pos, s->window,
		         (long long)i, (double)got[i], (double)want[i]);
}

/* one row's result from its splits */
static void merged(const struct kern *k, const struct shape *s, const struct parts *p, int rows,
                   int row, float *o)
{
	size_t h = (size_t)s->heads, d = (size_t)s->dv;
	float *m = block_new((size_t)p->splits * h * 4), *l = block_new((size_t)p->splits * h * 4);
	float *parts = block_new((size_t)p->splits * h * d * 4);

	for (size_t i = 0; i < (size_t)p->splits; i++) {
		size_t at = (i * (size_t)rows + (size_t)row) * h;
		memcpy(m + i * h, p->m + at, h * 4);
		memcpy(l + i * h, p->l + at, h * 4);
		memcpy(parts + i * h * d, p->o + at * d, h * d * 4);
	}
	k->attn_merge(o, m, l, parts, p->splits, s->heads, s->dv);
	free(m), free(l), free(parts);
}

/* softmax of one pair in f64 against the merged row */
static void near_truth(const struct shape *s, const struct cache *c, const float *q,
                       const float *sink, int row, int h, const float *o)
{
	int at = s->pos + row, lo = s->window && at - s->window + 1 > 0 ? at - s->window + 1 : 0;
	double *w = block_new((size_t)(at + 1) * 8), sum = 0,
	       most = sink ? (double)sink[h] : -INFINITY;

	for (int p = lo; p <= at; p++) {
		const char *k =
		    (const char *)c->kp[p / KERN_PAGE] + (size_t)(p % KERN_PAGE) * c->k_row;
		double dot = 0;
		for (int i = 0; i < s->dk; i++)
			dot +=
			    (double)q[((size_t)row * (size_t)s->heads + (size_t)h) * (size_t)s->dk +
			              (size_t)i] *
			    (double)value(k, s->k_type, i);
		dot /= sqrt(s->dk);
		w[p] = s->cap != 0 ? (double)s->cap * tanh(dot / (double)s->cap) : dot;
		most = w[p] > most ? w[p] : most;
	}
	for (int p = lo; p <= at; p++)
		sum += w[p] = exp(w[p] - most);
	if (sink)
		sum += exp((double)sink[h] - most);
	for (int d = 0; d < s->dv; d++) {
		double want = 0;
		for (int p = lo; p <= at; p++)
			want += w[p] / sum *
			        (double)value((const char *)c->vp[p / KERN_PAGE] +
			                          (size_t)(p % KERN_PAGE) * c->v_row,
			                      s->v_type, d);
		if (!(fabs(want - (double)o[h * s->dv + d]) <= 3e-6))
			fail_msg("row %d head %d d %d: %.9g, not %.9g", row, h, d,
			         (double)o[h * s->dv + d], want);
	}
	free(w);
}

static const struct shape shapes[] = {
    {INFER_F32, INFER_F32, 1, 1, 64, 64, 0, 0, 0, 0},
    {INFER_F16, INFER_F16, 1, 4, 64, 64, 299, 0, 0, 0},
    {INFER_F16, INFER_F16, 1, 1, 128, 128, 700, 0, 0, 0},
    {INFER_F16, INFER_F16, 9, 4, 64, 64, 250, 0, 0, 0},
    {INFER_F32, INFER_F16, 33, 1, 48, 80, 0, 0, 0, 0},
    {INFER_F16, INFER_F32, 40, 3, 20, 33, 240, 0, 0, 1},
    {INFER_F16, INFER_F16, 70, 2, 64, 64, 500, 37, 0, 0},
    {INFER_F16, INFER_F16, 5, 8, 96, 96, 511, 300, 50, 1},
    {INFER_F32, INFER_F32, 64, 1, 8, 7, 0, 5, 2, 1},
    {INFER_F16, INFER_F16, 2, 6, 576, 512, 30, 0, 0, 0},
    {INFER_F16, INFER_F16, 17, 5, 64, 64, 255, 1, 0, 1},
};

static void one(const struct kern *k, const struct kern *ref, const struct shape *s)
{
	size_t pairs = (size_t)s->rows * (size_t)s->heads, nq = pairs * (size_t)s->dk;
	struct cache c = cache_new(s, s->pos + s->rows);
	float *q = block_new(nq * 4), *o = block_new((size_t)(s->heads * s->dv) * 4),
	      *o1 = block_new((size_t)(s->heads * s->dv) * 4);
	float sinks[16], *sink = s->sink ? sinks : NULL;

	probe_floats(q, nq, PROBE_PLAIN, 4);
	probe_floats(sinks, 16, PROBE_PLAIN, 6);
	struct parts p = run(k, s, &c, q, sink, 0, s->rows),
	             r = run(ref, s, &c, q, sink, 0, s->rows);
	same(p.m, r.m, (size_t)p.splits * pairs, k, s, "m");
	same(p.l, r.l, (size_t)p.splits * pairs, k, s, "l");
	same(p.o, r.o, (size_t)p.splits * pairs * (size_t)s->dv, k, s, "o");
	for (int row = 0; row < s->rows; row += 1 + s->rows / 12) {
		struct parts alone = run(k, s, &c, q, sink, row, 1);
		merged(k, s, &p, s->rows, row, o);
		merged(k, s, &alone, 1, 0, o1);
		same(o1, o, (size_t)(s->heads * s->dv), k, s, "a row alone");
		merged(ref, s, &alone, 1, 0, o1);
		same(o1, o, (size_t)(s->heads * s->dv), k, s, "merge");
		for (int h = 0; h < s->heads; h++)
			near_truth(s, &c, q, sink, row, h, o);
		parts_free(&alone);
	}
	parts_free(&p), parts_free(&r);
	cache_free(&c);
	free(q), free(o), free(o1);
}

static void set_same(const struct kern *k, const struct kern *ref)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		one(k, ref, &shapes[i]);
}

static void test_same(void **state)
{
	(void)state;
	each_set(set_same);
}

/* what a row may not see does not reach it, be it NaN */
static void set_unseen(const struct kern *k, const struct kern *ref)
{
	const struct shape s = {INFER_F32, INFER_F32, 8, 2, 32, 32, 60, 20, 0, 0};
	struct cache c = cache_new(&s, s.pos + s.rows);
	float q[8 * 2 * 32];

	(void)ref;
	probe_floats(q, 8 * 2 * 32, PROBE_PLAIN, 4);
	for (int p = 0; p <= 60 - 20;
	     p++) /* too old for every row; row 7 alone sees the last position */
		for (int i = 0; i < 32; i++) {
			((float *)((uintptr_t)c.kp[p / 32] + (size_t)(p % 32) * c.k_row))[i] = NAN;
			((float *)((uintptr_t)c.vp[p / 32] + (size_t)(p % 32) * c.v_row))[i] = NAN;
		}
	for (int i = 0; i < 32; i++) {
		((float *)((uintptr_t)c.kp[67 / 32] + (size_t)(67 % 32) * c.k_row))[i] = NAN;
		((float *)((uintptr_t)c.vp[67 / 32] + (size_t)(67 % 32) * c.v_row))[i] = NAN;
	}
	struct parts p = run(k, &s, &c, q, NULL, 0, 8);
	for (int i = 0; i < 8 * 2 * 32; i++)
		assert_int_equal(p.o[i] != p.o[i], i / 64 == 7);
	for (int i = 0; i < 16; i++)
		assert_int_equal(p.l[i] != p.l[i], i / 2 == 7);
	parts_free(&p);
	cache_free(&c);
}

static void test_unseen(void **state)
{
	(void)state;
	each_set(set_unseen);
}

/* a split of which a row sees nothing */
static void set_nothing(const struct kern *k, const struct kern *ref)
{
	const struct shape s = {INFER_F16, INFER_F16, 3, 2, 16, 16, 600, 10, 0, 0};
	struct cache c = cache_new(&s, s.pos + s.rows);
	float q[3 * 2 * 16];

	(void)ref;
	probe_floats(q, 3 * 2 * 16, PROBE_PLAIN, 4);
	struct parts p = run(k, &s, &c, q, NULL, 0, 3);
	assert_int_equal(p.splits, 3);
	for (int i = 0; i < 12; i++)
		assert_true(p.m[i] == -INFINITY && p.l[i] == 0);
	for (int i = 0; i < 12 * 16; i++)
		assert_true(p.o[i] == 0);
	parts_free(&p);
	cache_free(&c);
}

static void test_nothing(void **state)
{
	(void)state;
	each_set(set_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same),
	    cmocka_unit_test(test_unseen),
	    cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
