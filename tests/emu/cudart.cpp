/* cudart.cpp - CUDA's runtime for the emulated machine: calls, operations, launches.
 *
 * A stream is a list of operations.  Each runs when it is added, except that a kernel stays pending
 * until the next operation or wait, because the next kernel may start early (emu.cpp).  EMU_LAZY=1:
 * all stay pending until something waits for the stream, so a missing wait gives wrong results.
 * Operations of a captured stream are appended to the graph, in the order of the calls; launching
 * the graph adds copies of them to a stream.
 *
 *   EMU_DEVICES=n      devices (1); 0: cudaErrorNoDevice, -1: cudaErrorInsufficientDriver
 *   EMU_MEMORY=bytes   memory of each (2 GiB); fresh memory is NaN bytes
 *   EMU_FAIL=n:code    fail call n (from 1) with this cudaError_t
 *   EMU_LEAKS=1        at exit, report what was not freed and exit with code 1
 *
 * One lock covers every call, so several threads may call. */
#include "cudart.h"
#include <unistd.h>

runtime rt = {};
__thread int current_device;
__thread cudaError_t last_error;

static const struct {
	cudaError_t e;
	const char *name, *text;
} errors[] = {
	{ cudaSuccess, "cudaSuccess", "no error" },
	{ cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument" },
	{ cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory" },
	{ cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error" },
	{ cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down" },
	{ cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
	  "invalid configuration argument" },
	{ cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
	  "invalid copy direction for memcpy" },
	{ cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	  "CUDA driver version is insufficient for CUDA runtime version" },
	{ cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
	  "CUDA-capable device(s) is/are busy or unavailable" },
	{ cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected" },
	{ cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal" },
	{ cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
	  "no kernel image is available for execution on the device" },
	{ cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable",
	  "uncorrectable ECC error encountered" },
	{ cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	  "invalid resource handle" },
	{ cudaErrorNotReady, "cudaErrorNotReady", "device not ready" },
	{ cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
	  "an illegal memory access was encountered" },
	{ cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
	  "too many resources requested for launch" },
	{ cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout",
	  "the launch timed out and was terminated" },
	{ cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address" },
	{ cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure" },
	{ cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted" },
	{ cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported" },
	{ cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
	  "operation not permitted when stream is capturing" },
	{ cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
	  "operation failed due to a previous error during capture" },
	{ cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
	  "capture must end in the same stream in which it began" },
	{ cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
	  "capturing stream has unjoined work" },
	{ cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
	  "dependency created on uncaptured work in another stream" },
	{ cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
	  "merge of two independent capture sequences not permitted" },
	{ cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
	  "operation not permitted on an event last recorded in a capturing stream" },
	{ cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
	  "attempt to terminate a thread-local capture sequence from another thread" },
	{ cudaErrorUnknown, "cudaErrorUnknown", "unknown error" },
};

/* ---- calls ---- */
static void report_leaks(void);
static void read_settings(void)
{
	const char *n = getenv("EMU_DEVICES"), *bytes = getenv("EMU_MEMORY"),
		   *fail = getenv("EMU_FAIL");
	const char *lazy = getenv("EMU_LAZY"), *leaks = getenv("EMU_LEAKS"), *code;

	if (rt.set_up)
		return;
	rt.set_up = 1;
	rt.devices = n ? atoi(n) : 1;
	rt.devices = rt.devices > DEVICES ? DEVICES : rt.devices;
	rt.memory = bytes ? strtoull(bytes, NULL, 10) : (size_t)2 << 30;
	rt.lazy = lazy && atoi(lazy);
	if (fail && (code = strchr(fail, ':'))) {
		rt.fail_at = atoll(fail);
		rt.fail_code = (cudaError_t)atoi(code + 1);
	}
	for (int i = 0; i < DEVICES; i++) {
		rt.null_streams[i].device = i;
		rt.null_streams[i].blocking = 1;
	}
	if (leaks && atoi(leaks))
		atexit(report_leaks);
}
static void make_lock(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&rt.lock, &a);
	pthread_mutexattr_destroy(&a);
}
guard::guard()
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_lock);
	pthread_mutex_lock(&rt.lock);
	read_settings();
}
static int is_sticky(cudaError_t e)
{
	return e == cudaErrorECCUncorrectable ||
	       (e >= cudaErrorIllegalAddress && e <= cudaErrorLaunchFailure &&
	        e != cudaErrorLaunchOutOfResources);
}
int break_captures(void)
{
	int found = 0;

	for (capture *c = rt.captures; c; c = c->next)
		if (c->mode == cudaStreamCaptureModeGlobal ||
		    (c->mode == cudaStreamCaptureModeThreadLocal &&
		     pthread_equal(c->thread, pthread_self())))
			found = c->invalid = 1;
	return found;
}
cudaError_t begin_call(int flags)
{
	rt.calls++;
	if (rt.in_host_fn)
		return cudaErrorNotPermitted;
	if (rt.sticky)
		return rt.sticky;
	if (rt.fail_at && rt.calls == rt.fail_at) {
		rt.fail_at = 0;
		if (is_sticky(rt.fail_code))
			rt.sticky = rt.fail_code;
		return rt.fail_code;
	}
	if (flags & NEEDS_DEVICE && rt.devices <= 0)
		return rt.devices ? cudaErrorInsufficientDriver : cudaErrorNoDevice;
	if (flags & UNSAFE && break_captures())
		return cudaErrorStreamCaptureUnsupported;
	return cudaSuccess;
}
cudaError_t finish_call(cudaError_t rc)
{
	if (rc && rc != cudaErrorNotReady)
		last_error = rc;
	return rc;
}
const char *cudaGetErrorName(cudaError_t e)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].e == e)
			return errors[i].name;
	return "unrecognized error code";
}
const char *cudaGetErrorString(cudaError_t e)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].e == e)
			return errors[i].text;
	return "unrecognized error code";
}
cudaError_t cudaGetLastError(void)
{
	guard g;
	cudaError_t e = rt.sticky ? rt.sticky : last_error;

	last_error = cudaSuccess;
	return e;
}
cudaError_t cudaPeekAtLastError(void)
{
	guard g;

	return rt.sticky ? rt.sticky : last_error;
}

/* ---- operations ---- */
static void *copy_bytes(const void *from, size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 16, n ? n : 1))
		abort();
	memcpy(p, from, n);
	return p;
}
void add_op(op_list *l, const op *o)
{
	op *c = (op *)malloc(sizeof *c);

	if (!c)
		abort();
	*c = *o;
	c->next = NULL;
	if (o->data)
		c->data = copy_bytes(o->data, o->data_size);
	if (o->event)
		o->event->refs++;
	*(l->last ? &l->last->next : &l->first) = c;
	l->last = c;
	l->n++;
}
void release_event(cudaEvent_t e)
{
	if (!--e->refs)
		free(e);
}
static void free_op(op *o)
{
	free(o->data);
	if (o->event)
		release_event(o->event);
	free(o);
}
void free_ops(op_list *l)
{
	while (op *o = l->first) {
		l->first = o->next;
		free_op(o);
	}
	*l = op_list();
}
static emu_kernel kernel_of(const op *o)
{
	return emu_kernel{ o->grid, o->block, o->n, o->call, o->data };
}
static void run_kernel(const op *o)
{
	emu_kernel k = kernel_of(o), next;

	if (o->next && o->next->kind == OP_KERNEL)
		next = kernel_of(o->next);
	emu_run(&k, o->next && o->next->kind == OP_KERNEL ? &next : NULL);
}
void run_op(const op *o)
{
	switch (o->kind) {
	case OP_KERNEL:
		run_kernel(o);
		break;
	case OP_COPY:
		memmove(o->to, o->data ? o->data : o->from, o->n);
		break;
	case OP_SET:
		memset(o->to, o->value, o->n);
		break;
	case OP_HOST:
		rt.in_host_fn = 1;
		o->call(o->to);
		rt.in_host_fn = 0;
		break;
	case OP_RECORD:
		o->event->done = o->version;
		clock_gettime(CLOCK_MONOTONIC, &o->event->at);
		break;
	case OP_WAIT:
		if (o->event->done < o->version)
			run_until(o->event->stream, o->event, o->version);
		break;
	}
}
void run_first(cudaStream_t s)
{
	op *o = s->ops.first;

	run_op(o);
	s->ops.first = o->next;
	s->ops.last = o->next ? s->ops.last : NULL;
	s->ops.n--;
	free_op(o);
}
void run_until(cudaStream_t s, cudaEvent_t e, long long version)
{
	while (s->ops.first && e->done < version)
		run_first(s);
}
void run_all(cudaStream_t s)
{
	while (s->ops.first)
		run_first(s);
}
void run_device(int device, int blocking_only)
{
	for (cudaStream_t s = rt.streams; s; s = s->next)
		if (s->device == device && (s->blocking || !blocking_only))
			run_all(s);
	run_all(&rt.null_streams[device]);
}
cudaStream_t find_stream(cudaStream_t s)
{
	cudaStream_t i = rt.streams;

	if (!s)
		return &rt.null_streams[current_device];
	while (i && i != s)
		i = i->next;
	return i;
}
cudaError_t submit_op(cudaStream_t handle, const op *o)
{
	cudaStream_t s = find_stream(handle);

	if (!s)
		return cudaErrorInvalidResourceHandle;
	if (s->cap) {
		if (s->cap->invalid)
			return cudaErrorStreamCaptureInvalidated;
		add_op(&s->cap->ops, o);
		s->cap_added++;
		return cudaSuccess;
	}
	if (!handle) {
		if (break_captures())
			return cudaErrorStreamCaptureImplicit;
		run_device(s->device, 1);
	}
	if (s->blocking && handle)
		run_all(&rt.null_streams[s->device]);
	add_op(&s->ops, o);
	rt.kernels += o->kind == OP_KERNEL;
	while (!rt.lazy && s->ops.first && (s->ops.first->next || s->ops.first->kind != OP_KERNEL))
		run_first(s);
	return cudaSuccess;
}

