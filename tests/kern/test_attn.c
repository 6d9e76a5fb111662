/* tests/kern/test_attn.c - attention: every set gives the bits of ref, a row gives the same bits
 * alone, and merged splits are close to softmax in f64. */
#include "kern_test.h"

#include <math.h>
#include "base/num.h"
#include "kern/kv.h"

struct shape {
	int k_type, v_type, rows, heads, dk, dv, pos, window;
	float cap;
	int sink, later;
};
struct cache {
	struct fence *k, *v;
	const void **kp, **vp;
	int pages;
};

/* pages for n positions, each ending where its mapping ends; what no position writes is 0xff: NaN,
 * or a scale that is */
static struct fence *pages_new(const void **at, int n, int type, int d, int is_k)
{
	const struct kern ref = kern_select(0);
	struct fence *f = block_new((size_t)(n + KERN_PAGE - 1) / KERN_PAGE * sizeof *f);
	float *x = block_new((size_t)d * 4);

	for (int p = 0; p < n; p++) {
		struct fence *page = &f[p / KERN_PAGE];
		if (p % KERN_PAGE == 0) {
			*page = fence_new(kern_kv_bytes(type, d));
			memset(page->at, 0xff, kern_kv_bytes(type, d));
			at[p / KERN_PAGE] = page->at;
		}
		kern_data_floats(x, (size_t)d, KERN_DATA_PLAIN, (is_k ? 100 : 9000) + (uint64_t)p);
		(is_k ? kern_k_put : kern_v_put)(&ref, page->at, type, p % KERN_PAGE, x, d);
	}
	free(x);
	return f;
}

static struct cache cache_new(const struct shape *s, int n)
{
	struct cache c = { .pages = (n + KERN_PAGE - 1) / KERN_PAGE };

	c.kp = block_new((size_t)c.pages * sizeof *c.kp);
	c.vp = block_new((size_t)c.pages * sizeof *c.vp);
	c.k = pages_new(c.kp, n, s->k_type, s->dk, 1);
	c.v = pages_new(c.vp, n, s->v_type, s->dv, 0);
	return c;
}

static void cache_free(struct cache *c)
{
	for (int i = 0; i < c->pages; i++)
		fence_free(&c->k[i]), fence_free(&c->v[i]);
	free(c->k), free(c->v), free(c->kp), free(c->vp);
}

/* Codes and scales where kern/kv.h draws them. */
static int half(const uint8_t *p, int high) { return high ? *p >> 4 : *p & 15; }

static int code(const void *page, int type, int at, int i, int d, int is_k)
{
	static const int byte[] = { 0, 2, 1, 3 };
	const uint8_t *p = page;
	int b = i / 32, e = i % 16;

	if (type == INFER_Q8_0)
		return (is_k ? p[i / 4 * 128 + at * 4 + byte[i % 4]]
		             : p[at / 4 * d * 4 + i * 4 + byte[at % 4]]) -
		       128;
	p += is_k ? b * 512 + e / 4 * 128 + at * 4 + byte[e % 4]
	          : at / 4 * d * 2 + b * 64 + e * 4 + byte[at % 4];
	return half(p, i % 32 >= 16);
}

static uint16_t scale_bits(const void *page, int type, int at, int i, int d)
{
	const char *end = (const char *)page + 32 * d / (type == INFER_Q8_0 ? 1 : 2);

	return ((const uint16_t *)(const void *)end)[i / 32 * 32 + at];
}

