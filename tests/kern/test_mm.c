/* tests/kern/test_mm.c - products: every set gives the bits of ref; rows and tile agree for
 * every m; and all are close to the f64 product of the same weights and the same rounded
 * activations. */
#include "mm_cases.h"

#include <math.h>
#include "base/num.h"
#include "kern/dispatch.h"

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
	printf("# %d sets, %d products, %d past transposed rows\n", sets, types,
	       skinny_cases + transposed_cases);
	assert_true(sets >= 1 && types >= 16 * sets);
}

/* A set says of every type which loop is quickest for how many rows of x, and has that loop. */
static void ways(const struct kern *kern, const struct kern *ref)
{
	(void)ref;
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct kern_mm *mm = &kern->mm[t];
		const char *type = infer_type_info(t)->name;
		if (!mm->rows)
			continue;
		if (!mm->rows_max)
			fail_msg("%s %s: its table has no KERN_MM_DISPATCH", kern->name, type);
		for (int m = 0; m <= mm->rows_max && m <= KERN_SKINNY_MAX; m++)
			if (mm->skinny_mask >> m & 1)
				fail_msg("%s %s: skinny for m %d, where rows is", kern->name, type,
				         m);
		for (int m = 1; m <= 70; m++) {
			enum kern_loop loop = kern_loop(mm, m);
			if (m == 1 && loop != KERN_IN_PLACE)
				fail_msg("%s %s: m 1 is not in place", kern->name, type);
			if (loop == KERN_SKINNY &&
			    !(mm->skinny && mm->skinny_band && mm->transpose))
				fail_msg("%s %s: skinny for m %d without KERN_MM_SKINNY",
				         kern->name, type, m);
			if (loop == KERN_TILE && !(mm->tile && mm->pack && mm->mr && mm->nr))
				fail_msg("%s %s: tile for m %d without KERN_MM_TILE", kern->name,
				         type, m);
			if (kern_loop_transposed(mm, m))
				assert_true(mm->transpose && m <= kern_transposed_max(mm, 70));
		}
	}
}

static void test_dispatch(void **state)
{
	(void)state;
	assert_true(each_set(ways) >= 0);
}

/* Types that no kernel multiplies: values that no matrix of weights has, and weights that are decoded
 * to floats first, which is several times slower.  A type must be here or have loops. */
static const enum infer_type without_loops[] = {
	INFER_F64,  INFER_I8,   INFER_I16,   INFER_I32,  INFER_I64,
	INFER_Q8_1, INFER_Q8_K, INFER_NVFP4, INFER_Q1_0, INFER_Q2_0,
};

static void test_types(void **state)
{
	const struct kern ref = kern_select(0);

	(void)state;
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		int listed = 0;
		for (size_t i = 0; i < sizeof without_loops / sizeof *without_loops; i++)
			listed |= without_loops[i] == (enum infer_type)t;
		if (!ref.mm[t].rows && !listed)
			fail_msg("%s: the set ref has no loops for it, and without_loops lacks it",
			         infer_type_info(t)->name);
		if (ref.mm[t].rows && listed)
			fail_msg("%s: without_loops has it, and so has the set ref",
			         infer_type_info(t)->name);
	}
}

/* |y - truth| <= 2^-23 (rounds + 2) sum |w x|: as many roundings as the chain has links */
static void near_truth(int type, int k)
{
	const struct kern ref = kern_select(0);
	const struct kern_mm *mm = &ref.mm[type];
	enum { N = 7, M = 3 };
	int block = infer_type_info(type)->block,
	    rounds = mm->form == KERN_FORM_F32 ? k / 16 + 6 : k / block + 3;
	size_t row = type_row_bytes(type, k);
	char *w = block_new(row * N);
	float *x = block_new((size_t)M * (size_t)k * 4), *wf = block_new((size_t)k * 4), y[M * N];
	double *xd = block_new((size_t)k * 8);
	void *mem;

	kern_data_weights(w, type, N, k, KERN_DATA_PLAIN, 77);
	kern_data_floats(x, (size_t)M * (size_t)k, KERN_DATA_PLAIN, 5);
	struct kern_act a = act_make(&ref, type, x, M, k, &mem);
	mm->rows(y, N, w, row, &a, 0, M, N, k);
	for (int t = 0; t < M; t++) {
		kern_data_act(xd, &a, t, k);
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
	assert_int_equal(n, 30);
}

/* Codes of floats are multiplied as the floats that they decode to: the same bits. */
static void set_decoded(const struct kern *kern, const struct kern *ref)
{
	static const int coded[] = { INFER_F8_E4M3, INFER_NF4 };
	enum { M = 5, N = 19, K = 576 };
	static float x[M * K], w[N * K], want[M * N], y[M * N];

	(void)ref;
	for (size_t i = 0; i < sizeof coded / sizeof *coded; i++) {
		size_t row = type_row_bytes(coded[i], K);
		char *codes = block_new(row * N);
		void *mem;
		const struct shape s = { coded[i], M, N, K, KERN_DATA_ODD, 0 };
		kern_data_weights(codes, coded[i], N, K, KERN_DATA_ODD, 21);
		kern_data_floats(x, M * K, KERN_DATA_PLAIN, 4);
		assert_int_equal(infer_type_decode(coded[i], w, codes, N * K, NULL), INFER_OK);
		struct kern_act a = act_make(kern, coded[i], x, M, K, &mem);
		assert_int_equal(a.form, KERN_FORM_F32);
		kern->mm[INFER_F32].rows(want, N, w, K * 4, &a, 0, M, N, K);
		kern->mm[coded[i]].rows(y, N, codes, row, &a, 0, M, N, K);
		same(y, want, M * N, kern, s, "rows of decoded weights");
		by_tiles(kern, s, y, codes, &a);
		same(y, want, M * N, kern, s, "tiles of decoded weights");
		free(codes), free(mem);
	}
}

static void test_decoded(void **state)
{
	(void)state;
	assert_true(each_set(set_decoded) >= 0);
}

/* the rounding rule of kern.h, and what it does to numbers that are not finite */
static void test_rounding(void **state)
{
	const struct kern ref = kern_select(0);
	float x[512];
	void *mem, *mem_k;

	(void)state;
	kern_data_floats(x, 512, KERN_DATA_PLAIN, 3);
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
		assert_int_equal(q->neg_sum, -sum);
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
		kern_data_weights(w, t, N, K, KERN_DATA_PLAIN, 9);
		kern_data_floats(x, M * K, KERN_DATA_PLAIN, 9);
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
	struct kern ref = kern_select(0), all = kern_select(cpu_permit(cpu_features()));
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
		if (strcmp(kern_select(have).name, kern_name(i)) != 0)
			fail_msg("--isa %s gives %s: .needs of the later of the two has no bit "
			         "that the "
			         "sets before it lack",
			         kern_name(i), kern_select(have).name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_select),     cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_types),      cmocka_unit_test(test_dispatch),
		cmocka_unit_test(test_truth),      cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_not_finite), cmocka_unit_test(test_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