/* ---- kernels ---- */
static int is_launch(dim3 grid, dim3 b, size_t bytes)
{
	return grid.x && grid.x <= 0x7fffffff && grid.y && grid.y <= 65535 && grid.z &&
	       grid.z <= 65535 && b.x && b.x <= THREADS_MOST && b.y && b.y <= THREADS_MOST && b.z &&
	       b.z <= 64 && (size_t)b.x * b.y * b.z <= THREADS_MOST && bytes <= SHARED_OPTIN;
}
cudaError_t emu_enqueue(cudaStream_t s, dim3 grid, dim3 block, size_t bytes, void (*call)(void *),
                        const void *user, size_t size)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	op o = op();

	if (!rc && !is_launch(grid, block, bytes))
		rc = cudaErrorInvalidConfiguration;
	o.kind = OP_KERNEL;
	o.grid = grid;
	o.block = block;
	o.n = bytes;
	o.call = call;
	o.data = (void *)user;
	o.data_size = size;
	return finish_call(rc ? rc : submit_op(s, &o));
}
cudaError_t cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute a, int value)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !f)
		rc = cudaErrorInvalidDeviceFunction;
	if (!rc && a == cudaFuncAttributeMaxDynamicSharedMemorySize &&
	    (value < 0 || value > SHARED_OPTIN))
		rc = cudaErrorInvalidValue;
	return finish_call(rc);
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !f)
		rc = cudaErrorInvalidDeviceFunction;
	if (!rc) {
		memset(a, 0, sizeof *a);
		a->maxThreadsPerBlock = THREADS_MOST;
		a->numRegs = 32;
		a->ptxVersion = a->binaryVersion = 90;
		a->maxDynamicSharedSizeBytes = SHARED_OPTIN;
	}
	return finish_call(rc);
}

