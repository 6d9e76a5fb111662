/* gpu_test.h - functions for tests of kernels.  A test is one .cpp that g++ compiles for the
 * emulation and nvcc (-x cu) for a GPU, so it accesses device memory only through the calls below:
 * a test must not dereference a pointer from take() or give().
 *
 *	static void test_add(void)
 *	{
 *		float *x = host<float>(n), *y = host<float>(n); // host memory, exactly as much
 *		fill_uniform(x, n, 1);
 *		float *d = give(x, n);       // device memory: a copy of x
 *		float *e = take<float>(n);   // device memory: NaN bytes
 *
 *		expect_run(gpu_add(e, d, n, stream())); // launches, waits; no error from either
 *		fetch(y, e, n);
 *		expect_close("add", y, truth, n, 1e-6); // times the root mean square of truth
 *		expect(y[0] > 0, "y[0] is %g", y[0]);
 *		report_bits("add 7x256", y, n, true); // compared between orders, with a GPU
 *	}
 *	int main(int argc, char **argv)
 *	{
 *		start_tests(argc, argv);
 *		RUN(test_add); // one TAP case; frees what the test took
 *		return end_tests();
 *	}
 *
 * Arguments select the cases whose names contain one of them.  GPU_TEST=small: small_test() is
 * true, and a test takes one small shape of each kernel: the thread sanitizer and
 * compute-sanitizer are slow. */
#ifndef TESTS_EMU_GPU_TEST_H
#define TESTS_EMU_GPU_TEST_H
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#define TEST_FN static inline __attribute__((unused))

enum { TEST_MOST_BUFFERS = 1 << 14, TEST_MOST_SAID = 1 << 12 };
struct test_buffer {
	void *at;
	bool device;
};
struct test_state {
	struct test_buffer buffers[TEST_MOST_BUFFERS];
	char said[TEST_MOST_SAID]; /* of the case that runs: printed after its line */
	size_t n_said;
	int n_buffers, cases, failed_cases, failures, n_only;
	char **only;
	uint64_t random;
	cudaStream_t stream;
};
static struct test_state test_now;

/* ---- verdicts ---- */

/* The first failures of a case are printed; all count. */
__attribute__((format(printf, 1, 2))) TEST_FN void fail(const char *format, ...)
{
	struct test_state *t = &test_now;
	size_t room = sizeof t->said - t->n_said;
	va_list ap;
	int n;

	t->failures++;
	if (room < 256)
		return;
	t->n_said += (size_t)snprintf(t->said + t->n_said, room, "# ");
	room = sizeof t->said - t->n_said;
	va_start(ap, format);
	n = vsnprintf(t->said + t->n_said, room - 1, format, ap);
	va_end(ap);
	t->n_said += n < 0 ? 0 : (size_t)n < room - 2 ? (size_t)n : room - 2;
	t->said[t->n_said++] = '\n';
	t->said[t->n_said] = 0;
}
#define expect(condition, ...) \
	do { \
		if (!(condition)) \
			fail(__VA_ARGS__); \
	} while (0)

TEST_FN bool small_test(void)
{
	const char *s = getenv("GPU_TEST");

	return s && !strcmp(s, "small");
}

/* ---- memory ---- */

