/* tests/kern/test_mm.c - products: every set gives the bits of ref; rows and tile agree for every
 * m; and all are near the product in f64 of the same weights and the same rounded activations. */
#include "kern_test.h"

#include <math.h>
#include "base/num.h"
#include "kern/act.h"
#include "type/type.h"

struct shape {
	int type, m, n, k;
	enum probe_fill fill;
};

static struct kern_act act_make(const struct kern *kern, int type, const float *x, int m, int k,
                                void **mem)
{
	const struct kern_mm *mm = &kern->mm[type];
	struct kern_act a;
	size_t bytes = kern_act_bytes(mm->form, m, k);

	*mem = block_new(bytes);
	memset(*mem, 0xa5, bytes);
	kern_act_init(&a, mm->form, *mem, m, k);
	assert_true((size_t)m * a.q_row <= bytes);
	for (int t = 0; t < m; t++)
		mm->quant(&a, t, x + (size_t)t * (size_t)k, k);
	return a;
}

static void same(const float *got, const float *want, size_t n, const struct kern *k,
                 struct shape s, const char *what)
{
	int64_t i = probe_differ(got, want, n);

	if (i >= 0)
		fail_msg("%s %s %s m %d n %d k %d fill %d: at %lld %a, not %a", k->name,
		         infer_type_info(s.type)->name, what, s.m, s.n, s.k, s.fill, (long long)i,
		         (double)got[i], (double)want[i]);
}

/* the tile over panels, as a backend runs it */
static void by_tiles(const struct kern *kern, struct shape s, float *y, const char *w,
                     const struct kern_act *a)
{
	const struct kern_mm *mm = &kern->mm[s.type];
	size_t row = type_row_bytes(s.type, s.k), bytes = mm->pack_bytes(s.k);
	char *panel = block_new(bytes);

	memset(panel, 0xa5, bytes);
	for (int r = 0; r < s.n; r += mm->nr) {
		int n = s.n - r < mm->nr ? s.n - r : mm->nr;
		mm->pack(panel, w + (size_t)r * row, row, n, s.k);
		mm->tile(y + r, (size_t)s.n, panel, a, 0, s.m, n, s.k);
	}
	free(panel);
}

static void act_same(const struct kern_act *a, const struct kern_act *b, struct shape s,
                     const struct kern *k)
{
	size_t bytes = a->form == KERN_FORM_F32  ? (size_t)s.k * 4
	               : a->form == KERN_FORM_Q8 ? (size_t)s.k / 32 * sizeof(struct kern_q8)
	                                         : (size_t)s.k / 256 * sizeof(struct kern_q8k);

	assert_int_equal(a->form, b->form);
	for (int t = 0; t < s.m; t++)
		if (memcmp(act_row(a, t), act_row(b, t), bytes))
			fail_msg("%s %s k %d: activations differ", k->name,
			         infer_type_info(s.type)->name, s.k);
}

/* all of one shape: quant, rows, tile, against ref's rows */
static void one(const struct kern *kern, const struct kern *ref, struct shape s)
{
	size_t row = type_row_bytes(s.type, s.k), ny = (size_t)s.m * (size_t)s.n;
	struct fence f = fence_new(row * (size_t)s.n);
	float *x = block_new((size_t)s.m * (size_t)s.k * 4), *want = block_new(ny * 4),
	      *y = block_new(ny * 4);
	void *mem, *mem_ref;

	probe_weights(f.at, s.type, (size_t)s.n, s.k, s.fill,
	              (uint64_t)(s.type * 131 + s.n * 7 + s.k));
	probe_floats(x, (size_t)s.m * (size_t)s.k, s.fill, (uint64_t)(s.m * 31 + s.k));
	struct kern_act a = act_make(kern, s.type, x, s.m, s.k, &mem),
	                b = act_make(ref, s.type, x, s.m, s.k, &mem_ref);
	act_same(&a, &b, s, kern);
	ref->mm[s.type].rows(want, (size_t)s.n, f.at, row, &b, 0, s.m, s.n, s.k);
	memset(y, 0xff, ny * 4);
	kern->mm[s.type].rows(y, (size_t)s.n, f.at, row, &a, 0, s.m, s.n, s.k);
	same(y, want, ny, kern, s, "rows");
	memset(y, 0xff, ny * 4);
	by_tiles(kern, s, y, f.at, &a);
	same(y, want, ny, kern, s, "tile");
	if (s.m > 1) { /* the last row alone, written where nothing beside it may change */
		memset(y, 0xff, ny * 4);
		kern->mm[s.type].rows(y, (size_t)s.n, f.at, row, &a, s.m - 1, 1, s.n, s.k);
		same(y, want + (size_t)(s.m - 1) * (size_t)s.n, (size_t)s.n, kern, s, "one row");
		for (size_t i = (size_t)s.n; i < ny; i++)
			assert_int_equal(num_bits(y[i]), 0xffffffff);
	}
	fence_free(&f);
	free(x), free(want), free(y), free(mem), free(mem_ref);
}

