/* test_emu_rt.cpp - the emulated runtime: memory, streams, capture and replay, and that each call
 * can fail. */
#include "backend/cuda/gpu.h"
#include "gpu_test.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define expect_rc(call, want) expect_rc_at((int)(call), (int)(want), #call, __LINE__)
static void expect_rc_at(int rc, int want, const char *what, int line)
{
	if (rc != want)
		fail("line %d: %s: %s (%d), should be %s", line, what,
		     cudaGetErrorName((cudaError_t)rc), rc, cudaGetErrorName((cudaError_t)want));
}
static cudaStream_t new_stream(void)
{
	cudaStream_t s = NULL;

	expect_rc(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
	return s;
}
static cudaEvent_t new_event(void)
{
	cudaEvent_t e = NULL;

	expect_rc(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
	return e;
}
struct large { /* an argument by value: what it is at the launch counts */
	int add, pad[700];
};
__global__ void add_to(int *y, struct large a)
{
	gpu_wait();
	y[threadIdx.x] += a.add;
}
static cudaError_t launch_add(int *y, int add, cudaStream_t s)
{
	struct large a = { add, { 0 } };

	return LAUNCH(add_to, 1, 4, 0, s, y, a);
}
/* A number on the device. */
static int *give_zero(void)
{
	int zero[4] = { 0 };

	return give(zero, 4);
}
static int fetch_first(const int *y)
{
	int v[4];

	fetch(v, y, 4);
	return v[0];
}

/* ---- memory ---- */

/* The runtime prints the mistake of a copy: hide it. */
static void expect_bad_copies(unsigned char *p, unsigned char *pinned, unsigned char *x)
{
	int err = dup(2), null = open("/dev/null", O_WRONLY);

	dup2(null, 2);
	expect_rc(cudaMemcpy(p, x, 65, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	expect_rc(cudaMemcpy(p, x, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	expect_rc(cudaMemcpy(pinned, x, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	expect_rc(cudaMemset(p + 60, 0, 5), cudaErrorInvalidValue);
	dup2(err, 2);
	close(err);
	close(null);
}
static void test_memory(void)
{
	size_t before = emu_live_bytes(), left, total, left2;
	unsigned char *p = NULL, *h = NULL, x[64];
	void *big = NULL;

	expect_rc(cudaMemGetInfo(&left, &total), cudaSuccess);
	expect_rc(cudaMalloc((void **)&p, 64), cudaSuccess);
	expect_rc(cudaMallocHost((void **)&h, 100), cudaSuccess);
	expect_rc(cudaMemGetInfo(&left2, &total), cudaSuccess);
	expect(emu_live_bytes() == before + 164 && left2 == left - 64, "%zu bytes",
	       emu_live_bytes());
	expect((uintptr_t)p % 256 == 0, "memory of a device is aligned");
	expect_rc(cudaMemcpy(x, p, 64, cudaMemcpyDeviceToHost), cudaSuccess);
	for (int i = 0; i < 64; i++)
		expect(x[i] == 0xff, "fresh memory is not NaN");
	expect_rc(cudaMemset(p + 3, 5, 4), cudaSuccess);
	expect_rc(cudaMemcpy(x, p, 64, cudaMemcpyDefault), cudaSuccess);
	expect(x[2] == 0xff && x[3] == 5 && x[6] == 5 && x[7] == 0xff, "cudaMemset");
	expect_bad_copies(p, h, x);
	expect_rc(cudaMalloc(&big, total + 1), cudaErrorMemoryAllocation);
	expect_rc(cudaMalloc(&big, left2 + 1), cudaErrorMemoryAllocation);
	expect_rc(cudaGetLastError(), cudaErrorMemoryAllocation);
	expect_rc(cudaGetLastError(), cudaSuccess);
	expect_rc(cudaFreeHost(p), cudaErrorInvalidValue);
	expect_rc(cudaFree(p), cudaSuccess);
	expect_rc(cudaFree(p), cudaErrorInvalidValue);
	expect_rc(cudaMemset(p, 0, 4), cudaErrorInvalidValue);
	expect_rc(cudaFreeHost(h), cudaSuccess);
	expect_rc(cudaFree(NULL), cudaSuccess);
	expect(emu_live_bytes() == before, "%zu bytes are left", emu_live_bytes() - before);
	cudaGetLastError();
}
static void test_devices(void)
{
	int n = 7, major = 0;
	struct cudaDeviceProp p;
	cudaStream_t s;
	void *m = NULL;

	expect_rc(cudaGetDeviceCount(&n), cudaSuccess);
	expect(n == 1, "%d devices", n);
	expect_rc(cudaGetDeviceProperties(&p, 0), cudaSuccess);
	expect(p.major == 9 && !strcmp(p.name, "emulated GPU"), "%s", p.name);
	expect_rc(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
	          cudaSuccess);
	expect(major == 9, "%d", major);
	expect_rc(cudaSetDevice(1), cudaErrorInvalidDevice);
	emu_set_devices(2);
	expect_rc(cudaSetDevice(1), cudaSuccess);
	expect_rc(cudaGetDevice(&n), cudaSuccess);
	expect(n == 1, "device %d", n);
	expect_rc(cudaSetDevice(0), cudaSuccess);
	emu_set_devices(0);
	expect_rc(cudaGetDeviceCount(&n), cudaErrorNoDevice);
	expect(n == 0, "%d devices", n);
	expect_rc(cudaMalloc(&m, 4), cudaErrorNoDevice);
	emu_set_devices(-1);
	expect_rc(cudaStreamCreate(&s), cudaErrorInsufficientDriver);
	emu_set_devices(1);
	cudaGetLastError();
}
__global__ void do_nothing(int) { gpu_wait(); }
static void test_launch_limits(void)
{
	static const struct {
		dim3 grid, block;
		size_t bytes;
		int ok;
	} cases[] = {
		{ dim3(1), dim3(1), 0, 1 },         { dim3(1), dim3(1024), 0, 1 },
		{ dim3(1), dim3(1025), 0, 0 },      { dim3(1), dim3(32, 33), 0, 0 },
		{ dim3(1), dim3(1, 1, 64), 0, 1 },  { dim3(1), dim3(1, 1, 65), 0, 0 },
		{ dim3(0), dim3(1), 0, 0 },         { dim3(1), dim3(0), 0, 0 },
		{ dim3(1, 65536), dim3(1), 0, 0 },  { dim3(1, 1, 65536), dim3(1), 0, 0 },
		{ dim3(1), dim3(1), 227 << 10, 1 }, { dim3(1), dim3(1), (227 << 10) + 1, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cudaError_t rc = LAUNCH(do_nothing, cases[i].grid, cases[i].block, cases[i].bytes,
		                        stream(), 0);

		expect(rc == (cases[i].ok ? cudaSuccess : cudaErrorInvalidConfiguration),
		       "case %zu: %s", i, cudaGetErrorName(rc));
	}
	expect_rc(cudaDeviceSynchronize(), cudaSuccess);
	cudaGetLastError();
}

/* ---- streams: with EMU_LAZY, what nothing waits for has not happened ---- */

static void set_flag(void *user) { *(int *)user = 1; }
static void test_lazy_streams(void)
{
	cudaStream_t s = new_stream(), t = new_stream();
	cudaEvent_t e = new_event();
	int *pinned = NULL, back = -1, flag = 0, *y = give_zero();

	emu_set_lazy(1);
	expect_rc(cudaMallocHost((void **)&pinned, 16), cudaSuccess);
	pinned[0] = 10;
	expect_rc(cudaMemcpyAsync(y, pinned, 16, cudaMemcpyHostToDevice, s), cudaSuccess);
	pinned[0] = 20; /* too early: the copy has not been made */
	expect_rc(cudaEventRecord(e, s), cudaSuccess);
	expect_rc(launch_add(y, 1, t), cudaSuccess);
	expect_rc(cudaStreamSynchronize(t), cudaSuccess); /* without the wait: before the copy */
	expect_rc(cudaEventQuery(e), cudaErrorNotReady);
	expect_rc(cudaStreamSynchronize(s), cudaSuccess);
	expect(fetch_first(y) == 20, "%d: the missing wait was not seen", fetch_first(y));
	pinned[0] = 30;
	expect_rc(cudaMemcpyAsync(y, pinned, 16, cudaMemcpyHostToDevice, s), cudaSuccess);
	expect_rc(cudaEventRecord(e, s), cudaSuccess);
	expect_rc(cudaStreamWaitEvent(t, e, 0), cudaSuccess);
	expect_rc(launch_add(y, 1, t), cudaSuccess);
	expect_rc(cudaLaunchHostFunc(t, set_flag, &flag), cudaSuccess);
	expect_rc(cudaStreamQuery(t), cudaErrorNotReady);
	expect(!flag, "too early");
	expect_rc(cudaStreamSynchronize(t), cudaSuccess);
	expect(flag && fetch_first(y) == 31, "%d after the wait", fetch_first(y));
	expect_rc(cudaMemcpyAsync(&back, y, 4, cudaMemcpyDeviceToHost, s), cudaSuccess);
	expect(back == 31, "a copy to pageable memory ends before its call returns");
	back = 50;
	expect_rc(cudaMemcpyAsync(y, &back, 4, cudaMemcpyHostToDevice, s), cudaSuccess);
	back = 60;
	expect_rc(cudaEventDestroy(e), cudaSuccess);
	expect_rc(cudaStreamDestroy(s), cudaSuccess);
	expect(fetch_first(y) == 50, "a copy from pageable memory is staged: %d", fetch_first(y));
	expect_rc(cudaMemcpyAsync(pinned, y, 16, cudaMemcpyDeviceToHost, t), cudaSuccess);
	expect(emu_freed_in_use() == 0, "nothing freed in use");
	expect_rc(cudaFreeHost(pinned), cudaSuccess);
	expect(emu_freed_in_use() == 1, "%ld freed in use", emu_freed_in_use());
	emu_set_lazy(0);
	expect_rc(cudaStreamDestroy(t), cudaSuccess);
	expect_rc(cudaStreamSynchronize(t), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

/* ---- graphs ---- */

static void test_capture_and_replay(void)
{
	cudaStream_t s = new_stream(), t = new_stream();
	cudaEvent_t fork = new_event(), join = new_event();
	enum cudaStreamCaptureStatus status;
	cudaGraph_t g = NULL;
	cudaGraphExec_t x = NULL;
	int *y = give_zero(), *z = give_zero(), *pinned = NULL;

	expect_rc(cudaMallocHost((void **)&pinned, 16), cudaSuccess);
	expect_rc(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
	expect_rc(cudaStreamIsCapturing(s, &status), cudaSuccess);
	expect(status == cudaStreamCaptureStatusActive, "status %d", status);
	expect_rc(cudaMemcpyAsync(y, pinned, 16, cudaMemcpyHostToDevice, s), cudaSuccess);
	expect_rc(launch_add(y, 1, s), cudaSuccess);
	expect_rc(cudaEventRecord(fork, s), cudaSuccess);
	expect_rc(cudaStreamWaitEvent(t, fork, 0), cudaSuccess);
	expect_rc(launch_add(z, 100, t), cudaSuccess);
	expect_rc(cudaEventRecord(join, t), cudaSuccess);
	expect_rc(launch_add(y, 10, s), cudaSuccess);
	expect_rc(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
	expect_rc(cudaStreamEndCapture(s, &g), cudaSuccess);
	expect(fetch_first(z) == 0, "a captured kernel ran");
	expect_rc(cudaGraphInstantiate(&x, g, 0), cudaSuccess);
	expect_rc(cudaGraphDestroy(g), cudaSuccess);
	long long kernels = emu_kernels();
	for (int i = 0; i < 3; i++) {
		pinned[0] = 1000 * i;
		expect_rc(cudaGraphLaunch(x, s), cudaSuccess);
		expect_rc(cudaStreamSynchronize(s), cudaSuccess);
		expect(fetch_first(y) == 1000 * i + 11 && fetch_first(z) == 100 * (i + 1),
		       "replay %d: %d, %d", i, fetch_first(y), fetch_first(z));
	}
	expect(emu_kernels() == kernels + 9, "%lld kernels", emu_kernels() - kernels);
	expect_rc(cudaGraphExecDestroy(x), cudaSuccess);
	expect_rc(cudaGraphLaunch(x, s), cudaErrorInvalidValue);
	expect_rc(cudaFreeHost(pinned), cudaSuccess);
	cudaEventDestroy(fork), cudaEventDestroy(join);
	cudaStreamDestroy(s), cudaStreamDestroy(t);
	cudaGetLastError();
}
/* Begin a capture, call, and end it: what the call and the end return. */
template <class F> static void expect_capture(F call, int want, int want_end, int line)
{
	cudaStream_t s = new_stream(), t = new_stream();
	cudaGraph_t g = NULL;

	expect_rc_at(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess, "begin",
	             line);
	expect_rc_at(call(s, t), want, "the call", line);
	expect_rc_at(cudaStreamEndCapture(s, &g), want_end, "the end", line);
	expect(!g == (want_end != 0), "line %d: a graph", line);
	if (g)
		cudaGraphDestroy(g);
	expect_rc_at(cudaStreamSynchronize(s), cudaSuccess, "a stream after its capture", line);
	cudaStreamDestroy(s), cudaStreamDestroy(t);
	cudaGetLastError();
}
#define expect_illegal(body, rc, end) \
	expect_capture( \
		[=](cudaStream_t s, cudaStream_t t) { \
			(void)s, (void)t; \
			body; \
		}, \
		rc, end, __LINE__)
static void test_what_breaks_a_capture(void)
{
	enum {
		UNSUPPORTED = cudaErrorStreamCaptureUnsupported,
		INVALID = cudaErrorStreamCaptureInvalidated
	};
	static void *p;
	static size_t a, b;
	int *y = give_zero();
	cudaEvent_t e = new_event();

	expect_rc(cudaEventRecord(e, stream()), cudaSuccess);
	expect_illegal(return launch_add(y, 1, s), cudaSuccess, cudaSuccess);
	expect_illegal(return launch_add(y, 1, t), cudaSuccess, cudaSuccess);
	expect_illegal(return cudaMalloc(&p, 4), UNSUPPORTED, INVALID);
	expect_illegal(return cudaFree(NULL), UNSUPPORTED, INVALID);
	expect_illegal(return cudaMallocHost(&p, 4), UNSUPPORTED, INVALID);
	expect_illegal(return cudaMemGetInfo(&a, &b), UNSUPPORTED, INVALID);
	expect_illegal(return cudaStreamSynchronize(s), UNSUPPORTED, INVALID);
	expect_illegal(return cudaStreamSynchronize(t), cudaSuccess, cudaSuccess);
	expect_illegal(return cudaDeviceSynchronize(), UNSUPPORTED, INVALID);
	expect_illegal(return cudaMemset(y, 0, 4), UNSUPPORTED, INVALID);
	expect_illegal(return cudaStreamQuery(s), UNSUPPORTED, INVALID);
	expect_illegal(return launch_add(y, 1, 0), cudaErrorStreamCaptureImplicit, INVALID);
	expect_illegal(return cudaStreamWaitEvent(s, e, 0), cudaErrorStreamCaptureIsolation,
	                      INVALID);
	expect_illegal(cudaEventRecord(e, s);
	               return cudaEventSynchronize(e), cudaErrorCapturedEvent, INVALID);
	expect_illegal(cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0);
	               return launch_add(y, 1, t), cudaSuccess, cudaErrorStreamCaptureUnjoined);
	expect_illegal(cudaMemGetInfo(&a, &b); return launch_add(y, 1, s), INVALID, INVALID);
	expect_rc(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), UNSUPPORTED);
	cudaEventDestroy(e);
	cudaGetLastError();
}

/* ---- each call in turn fails ---- */

struct work { /* a program that stops at the first error and frees what it has */
	cudaStream_t s;
	cudaEvent_t e;
	cudaGraph_t g;
	cudaGraphExec_t x;
	int *device, *pinned, result;
};
#define TRY(call) \
	do { \
		int try_rc = (call); \
		if (try_rc) \
			return try_rc; \
	} while (0)
static int do_work(struct work *w)
{
	int n, version;
	size_t left, total;
	struct cudaDeviceProp p;

	TRY(cudaDriverGetVersion(&version));
	TRY(cudaRuntimeGetVersion(&version));
	TRY(cudaGetDeviceCount(&n));
	TRY(cudaSetDevice(0));
	TRY(cudaGetDevice(&n));
	TRY(cudaGetDeviceProperties(&p, 0));
	TRY(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0));
	TRY(cudaMemGetInfo(&left, &total));
	TRY(cudaMalloc((void **)&w->device, 16));
	TRY(cudaHostAlloc((void **)&w->pinned, 16, cudaHostAllocDefault));
	TRY(cudaStreamCreateWithFlags(&w->s, cudaStreamNonBlocking));
	TRY(cudaEventCreateWithFlags(&w->e, cudaEventDisableTiming));
	memset(w->pinned, 0, 16);
	TRY(cudaMemcpy(w->device, w->pinned, 16, cudaMemcpyHostToDevice));
	TRY(cudaMemset(w->device, 0, 16));
	TRY(cudaMemsetAsync(w->device, 0, 16, w->s));
	TRY(cudaStreamSynchronize(w->s));
	TRY(cudaStreamBeginCapture(w->s, cudaStreamCaptureModeThreadLocal));
	int rc = launch_add(w->device, 5, w->s), end = cudaStreamEndCapture(w->s, &w->g);
	TRY(rc);
	TRY(end);
	TRY(cudaGraphInstantiate(&w->x, w->g, 0));
	TRY(cudaGraphLaunch(w->x, w->s));
	TRY(launch_add(w->device, 2, w->s));
	TRY(cudaMemcpyAsync(w->pinned, w->device, 16, cudaMemcpyDeviceToHost, w->s));
	TRY(cudaEventRecord(w->e, w->s));
	TRY(cudaStreamWaitEvent(w->s, w->e, 0));
	TRY(cudaEventQuery(w->e));
	TRY(cudaEventSynchronize(w->e));
	TRY(cudaStreamQuery(w->s));
	TRY(cudaDeviceSynchronize());
	w->result = w->pinned[0];
	return 0;
}
static int end_work(struct work *w) /* the first error; all is freed whatever happens */
{
	int rc[] = { w->x ? cudaGraphExecDestroy(w->x) : cudaSuccess,
		     w->g ? cudaGraphDestroy(w->g) : cudaSuccess,
		     w->e ? cudaEventDestroy(w->e) : cudaSuccess,
		     w->s ? cudaStreamDestroy(w->s) : cudaSuccess,
		     cudaFree(w->device),
		     cudaFreeHost(w->pinned) };

	for (size_t i = 0; i < sizeof rc / sizeof *rc; i++)
		TRY(rc[i]);
	return 0;
}
static void test_each_call_fails(void)
{
	static const cudaError_t codes[] = { cudaErrorMemoryAllocation, cudaErrorIllegalAddress,
		                             cudaErrorUnknown };
	size_t bytes = emu_live_bytes();
	long objects = emu_live_objects();

	for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
		int sticky = codes[c] == cudaErrorIllegalAddress, calls = 0;

		for (int n = 0; n <= calls; n++) { /* n 0: none fails */
			struct work w = {};
			long long before = emu_calls();
			cudaError_t rc, end;

			emu_fail_at(n, codes[c]);
			rc = (cudaError_t)do_work(&w);
			end = (cudaError_t)end_work(&w);
			calls = n ? calls : (int)(emu_calls() - before);
			expect(n ? rc == codes[c] || end == codes[c] : !rc && !end && w.result == 7,
			       "call %d: %s, %s, result %d", n, cudaGetErrorName(rc),
			       cudaGetErrorName(end), w.result);
			expect(!sticky || !n || cudaStreamQuery(NULL) == codes[c],
			       "call %d: is forgotten", n);
			expect(cudaPeekAtLastError() == (n ? codes[c] : cudaSuccess),
			       "call %d: last error", n);
			emu_reset();
			expect(emu_live_bytes() == bytes && emu_live_objects() == objects,
			       "call %d: %zu bytes, %ld left", n, emu_live_bytes() - bytes,
			       emu_live_objects() - objects);
		}
		expect(calls >= 30, "%d calls", calls);
	}
}

/* ---- several threads ---- */

static void *add_often(void *user)
{
	int *y = (int *)user;
	cudaStream_t s = NULL;

	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	for (int i = 0; i < 20; i++) {
		launch_add(y, 1, s);
		launch_add(y, 2, s);
		if (i % 5 == 0)
			cudaStreamSynchronize(s);
	}
	cudaStreamDestroy(s);
	return NULL;
}
static void test_threads_share_the_runtime(void)
{
	enum { N = 4 };
	pthread_t t[N];
	int *y[N];

	for (int i = 0; i < N; i++)
		y[i] = give_zero();
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, add_often, y[i]);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < N; i++)
		expect(fetch_first(y[i]) == 60, "thread %d: %d", i, fetch_first(y[i]));
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_memory);
	RUN(test_devices);
	RUN(test_launch_limits);
	RUN(test_lazy_streams);
	RUN(test_capture_and_replay);
	RUN(test_what_breaks_a_capture);
	RUN(test_each_call_fails);
	RUN(test_threads_share_the_runtime);
	return end_tests();
}
