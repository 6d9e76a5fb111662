/* tests/kern/test_bf16.c - products with bf16 activations: every set gives the bits of ref, which
 * follows kern/tmpl/bf16.h, and those of tests/golden/bf16 (scripts/golden-bf16.py); subnormal numbers
 * count as zeros; and all are near the product in f64 of the rounded numbers. */
#define KERN_ISA ref
#include "mm_cases.h"

#include <math.h>
#include <stdio.h>
#include "kern/tmpl/bf16.h"

static const int types[] = { INFER_F16, INFER_BF16 };

static void set_same(const struct kern *kern, const struct kern *ref)
{
	struct kern k = *kern, r = *ref;

	kern_act_bf16(&k);
	kern_act_bf16(&r);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(k.mm[types[i]].form, KERN_FORM_BF16);
		shapes_of(&k, &r, types[i]);
	}
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (t != INFER_F16 && t != INFER_BF16)
			assert_memory_equal(&k.mm[t], &kern->mm[t], sizeof k.mm[t]);
}
static void test_same_bits(void **state)
{
	(void)state;
	assert_true(each_set(set_same) >= 0);
}

/* A number whose products and sums have magnitudes near 2^-126, where subnormal numbers begin. */
static float small(uint64_t u, int exponent)
{
	uint32_t e = (uint32_t)(127 + exponent + (int)(u >> 40 & 7));

	return num_float((uint32_t)(u >> 20 & 1) << 31 | e << 23 | (uint32_t)(u & 0x7f) << 16);
}
static void set_small(const struct kern *kern, const struct kern *ref)
{
	enum { M = 18, N = 40, K = 200 };
	static float x[M * K], want[M * N], y[M * N];
	static uint16_t w[N * K];
	struct kern k = *kern, r = *ref;
	const struct shape s = { INFER_BF16, M, N, K, KERN_DATA_PLAIN, 0 };
	uint64_t seed = 9, zeros = 0;
	void *mem, *mem_ref;

	kern_act_bf16(&k);
	kern_act_bf16(&r);
	for (int turn = 0; turn < 24; turn++) {
		for (int i = 0; i < M * K; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			x[i] = small(seed >> 13, turn % 3 == 2 ? -127 : -68);
		}
		for (int i = 0; i < N * K; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			w[i] = num_to_bf16(
				small(seed >> 13, turn % 3 == 1 ? -127 : -68 + turn / 4));
		}
		struct kern_act a = act_make(&k, s.type, x, M, K, &mem),
				b = act_make(&r, s.type, x, M, K, &mem_ref);
		r.mm[s.type].rows(want, N, w, K * 2, &b, 0, M, N, K);
		k.mm[s.type].rows(y, N, w, K * 2, &a, 0, M, N, K);
		same(y, want, M * N, &k, s, "rows of small numbers");
		by_tiles(&k, s, y, (const char *)w, &a);
		same(y, want, M * N, &k, s, "tiles of small numbers");
		for (int i = 0; i < M * N; i++)
			zeros += want[i] == 0;
		free(mem), free(mem_ref);
	}
	print_message("# %llu of %d are zeros\n", (unsigned long long)zeros, 24 * M * N);
	assert_true(zeros > 24 * M * N / 100 && zeros < 24 * M * N * 9 / 10);
}
static void test_small(void **state)
{
	(void)state;
	assert_true(each_set(set_small) >= 0);
}

/* a b + c about 2^-126: what counts is the sum in steps of 24 bits */
static void test_edge(void **state)
{
	const float least = 0x1p-126f;

	(void)state;
	assert_true(bf16_fma(-0x1p-76f, 0x1p-76f, least) == least); /* 2^-152 less: rounds up */
	assert_true(bf16_fma(-0x1p-76f, 0x1p-75f, least) == least); /* half a step: ties to even */
	assert_true(bf16_fma(-0x1.02p-76f, 0x1p-75f, least) == 0);
	assert_true(bf16_fma(0x1.02p-76f, 0x1p-75f, -least) == 0);
	assert_true(signbit(bf16_fma(0x1.02p-76f, 0x1p-75f, -least)));
	assert_true(bf16_fma(0x1p-63f, 0x1p-63f, 0) == least);
	assert_true(bf16_fma(0x1.fep-64f, 0x1p-63f, 0) == 0);
	assert_true(bf16_round(0x1p-127f) == 0 && bf16_round(-0x1.ffp-127f) == -least);
	assert_true(isnan(bf16_fma(NAN, 1, 1)) && isinf(bf16_fma(INFINITY, 1, 1)));
}