static void shapes_of(const struct kern *kern, const struct kern *ref, int type)
{
	static const int floats[] = {1, 15, 16, 17, 100, 512, 513, 1040},
	                 ns[] = {1, 2, 3, 5, 8, 11, 16, 17, 35};
	int block = infer_type_info(type)->block;

	for (int i = 0; i < 8; i++) {
		int k = block == 1 ? floats[i] : block * (block == 32 ? 1 + 3 * i : 1 + i / 2);
		for (int j = 0; j < 9; j++)
			one(kern, ref,
			    (struct shape){type, 1 + (i + 2 * j) % 9, ns[j], k,
			                   (i + j) % 3 ? PROBE_PLAIN : PROBE_ODD});
	}
	for (int m = 1; m <= 64; m++)
		one(kern, ref,
		    (struct shape){type, m, 19, block == 1 ? 75 : block * 2,
		                   m % 4 ? PROBE_PLAIN : PROBE_ODD});
}

static int sets, types;

static void set_same(const struct kern *kern, const struct kern *ref)
{
	sets++;
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		if (!kern->mm[t].rows)
			continue;
		shapes_of(kern, ref, t);
		types++;
	}
}

static void test_same_bits(void **state)
{
	(void)state;
	each_set(set_same);
	printf("# %d sets, %d products\n", sets, types);
	assert_true(sets >= 1 && types >= 16 * sets);
}

/* |y - truth| <= 2^-23 (rounds + 2) sum |w x|: as many roundings as the chain has links */
static void near_truth(int type, int k)
{
	const struct kern ref = kern_select(0);
	const struct kern_mm *mm = &ref.mm[type];
	enum { N = 7, M = 3 };
	int block = infer_type_info(type)->block, rounds = block == 1 ? k / 16 + 6 : k / block + 3;
	size_t row = type_row_bytes(type, k);
	char *w = block_new(row * N);
	float *x = block_new((size_t)M * (size_t)k * 4), *wf = block_new((size_t)k * 4), y[M * N];
	double *xd = block_new((size_t)k * 8);
	void *mem;

	probe_weights(w, type, N, k, PROBE_PLAIN, 77);
	probe_floats(x, (size_t)M * (size_t)k, PROBE_PLAIN, 5);
	struct kern_act a = act_make(&ref, type, x, M, k, &mem);
	mm->rows(y, N, w, row, &a, 0, M, N, k);
	for (int t = 0; t < M; t++) {
		probe_act(xd, &a, t, k);
		for (int r = 0; r < N; r++) {
			double sum = 0, size = 0;
			assert_int_equal(
			    infer_type_decode(type, wf, w + (size_t)r * row, (size_t)k, NULL),
			    INFER_OK);
			for (int i = 0; i < k; i++) {
				sum += (double)wf[i] * xd[i];
				size += fabs((double)wf[i] * xd[i]);
			}
			/* with minima both chains are as large as what they subtract */
			double most = 0x1p-23 * rounds * size * 4 + 1e-30;
			if (!(fabs((double)y[t * N + r] - sum) <= most))
				fail_msg("%s k %d: %.9g, not %.9g within %.3g",
				         infer_type_info(type)->name, k, (double)y[t * N + r], sum,
				         most);
			if (size < 1e-3)
				fail_msg("%s: weights of nothing", infer_type_info(type)->name);
		}
	}
	free(w), free(x), free(wf), free(xd), free(mem);
}

