/* test_top.cpp - the largest logits of each row against a sort, ln sum exp against float64
 * (top.cu); a row has the same bits alone and with others. */
#include "backend/cuda/launch.h"
#include "gpu_test.h"

struct entry {
	float value;
	int id;
};
/* Descending; NaN last; ties by id */
static int compare(const void *a, const void *b)
{
	const struct entry *x = (const struct entry *)a, *y = (const struct entry *)b;
	bool nx = isnan(x->value), ny = isnan(y->value);

	if (nx != ny)
		return nx ? 1 : -1;
	if (!nx && x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}
static double lse_truth(const float *x, int n)
{
	double most = -INFINITY, sum = 0;

	for (int i = 0; i < n; i++) {
		if (isnan(x[i]))
			return NAN;
		most = x[i] > most ? x[i] : most;
	}
	for (int i = 0; i < n && isfinite(most); i++)
		sum += exp(x[i] - most);
	return isfinite(most) ? most + log(sum) : most;
}

struct top_test {
	struct gpu_top t;
	int rows;
	float *x; /* host */
};
static struct top_test make_test(const float *x, int rows, int n, int k)
{
	struct top_test t;
	int32_t now = rows;

	memset(&t, 0, sizeof t);
	t.rows = rows, t.x = host<float>((size_t)(rows * n));
	memcpy(t.x, x, (size_t)(rows * n) * sizeof *x);
	t.t.logits = give(x, (size_t)(rows * n)), t.t.rows = give(&now, 1);
	t.t.n = n, t.t.k = k, t.t.max_rows = rows + 1;
	t.t.ids = take<int32_t>((size_t)(rows * k)), t.t.values = take<float>((size_t)(rows * k)),
	t.t.lse = take<float>((size_t)rows);
	t.t.part_bytes = gpu_top_bytes(n, k, rows + 1);
	t.t.part = (float *)(void *)take<unsigned char>(t.t.part_bytes);
	return t;
}
static void check_row(const char *name, const float *x, int n, int k, const int32_t *ids,
                      const float *values, float lse)
{
	struct entry *e = (struct entry *)malloc((size_t)n * sizeof *e);
	double want = lse_truth(x, n);

	for (int i = 0; i < n; i++)
		e[i].value = x[i], e[i].id = i;
	qsort(e, (size_t)n, sizeof *e, compare);
	for (int i = 0; i < k; i++) {
		int id = i < n ? e[i].id : -1;
		float v = i < n ? e[i].value : -INFINITY;

		expect(ids[i] == id, "%s: ids[%d] is %d, should be %d", name, i, ids[i], id);
		expect(values[i] == v || (isnan(v) && isnan(values[i])),
		       "%s: values[%d] is %g, should be %g", name, i, (double)values[i], (double)v);
	}
	expect(isfinite(want) ? fabs(lse - want) <= 1e-6 * (1 + fabs(want))
	       : isnan(want)  ? isnan(lse)
	                      : (double)lse == want,
	       "%s: lse is %.9g, should be %.9g", name, (double)lse, want);
	free(e);
}
static void check_top(const char *what, const float *x, int rows, int n, int k)
{
	struct top_test t = make_test(x, rows, n, k);
	int32_t one = 1;
	char name[96];

	snprintf(name, sizeof name, "%s %dx%d best %d", what, rows, n, k);
	expect_run(gpu_top(&t.t, stream()));
	int32_t *ids = look(t.t.ids, (size_t)(rows * k));
	float *values = look(t.t.values, (size_t)(rows * k)), *lse = look(t.t.lse, (size_t)rows);
	for (int r = 0; r < rows; r++)
		check_row(name, x + r * n, n, k, ids + r * k, values + r * k, lse[r]);
	report_bits(name, ids, (size_t)(rows * k), true);
	report_bits(name, lse, (size_t)rows, true);
	t.t.rows = give(&one, 1), t.t.max_rows = 1;
	t.t.logits += (rows - 1) * n;
	expect_run(gpu_top(&t.t, stream()));
	expect_same(name, look(t.t.lse, 1), lse + rows - 1, 1);
	expect_same(name, look(t.t.ids, (size_t)k), ids + (rows - 1) * k, (size_t)k);
}
static void test_top(void)
{
	static const int sizes[] = { 257, 1, 20, 255, 4096, 4097, 9000, 151936 },
			 best[] = { 1, 5, 64 };

	for (int i = 0; i < (small_test() ? 1 : 8); i++)
		for (int j = 0; j < (small_test() ? 2 : 3); j++) {
			int mark = mark_buffers(), n = sizes[i],
			    rows = n > 10000 || small_test() ? 1
			           : n % 2                   ? 3
			                                     : 9;
			float *x = host<float>((size_t)(rows * n));

			fill_uniform(x, (size_t)(rows * n), 12);
			check_top("top", x, rows, n, best[j]);
			free_buffers(mark);
		}
}
static void test_top_ties(void)
{
	int n = 9000;
	float *x = host<float>((size_t)n);

	for (int i = 0; i < n; i++)
		x[i] = 1;
	check_top("equal", x, 1, n, 64);
	for (int i = 0; i < n; i++)
		x[i] = (float)(random_bits() % 7);
	check_top("few values", x, 1, n, 64);
	for (int i = 0; i < n; i++)
		x[i] = i % 3 ? 0.0f : -0.0f;
	check_top("zeros", x, 1, n, 10);
}
static void test_top_odd(void)
{
	int n = 5000;
	float *x = host<float>((size_t)n);

	for (int i = 0; i < n; i++)
		x[i] = -INFINITY;
	check_top("all -inf", x, 1, n, 3);
	x[4500] = 2;
	check_top("one number", x, 1, n, 3);
	x[17] = NAN;
	check_top("a NaN", x, 1, n, 3);
	for (int i = 0; i < n; i++)
		x[i] = i < 4096 ? NAN : -INFINITY;
	check_top("a piece of NaN", x, 1, n, 3);
	for (int i = 0; i < n; i++)
		x[i] = NAN;
	check_top("all NaN", x, 1, n, 3);
	fill_uniform(x, (size_t)n, 1e30f);
	check_top("large", x, 1, n, 3);
	fill_uniform(x, (size_t)n, 100);
	x[3] = -INFINITY;
	check_top("a -inf", x, 1, n, 3);
}
static void test_limits(void)
{
	float x[8] = { 0 };
	struct top_test t = make_test(x, 1, 8, 1);

	t.t.part_bytes--;
	expect(gpu_top(&t.t, stream()) != cudaSuccess, "too little memory is taken");
	t.t.part_bytes = SIZE_MAX, t.t.k = GPU_TOP + 1;
	expect(gpu_top(&t.t, stream()) != cudaSuccess, "too large a k is taken");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_top);
	RUN(test_top_ties);
	RUN(test_top_odd);
	RUN(test_limits);
	return end_tests();
}