TEST_FN void keep_buffer(void *at, bool device)
{
	struct test_state *t = &test_now;

	if (!at || t->n_buffers == TEST_MOST_BUFFERS) {
		printf("Bail out! no memory for a test\n");
		exit(1);
	}
	t->buffers[t->n_buffers].at = at;
	t->buffers[t->n_buffers++].device = device;
}
TEST_FN void stop_on(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	printf("Bail out! %s: %s\n", what, cudaGetErrorString(rc));
	exit(1);
}
/* Allocate host memory of exactly n elements, for the address sanitizer; bytes 0xff: NaN. */
template <class T> static T *host(size_t n)
{
	T *p = (T *)malloc(n * sizeof(T) + !n);

	keep_buffer(p, false);
	memset((void *)p, 0xff, n * sizeof(T));
	return p;
}
/* The same on the device. */
template <class T> static T *take(size_t n)
{
	void *p = NULL;

	stop_on(cudaMalloc(&p, n * sizeof(T) + !n), "cudaMalloc");
	keep_buffer(p, true);
	stop_on(cudaMemset(p, 0xff, n * sizeof(T)), "cudaMemset");
	stop_on(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return (T *)p;
}
/* Copies of n elements to and from the device; from a kernel's results after it has ended. */
template <class T> static void put(T *device, const T *from, size_t n)
{
	if (n)
		stop_on(cudaMemcpy((void *)device, (const void *)from, n * sizeof(T),
		                   cudaMemcpyHostToDevice),
		        "cudaMemcpy");
	stop_on(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
template <class T> static void fetch(T *to, const T *device, size_t n)
{
	stop_on(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	if (n)
		stop_on(cudaMemcpy((void *)to, (const void *)device, n * sizeof(T),
		                   cudaMemcpyDeviceToHost),
		        "cudaMemcpy");
}
template <class T> static T *give(const T *from, size_t n)
{
	T *p = take<T>(n);

	put(p, from, n);
	return p;
}
/* A copy in host memory of n elements of the device. */
template <class T> static T *look(const T *device, size_t n)
{
	T *p = host<T>(n);

	fetch(p, device, n);
	return p;
}
/* Free what was taken since n_buffers was n: for loops over many shapes inside one case. */
TEST_FN int mark_buffers(void) { return test_now.n_buffers; }
TEST_FN void free_buffers(int since)
{
	struct test_state *t = &test_now;

	while (t->n_buffers > since) {
		struct test_buffer *b = &t->buffers[--t->n_buffers];

		if (b->device)
			cudaFree(b->at);
		else
			free(b->at);
	}
}
/* The stream that tests launch on. */
TEST_FN cudaStream_t stream(void)
{
	if (!test_now.stream)
		stop_on(cudaStreamCreateWithFlags(&test_now.stream, cudaStreamNonBlocking),
		        "cudaStreamCreate");
	return test_now.stream;
}
/* rc of a launch; waits until it has ended. */
TEST_FN void expect_run_at(int rc, const char *what, int line)
{
	if (rc)
		fail("line %d: %s: %s", line, what, cudaGetErrorString((cudaError_t)rc));
	rc = (int)cudaDeviceSynchronize();
	if (rc) {
		printf("Bail out! line %d: %s: %s\n", line, what,
		       cudaGetErrorString((cudaError_t)rc));
		exit(1);
	}
}
#define expect_run(call) expect_run_at((int)(call), #call, __LINE__)

/* ---- random numbers: the same on every machine ---- */

TEST_FN uint32_t random_bits(void)
{
	return (uint32_t)((test_now.random =
	                           test_now.random * 6364136223846793005u + 1442695040888963407u) >>
	                  32);
}
TEST_FN int random_below(int n) { return (int)((uint64_t)random_bits() * (uint32_t)n >> 32); }
TEST_FN float uniform(void) { return (float)(random_bits() >> 8) * 0x1p-23f - 1; } /* -1 ... 1 */
TEST_FN void fill_uniform(float *x, size_t n, float scale)
{
	for (size_t i = 0; i < n; i++)
		x[i] = uniform() * scale;
}
TEST_FN void fill_bytes(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)to)[i] = (unsigned char)(random_bits() >> 24);
}

/* ---- half precision on the host, by its definition ---- */

TEST_FN float from_half(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

	return (float)(h >> 15 ? -v : v);
}
TEST_FN uint16_t to_half(float f) /* to the nearest, ties to even */
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	double a = fabs((double)f), q;
	int e;

	if (isnan(f))
		return sign | 0x7e00;
	if (a >= 65520)
		return sign | 0x7c00;
	e = a < 0x1p-14 ? -14 : ilogb(a);
	q = rint(ldexp(a, 10 - e)); /* the default rounding: ties to even */
	return (uint16_t)(sign | (a < 0x1p-14 ? (int)q : ((e + 14) << 10) + (int)q));
}
TEST_FN float from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}
TEST_FN uint16_t to_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	if (isnan(f))
		return (uint16_t)(u >> 16 | 64);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* ---- comparisons ---- */

/* The largest error over the root mean square of the truth, and where it is; infinite where y is
 * not a number. */
template <class T> static double error_of(const T *y, const double *truth, size_t n, size_t *where)
{
	double worst = 0, size = 0;

	*where = 0;
	for (size_t i = 0; i < n; i++) {
		double e = fabs((double)y[i] - truth[i]);

		if (!(e <= worst)) {
			worst = e == e ? e : INFINITY;
			*where = i;
		}
		size += truth[i] * truth[i];
	}
	return worst > 0 ? worst / sqrt(size / (double)n) : 0;
}
template <class T>
static void expect_close(const char *name, const T *y, const double *truth, size_t n, double within)
{
	size_t i;
	double e = error_of(y, truth, n, &i);

	if (!(e <= within))
		fail("%s: error %.3g, bound %.3g; [%zu] of %zu is %.9g, should be %.9g", name, e,
		     within, i, n, (double)y[i], truth[i]);
}
/* Equal to the last bit. */
template <class T> static void expect_same(const char *name, const T *a, const T *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp((const void *)&a[i], (const void *)&b[i], sizeof(T))) {
			fail("%s: [%zu] of %zu differs: %.9g and %.9g", name, i, n, (double)a[i],
			     (double)b[i]);
			return;
		}
}
/* A digest of results, compared between thread orders and builds; exact: a GPU has the same bits
 * (false for mma of f16 and bf16, whose inner order is the chip's own). */
template <class T> static void report_bits(const char *name, const T *p, size_t n, bool exact)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < n * sizeof(T); i++)
		hash = (hash ^ ((const unsigned char *)p)[i]) * 1099511628211u;
	printf("# %s %s %016llx\n", exact ? "bits" : "chip-bits", name, (unsigned long long)hash);
}

/* ---- running ---- */

TEST_FN void start_tests(int argc, char **argv)
{
	test_now.only = argv + 1;
	test_now.n_only = argc - 1;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}
TEST_FN bool wanted_test(const char *name)
{
	for (int i = 0; i < test_now.n_only; i++)
		if (strstr(name, test_now.only[i]))
			return true;
	return !test_now.n_only;
}
TEST_FN void run_test(const char *name, void (*test)(void))
{
	struct test_state *t = &test_now;

	if (!wanted_test(name))
		return;
	t->failures = 0;
	t->n_said = 0;
	t->random = 1;
	test();
	free_buffers(0);
	t->cases++;
	t->failed_cases += t->failures != 0;
	printf("%s %d - %s\n", t->failures ? "not ok" : "ok", t->cases, name);
	fwrite(t->said, 1, t->n_said, stdout);
	if (t->failures)
		printf("# %d failures\n", t->failures);
}
#define RUN(test) run_test(#test, test)
TEST_FN int end_tests(void)
{
	if (test_now.stream)
		cudaStreamDestroy(test_now.stream);
	printf("1..%d\n", test_now.cases);
	return test_now.failed_cases != 0;
}
#endif