static void test_truth(void **state)
{
	const struct kern ref = kern_select(0);
	int n = 0;

	(void)state;
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (ref.mm[t].rows) {
			near_truth(t, 2048);
			near_truth(t, 256);
			n++;
		}
	assert_int_equal(n, 25);
}

/* the rounding rule of kern.h, and what it does to numbers that are not finite */
static void test_rounding(void **state)
{
	const struct kern ref = kern_select(0);
	float x[512];
	void *mem, *mem_k;

	(void)state;
	probe_floats(x, 512, PROBE_PLAIN, 3);
	for (int i = 0; i < 32; i++)
		x[32 + i] = 0, x[64 + i] = num_float(3);
	x[97] = NAN;
	x[128] = INFINITY;
	struct kern_act a = act_make(&ref, INFER_Q8_0, x, 1, 512, &mem),
	                k = act_make(&ref, INFER_Q4_K, x + 256, 1, 256, &mem_k);
	for (int b = 0; b < 16; b++) {
		const struct kern_q8 *q = act_q8(&a, 0) + b;
		float d = q->d, most = 0;
		int sum = 0;
		for (int i = 32 * b; i < 32 * b + 32; i++) {
			most = fmaxf(most, fabsf(x[i]));
			sum += q->q[i % 32];
			if (b < 1 || b > 4)
				assert_int_equal(q->q[i % 32], (int)nearbyintf(x[i] * (1.0f / d)));
			else
				assert_int_equal(q->q[i % 32], 0);
		}
		assert_int_equal(q->minus, -sum);
		if (b < 1 || b > 4)
			assert_true(d == most / 127.0f);
	}
	const struct kern_q8 *q = act_q8(&a, 0);
	assert_true(q[1].d == 0 && q[2].d == 0 && q[3].d != q[3].d && q[4].d == INFINITY);
	const struct kern_q8k *s = act_q8k(&k, 0);
	int all = 0;
	for (int i = 0; i < 256; i++)
		all += s->q[i];
	assert_int_equal(all, s->s256);
	for (int i = 0; i < 16; i++)
		all -= s->s16[i];
	assert_int_equal(all, 0);
	free(mem), free(mem_k);
}

/* a number that is not finite is seen in the products of its row, and in no other row */
static void set_nan(const struct kern *kern, const struct kern *ref)
{
	(void)ref;
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		enum { M = 3, N = 5, K = 512 };
		if (!kern->mm[t].rows)
			continue;
		size_t row = type_row_bytes(t, K);
		char *w = block_new(row * N);
		float x[M * K], y[M * N];
		void *mem;
		probe_weights(w, t, N, K, PROBE_PLAIN, 9);
		probe_floats(x, M * K, PROBE_PLAIN, 9);
		x[K + 300] = NAN;
		struct kern_act a = act_make(kern, t, x, M, K, &mem);
		kern->mm[t].rows(y, N, w, row, &a, 0, M, N, K);
		for (int i = 0; i < M * N; i++)
			assert_int_equal(y[i] != y[i], i / N == 1);
		free(w), free(mem);
	}
}

static void test_not_finite(void **state)
{
	(void)state;
	each_set(set_nan);
}

static void test_select(void **state)
{
	struct kern ref = kern_select(0), all = kern_select(cpu_features());
	uint64_t have = cpu_features(), none = 0;
	infer_error err;

	(void)state;
	assert_string_equal(ref.name, "ref");
	assert_true(ref.used == 1 && all.used & 1);
	assert_string_equal(kern_name(0), "ref");
	assert_int_equal(kern_limit(&have, "ref", NULL), INFER_OK);
	assert_true(have == 0);
	assert_int_equal(kern_limit(&have, "abacus", &err), INFER_EUNSUP);
	assert_true(strstr(err.message, "abacus"));
	for (unsigned i = 1; kern_name(i); i++) {
		assert_true(kern_needs(i) != 0);
		assert_int_equal(kern_limit(&none, kern_name(i), NULL), INFER_EUNSUP);
		have = cpu_features();
		if (kern_needs(i) & ~have)
			continue;
		assert_int_equal(kern_limit(&have, kern_name(i), NULL), INFER_OK);
		assert_string_equal(kern_select(have).name, kern_name(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_select),     cmocka_unit_test(test_rounding),
	    cmocka_unit_test(test_truth),      cmocka_unit_test(test_same_bits),
	    cmocka_unit_test(test_not_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