static void near_truth(int type, int k)
{
	struct kern ref = kern_select(0);
	enum { N = 7, M = 3 };
	size_t row = type_row_bytes(type, k);
	uint16_t *w = block_new(row * N);
	float *x = block_new((size_t)M * (size_t)k * 4), y[M * N];
	void *mem;

	kern_act_bf16(&ref);
	kern_data_weights(w, type, N, k, KERN_DATA_PLAIN, 77);
	kern_data_floats(x, (size_t)M * (size_t)k, KERN_DATA_PLAIN, 5);
	struct kern_act a = act_make(&ref, type, x, M, k, &mem);
	ref.mm[type].rows(y, N, w, row, &a, 0, M, N, k);
	for (int t = 0; t < M; t++)
		for (int r = 0; r < N; r++) {
			double sum = 0, size = 0;
			for (int i = 0; i < k; i++) {
				uint16_t h = w[r * k + i];
				float wf = type == INFER_F16 ? num_bf16(num_to_bf16(num_f16(h)))
				                             : num_bf16(h);
				double p = (double)wf * (double)num_bf16(num_to_bf16(x[t * k + i]));
				sum += p;
				size += fabs(p);
			}
			if (!(fabs((double)y[t * N + r] - sum) <= 0x1p-23 * (k / 32 + 18) * size))
				fail_msg("%s k %d: %.9g, not %.9g", infer_type_info(type)->name, k,
				         (double)y[t * N + r], sum);
			assert_true(size > 1);
		}
	free(w), free(x), free(mem);
}
static void test_truth(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		near_truth(types[i], 2048);
		near_truth(types[i], 75);
	}
}

enum { GOLDEN_MOST = 320 };

static void read_hex(FILE *f, char key, uint32_t *to, int n)
{
	char c;

	assert_true(n <= GOLDEN_MOST);
	assert_int_equal(fscanf(f, " %c", &c), 1);
	assert_int_equal(c, key);
	for (int i = 0; i < n; i++)
		assert_int_equal(fscanf(f, "%x", &to[i]), 1);
}
static void set_golden(const struct kern *kern, const struct kern *ref)
{
	static const char path[] = "tests/golden/bf16/products.txt";
	static uint32_t words[GOLDEN_MOST], xs[GOLDEN_MOST], ys[GOLDEN_MOST];
	static uint16_t w[GOLDEN_MOST];
	static float x[GOLDEN_MOST], want[GOLDEN_MOST], y[GOLDEN_MOST];
	struct kern k = *kern;
	struct shape s = { .fill = KERN_DATA_PLAIN };
	FILE *f = fopen(path, "r");
	char name[8];
	int cases = 0;

	(void)ref;
	kern_act_bf16(&k);
	if (!f)
		fail_msg("%s is missing: scripts/golden-bf16.py makes it", path);
	for (; fscanf(f, "%7s %d %d %d", name, &s.m, &s.n, &s.k) == 4; cases++) {
		void *mem;
		s.type = strcmp(name, "F16") ? INFER_BF16 : INFER_F16;
		assert_string_equal(name, infer_type_info(s.type)->name);
		read_hex(f, 'w', words, s.n * s.k);
		read_hex(f, 'x', xs, s.m * s.k);
		read_hex(f, 'y', ys, s.m * s.n);
		for (int i = 0; i < s.n * s.k; i++)
			w[i] = (uint16_t)words[i];
		for (int i = 0; i < s.m * s.k; i++)
			x[i] = num_float(xs[i]);
		for (int i = 0; i < s.m * s.n; i++)
			want[i] = num_float(ys[i]);
		struct kern_act a = act_make(&k, s.type, x, s.m, s.k, &mem);
		memset(y, 0xff, sizeof y);
		k.mm[s.type].rows(y, (size_t)s.n, w, (size_t)s.k * 2, &a, 0, s.m, s.n, s.k);
		same(y, want, (size_t)(s.m * s.n), &k, s, "golden rows");
		memset(y, 0xff, sizeof y);
		by_tiles(&k, s, y, (const char *)w, &a);
		same(y, want, (size_t)(s.m * s.n), &k, s, "golden tiles");
		free(mem);
	}
	assert_true(feof(f) && cases == 16);
	fclose(f);
}
static void test_golden(void **state)
{
	(void)state;
	assert_true(each_set(set_golden) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edge),      cmocka_unit_test(test_truth),
		cmocka_unit_test(test_golden),    cmocka_unit_test(test_small),
		cmocka_unit_test(test_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