static float value(const void *page, int type, int at, int i, int d, int is_k)
{
	int cell = is_k ? i * 32 + at : at * d + i;

	if (type == INFER_F32)
		return ((const float *)page)[cell];
	if (type == INFER_F16)
		return num_f16(((const uint16_t *)page)[cell]);
	return num_f16(scale_bits(page, type, at, i, d)) *
	       (float)(code(page, type, at, i, d, is_k) - (type == INFER_Q4_0 ? 8 : 0));
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
	struct parts p = { block_new((size_t)n * pairs * 4), block_new((size_t)n * pairs * 4),
		           block_new((size_t)n * pairs * (size_t)s->dv * 4), n };
	void *scratch = block_new(kern_attn_scratch(s->dk, s->dv));

	memset(p.o, 0xff, (size_t)n * pairs * (size_t)s->dv * 4);
	for (int i = 0; i < n; i++) {
		struct kern_attn a = {
			.q = q + (size_t)row * (size_t)s->heads * (size_t)s->dk,
			.q_row = (size_t)s->heads * (size_t)s->dk,
			.k = c->kp + i * KERN_SPLIT / KERN_PAGE,
			.v = c->vp + i * KERN_SPLIT / KERN_PAGE,
			.k_type = (uint8_t)s->k_type,
			.v_type = (uint8_t)s->v_type,
			.rows = rows,
			.kv_heads = 1,
			.heads = s->heads,
			.dk = s->dk,
			.dv = s->dv,
			.from = i * KERN_SPLIT,
			.to = end < (i + 1) * KERN_SPLIT ? end : (i + 1) * KERN_SPLIT,
			.pos = s->pos + row,
			.window = s->window,
			.later = s->later,
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
		memset(scratch, 0xff, kern_attn_scratch(s->dk, s->dv));
		k->attn(&a);
	}
	free(scratch);
	return p;
}

static void parts_free(struct parts *p) { free(p->m), free(p->l), free(p->o); }

static void same(const float *got, const float *want, size_t n, const struct kern *k,
                 const struct shape *s, const char *what)
{
	int64_t i = kern_data_differ(got, want, n);

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

/* q and weights in 16 bits beside a cache in 8 or 4 */
static double tolerance(const struct shape *s)
{
	int k = s->k_type == INFER_F32 || s->k_type == INFER_F16,
	    v = s->v_type == INFER_F32 || s->v_type == INFER_F16;

	return k && v ? 3e-6 : 1e-4;
}

/* softmax of one pair in f64 against the merged row */
static void near_truth(const struct shape *s, const struct cache *c, const float *q,
                       const float *sink, int row, int h, const float *o)
{
	int own = s->pos + row, lo = s->window && own - s->window + 1 > 0 ? own - s->window + 1 : 0,
	    at = (int)num_min((int64_t)own + s->later, s->pos + s->rows - 1);
	double *w = block_new((size_t)(at + 1) * 8), sum = 0,
	       most = sink ? (double)sink[h] : -INFINITY;

	for (int p = lo; p <= at; p++) {
		double dot = 0;
		for (int i = 0; i < s->dk; i++)
			dot += (double)q[((size_t)row * (size_t)s->heads + (size_t)h) *
			                         (size_t)s->dk +
			                 (size_t)i] *
			       (double)value(c->kp[p / KERN_PAGE], s->k_type, p % KERN_PAGE, i,
			                     s->dk, 1);
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
			        (double)value(c->vp[p / KERN_PAGE], s->v_type, p % KERN_PAGE, d,
			                      s->dv, 0);
		if (!(fabs(want - (double)o[h * s->dv + d]) <= tolerance(s)))
			fail_msg("row %d head %d d %d: %.9g, not %.9g", row, h, d,
			         (double)o[h * s->dv + d], want);
	}
	free(w);
}

static const struct shape shapes[] = {
	{ INFER_F32, INFER_F32, 1, 1, 64, 64, 0, 0, 0, 0 },
	{ INFER_F16, INFER_F16, 1, 4, 64, 64, 299, 0, 0, 0 },
	{ INFER_F16, INFER_F16, 1, 1, 128, 128, 700, 0, 0, 0 },
	{ INFER_F16, INFER_F16, 9, 4, 64, 64, 250, 0, 0, 0 },
	{ INFER_F32, INFER_F16, 33, 1, 48, 80, 0, 0, 0, 0 },
	{ INFER_F16, INFER_F32, 40, 3, 20, 33, 240, 0, 0, 1 },
	{ INFER_F16, INFER_F16, 70, 2, 64, 64, 500, 37, 0, 0 },
	{ INFER_F16, INFER_F16, 5, 8, 96, 96, 511, 300, 50, 1 },
	{ INFER_F32, INFER_F32, 64, 1, 8, 7, 0, 5, 2, 1 },
	{ INFER_F16, INFER_F16, 2, 6, 576, 512, 30, 0, 0, 0 },
	{ INFER_F16, INFER_F16, 17, 5, 64, 64, 255, 1, 0, 1 },
	{ INFER_F16, INFER_F16, 3, 7, 72, 40, 100, 0, 0, 0 },
	{ INFER_Q8_0, INFER_Q8_0, 1, 4, 64, 64, 299, 0, 0, 0 },
	{ INFER_Q4_0, INFER_Q4_0, 1, 4, 64, 64, 299, 0, 0, 0 },
	{ INFER_Q8_0, INFER_Q8_0, 1, 1, 128, 128, 700, 0, 0, 0 },
	{ INFER_Q8_0, INFER_Q8_0, 33, 3, 64, 64, 230, 0, 0, 0 },
	{ INFER_Q4_0, INFER_Q4_0, 19, 7, 128, 96, 250, 0, 0, 1 },
	{ INFER_Q8_0, INFER_Q4_0, 70, 2, 64, 64, 500, 37, 0, 0 },
	{ INFER_Q4_0, INFER_Q8_0, 5, 8, 96, 32, 511, 300, 50, 1 },
	{ INFER_Q8_0, INFER_F16, 40, 1, 32, 33, 0, 0, 0, 1 },
	{ INFER_F32, INFER_Q4_0, 9, 5, 20, 160, 60, 5, 2, 0 },
	{ INFER_Q8_0, INFER_Q8_0, 2, 6, 576, 512, 30, 0, 0, 0 },
	{ INFER_Q4_0, INFER_Q4_0, 17, 5, 64, 64, 255, 1, 0, 1 },
	{ INFER_F32, INFER_F32, 300, 2, 20, 33, 0, 0, 0, 0, 1 << 30 },
	{ INFER_F16, INFER_F16, 290, 1, 64, 64, 3, 33, 0, 1, 32 },
	{ INFER_Q8_0, INFER_Q4_0, 40, 2, 64, 64, 230, 9, 5, 0, 8 },
	{ INFER_F16, INFER_F16, 34, 5, 64, 64, 0, 1, 0, 0, 1 },
};

static void one(const struct kern *k, const struct kern *ref, const struct shape *s)
{
	size_t pairs = (size_t)s->rows * (size_t)s->heads, nq = pairs * (size_t)s->dk;
	struct cache c = cache_new(s, s->pos + s->rows);
	float *q = block_new(nq * 4), *o = block_new((size_t)(s->heads * s->dv) * 4),
	      *o1 = block_new((size_t)(s->heads * s->dv) * 4);
	float sinks[16], *sink = s->sink ? sinks : NULL;

	kern_data_floats(q, nq, KERN_DATA_PLAIN, 4);
	kern_data_floats(sinks, 16, KERN_DATA_PLAIN, 6);
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

/* Some KV heads in one call give what each gives alone. */
enum { KV = 5, TOGETHER = 2, WIDTH = 64, PAGES = 4 };

static void call(const struct kern *k, int type, const float *q, char *const *pages, size_t bytes,
                 int first, int n, float *m, float *l, float *o)
{
	const void *at[PAGES];
	void *scratch = block_new(kern_attn_scratch(WIDTH, WIDTH));
	const int heads = KV * TOGETHER;

	for (int i = 0; i < PAGES; i++)
		at[i] = pages[i] + (size_t)first * bytes;
	k->attn(&(struct kern_attn){ .q = q + first * TOGETHER * WIDTH,
	                             .q_row = (size_t)heads * WIDTH,
	                             .k = at,
	                             .v = at,
	                             .k_type = (uint8_t)type,
	                             .v_type = (uint8_t)type,
	                             .rows = 7,
	                             .kv_heads = n,
	                             .heads = TOGETHER,
	                             .dk = WIDTH,
	                             .dv = WIDTH,
	                             .to = PAGES * KERN_PAGE - 3,
	                             .pos = PAGES * KERN_PAGE - 10,
	                             .window = 60,
	                             .scale = 0.125f,
	                             .sink = q + first * TOGETHER,
	                             .m = m + first * TOGETHER,
	                             .l = l + first * TOGETHER,
	                             .o = o + first * TOGETHER * WIDTH,
	                             .ml_row = (size_t)heads,
	                             .o_row = (size_t)heads * WIDTH,
	                             .scratch = scratch });
	free(scratch);
}

static void some(const struct kern *k, int type)
{
	enum { ALL = 7 * KV * TOGETHER };
	static float q[ALL * WIDTH], m[3][ALL], l[3][ALL], o[3][ALL * WIDTH];
	size_t bytes = kern_kv_bytes(type, WIDTH);
	char *pages[PAGES];

	kern_data_floats(q, ALL * WIDTH, KERN_DATA_PLAIN, 5);
	for (int i = 0; i < PAGES; i++) {
		pages[i] = block_new(KV * bytes);
		memset(pages[i], 0xff, KV * bytes);
		for (int j = 0; j < KV * KERN_PAGE; j++) {
			float x[WIDTH];
			kern_data_floats(x, WIDTH, KERN_DATA_PLAIN, (uint64_t)(i * 1000 + j));
			/* the same bytes serve as K and as V */
			kern_k_put(k, pages[i] + (size_t)(j / KERN_PAGE) * bytes, type,
			           j % KERN_PAGE, x, WIDTH);
		}
	}
	call(k, type, q, pages, bytes, 0, KV, m[0], l[0], o[0]);
	for (int g = 0; g < KV; g++)
		call(k, type, q, pages, bytes, g, 1, m[1], l[1], o[1]);
	call(k, type, q, pages, bytes, 0, 2, m[2], l[2], o[2]);
	call(k, type, q, pages, bytes, 2, 3, m[2], l[2], o[2]);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(kern_data_differ(m[i], m[0], ALL), -1);
		assert_int_equal(kern_data_differ(l[i], l[0], ALL), -1);
		assert_int_equal(kern_data_differ(o[i], o[0], ALL * WIDTH), -1);
	}
	for (int i = 0; i < PAGES; i++)
		free(pages[i]);
}

static void set_some(const struct kern *k, const struct kern *ref)
{
	(void)ref;
	some(k, INFER_F32);
	some(k, INFER_F16);
	some(k, INFER_Q8_0);
	some(k, INFER_Q4_0);
}

static void test_some(void **state)
{
	(void)state;
	each_set(set_some);
}

static void test_same(void **state)
{
	(void)state;
	each_set(set_same);
}

/* what a row may not see does not reach it, be it NaN */
static void unseen(const struct kern *k, int k_type, int v_type)
{
	const struct shape s = { k_type, v_type, 8, 2, 32, 32, 60, 20, 0, 0 };
	struct cache c = cache_new(&s, s.pos + s.rows);
	float q[8 * 2 * 32], bad[32];

	kern_data_floats(q, 8 * 2 * 32, KERN_DATA_PLAIN, 4);
	for (int i = 0; i < 32; i++)
		bad[i] = NAN;
	for (int p = 0; p < 68; p = p == 60 - 20 ? 67 : p + 1) {
		/* too old for every row; row 7 alone sees the last position */
		kern_k_put(k, c.k[p / KERN_PAGE].at, k_type, p % KERN_PAGE, bad, 32);
		kern_v_put(k, c.v[p / KERN_PAGE].at, v_type, p % KERN_PAGE, bad, 32);
	}
	struct parts p = run(k, &s, &c, q, NULL, 0, 8);
	for (int i = 0; i < 8 * 2 * 32; i++)
		assert_int_equal(p.o[i] != p.o[i], i / 64 == 7);
	for (int i = 0; i < 16; i++)
		assert_int_equal(p.l[i] != p.l[i], i / 2 == 7);
	parts_free(&p);
	cache_free(&c);
}

static void set_unseen(const struct kern *k, const struct kern *ref)
{
	static const int types[] = { INFER_F32, INFER_F16, INFER_Q8_0, INFER_Q4_0 };

	(void)ref;
	for (int i = 0; i < 16; i++)
		unseen(k, types[i / 4], types[i % 4]);
}

static void test_unseen(void **state)
{
	(void)state;
	each_set(set_unseen);
}

/* a split of which a row sees nothing */
static void nothing(const struct kern *k, int which)
{
	static const int types[] = { INFER_F16, INFER_Q8_0, INFER_Q4_0 };
	const struct shape s = { types[which], types[which], 3, 2, 32, 32, 600, 10, 0, 0 };
	struct cache c = cache_new(&s, s.pos + s.rows);
	float q[3 * 2 * 32];

	kern_data_floats(q, 3 * 2 * 32, KERN_DATA_PLAIN, 4);
	struct parts p = run(k, &s, &c, q, NULL, 0, 3);
	assert_int_equal(p.splits, 3);
	for (int i = 0; i < 12; i++)
		assert_true(p.m[i] == -INFINITY && p.l[i] == 0);
	for (int i = 0; i < 12 * 32; i++)
		assert_true(p.o[i] == 0);
	parts_free(&p);
	cache_free(&c);
}

static void set_nothing(const struct kern *k, const struct kern *ref)
{
	(void)ref;
	for (int i = 0; i < 3; i++)
		nothing(k, i);
}

static void test_nothing(void **state)
{
	(void)state;
	each_set(set_nothing);
}

/* Rounding as gguf-py does it, position by position in a page that holds something else at
 * first. */
enum { BLOCKS = 96, DIM = 96 };

static void rounded(const float *x, const unsigned char *want, int type, int is_k)
{
	const struct kern ref = kern_select(0);
	int bytes = infer_type_info(type)->block_bytes;
	unsigned char *page = block_new(kern_kv_bytes(type, DIM));

	memset(page, 0xa5, kern_kv_bytes(type, DIM));
	for (int at = 0; at < BLOCKS / 3; at++)
		(is_k ? kern_k_put : kern_v_put)(&ref, page, type, at, x + at * DIM, DIM);
	for (int i = 0; i < BLOCKS * 32; i++) {
		const unsigned char *b = want + i / 32 * bytes;
		int at = i / DIM, e = i % 32;
		int c = type == INFER_Q8_0 ? (int8_t)b[2 + e] : half(b + 2 + e % 16, e >= 16);
		assert_int_equal(scale_bits(page, type, at, i % DIM, DIM), b[0] | b[1] << 8);
		if (code(page, type, at, i % DIM, DIM, is_k) != c)
			fail_msg("element %d of block %d (%a): %d, not %d", e, i / 32, (double)x[i],
			         code(page, type, at, i % DIM, DIM, is_k), c);
	}
	free(page);
}

/* A page of K in the layout of V is what V is for the same numbers, for each number of its dimensions. */
static void test_turn(void **state)
{
	static const int types[] = { INFER_F32, INFER_F16, INFER_Q8_0, INFER_Q4_0 };
	const struct kern ref = kern_select(0);
	static float x[KERN_PAGE][DIM];

	(void)state;
	for (int i = 0; i < KERN_PAGE * DIM; i++)
		x[i / DIM][i % DIM] = sinf((float)i * 1.7f) * (float)(1 + i % 13);
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int dv = 1; dv <= DIM; dv++) {
			size_t bytes = kern_kv_bytes(types[t], dv);
			unsigned char *k, *want, *v;
			if (!bytes)
				continue;
			k = block_new(kern_kv_bytes(types[t], DIM));
			want = block_new(bytes);
			v = block_new(bytes);
			for (int at = 0; at < KERN_PAGE; at++) {
				kern_k_put(&ref, k, types[t], at, x[at], DIM);
				kern_v_put(&ref, want, types[t], at, x[at], dv);
			}
			kern_k_turn(v, k, types[t], DIM, dv);
			if (memcmp(v, want, bytes) != 0)
				fail_msg("type %d: %d of %d dimensions", types[t], dv, DIM);
			free(k);
			free(want);
			free(v);
		}
}

static void test_rounding(void **state)
{
	static float x[BLOCKS * 32];
	static unsigned char q8_0[BLOCKS * 34], q4_0[BLOCKS * 18];
	FILE *f = fopen("tests/golden/kv/rounding.bin", "rb");

	(void)state;
	assert_non_null(f);
	assert_int_equal(fread(x, sizeof x, 1, f), 1);
	assert_int_equal(fread(q8_0, sizeof q8_0, 1, f), 1);
	assert_int_equal(fread(q4_0, sizeof q4_0, 1, f), 1);
	fclose(f);
	for (int is_k = 0; is_k < 2; is_k++) {
		rounded(x, q8_0, INFER_Q8_0, is_k);
		rounded(x, q4_0, INFER_Q4_0, is_k);
	}
}

/* numbers that have no place in a block: the whole block reads as NaN, or as 0 */
static void test_odd_numbers(void **state)
{
	static const struct {
		float x;
		int nan;
	} odd[] = { { INFINITY, 1 },  { -INFINITY, 1 },  { NAN, 1 },
		    { 0x1p-140f, 0 }, { -0x1p-127f, 0 }, { 0, 0 } };
	const struct kern ref = kern_select(0);
	unsigned char *page = block_new(kern_kv_bytes(INFER_Q8_0, 32));

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		for (int how = 0; how < 4; how++) {
			int type = how & 1 ? INFER_Q8_0 : INFER_Q4_0;
			float x[32] = { [3] = odd[i].nan ? 1 : 0, [7] = odd[i].x };
			(how & 2 ? kern_k_put : kern_v_put)(&ref, page, type, 5, x, 32);
			for (int e = 0; e < 32; e++) {
				float y = value(page, type, 5, e, 32, how >> 1);
				assert_true(odd[i].nan ? y != y : y == 0);
			}
		}
	free(page);
	assert_int_equal(kern_kv_bytes(INFER_Q8_0, 40), 0);
	assert_int_equal(kern_kv_bytes(INFER_Q5_0, 32), 0);
	assert_int_equal(kern_kv_bytes(INFER_Q4_0, 64), 32 * 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),        cmocka_unit_test(test_some),
		cmocka_unit_test(test_unseen),      cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_rounding),    cmocka_unit_test(test_turn),
		cmocka_unit_test(test_odd_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