/* ---- emu_control.h ---- */
void emu_fail_at(long long n, int code)
{
	guard g;

	rt.fail_at = n ? rt.calls + n : 0;
	rt.fail_code = (cudaError_t)code;
}
long long emu_calls(void)
{
	guard g;

	return rt.calls;
}
long long emu_kernels(void)
{
	guard g;

	return rt.kernels;
}
size_t emu_live_bytes(void)
{
	guard g;
	size_t n = rt.pinned;

	for (int i = 0; i < DEVICES; i++)
		n += rt.used[i];
	return n;
}
template <class T> static long count_objects(const T *x)
{
	long n = 0;

	for (; x; x = x->next)
		n++;
	return n;
}
long emu_live_objects(void)
{
	guard g;

	return count_objects(rt.streams) + count_objects(rt.events) + count_objects(rt.graphs) +
	       count_objects(rt.execs);
}
long emu_freed_in_use(void)
{
	guard g;

	return rt.n_freed_in_use;
}
void emu_reset(void)
{
	guard g;

	rt.calls = rt.kernels = rt.fail_at = 0;
	rt.n_freed_in_use = 0;
	rt.sticky = last_error = cudaSuccess;
	emu_clear_counters();
}
void emu_set_devices(int n)
{
	guard g;

	rt.devices = n > DEVICES ? DEVICES : n;
}
void emu_set_memory(size_t bytes)
{
	guard g;

	rt.memory = bytes;
}
void emu_set_lazy(int lazy)
{
	guard g;

	for (int i = 0; i < DEVICES && !lazy; i++)
		run_device(i, 0);
	rt.lazy = lazy;
}
static void report_leaks(void)
{
	size_t bytes = emu_live_bytes();
	long objects = emu_live_objects(), used = emu_freed_in_use();

	if (!bytes && !objects && !used)
		return;
	fprintf(stderr,
	        "emu: %zu bytes and %ld streams %ld events %ld graphs %ld executable graphs are "
	        "left; "
	        "%ld freed in use\n",
	        bytes, count_objects(rt.streams), count_objects(rt.events),
	        count_objects(rt.graphs), count_objects(rt.execs), used);
	fflush(NULL);
	_exit(1);
}
