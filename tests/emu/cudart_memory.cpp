/* cudart_memory.cpp - CUDA's runtime for the emulated machine: devices and memory.
 *
 * A block is one allocation of host memory.  Copies and sets must be inside blocks of the right
 * kind: device or pinned. */
#include "cudart.h"

enum { OLD_DRIVER = 11040 }; /* version of a driver older than the runtime */

/* ---- devices ---- */
static int is_device(int d) { return d >= 0 && d < rt.devices; }
cudaError_t cudaGetDeviceCount(int *n)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	*n = rc ? 0 : rt.devices;
	return finish_call(rc);
}
cudaError_t cudaSetDevice(int device)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !is_device(device))
		rc = cudaErrorInvalidDevice;
	if (!rc)
		current_device = device;
	return finish_call(rc);
}
cudaError_t cudaGetDevice(int *device)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc)
		*device = current_device;
	return finish_call(rc);
}
static void fill_properties(struct cudaDeviceProp *p, int device)
{
	memset(p, 0, sizeof *p);
	snprintf(p->name, sizeof p->name, "emulated GPU");
	p->uuid[0] = (unsigned char)(device + 1);
	p->totalGlobalMem = rt.memory;
	p->sharedMemPerBlock = 48 << 10;
	p->regsPerBlock = p->regsPerMultiprocessor = 65536;
	p->warpSize = EMU_WARP;
	p->maxThreadsPerBlock = THREADS_MOST;
	p->totalConstMem = 64 << 10;
	p->major = 9;
	p->minor = 0;
	p->multiProcessorCount = 4;
	p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
	p->pciBusID = device + 1;
	p->asyncEngineCount = 2;
	p->memoryBusWidth = 256;
	p->l2CacheSize = 1 << 20;
	p->maxThreadsPerMultiProcessor = 2048;
	p->sharedMemPerMultiprocessor = 228 << 10;
	p->sharedMemPerBlockOptin = SHARED_OPTIN;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !is_device(device))
		rc = cudaErrorInvalidDevice;
	if (!rc)
		fill_properties(p, device);
	return finish_call(rc);
}
static int find_attribute(enum cudaDeviceAttr a, const struct cudaDeviceProp *p, int *value)
{
	const struct {
		enum cudaDeviceAttr a;
		size_t value;
	} all[] = {
		{ cudaDevAttrMaxThreadsPerBlock, (size_t)p->maxThreadsPerBlock },
		{ cudaDevAttrMaxSharedMemoryPerBlock, p->sharedMemPerBlock },
		{ cudaDevAttrWarpSize, (size_t)p->warpSize },
		{ cudaDevAttrClockRate, 1000000 },
		{ cudaDevAttrMultiProcessorCount, (size_t)p->multiProcessorCount },
		{ cudaDevAttrIntegrated, 0 },
		{ cudaDevAttrCanMapHostMemory, 1 },
		{ cudaDevAttrComputeMode, 0 },
		{ cudaDevAttrPciBusId, (size_t)p->pciBusID },
		{ cudaDevAttrPciDeviceId, (size_t)p->pciDeviceID },
		{ cudaDevAttrPciDomainId, (size_t)p->pciDomainID },
		{ cudaDevAttrMemoryClockRate, 1000000 },
		{ cudaDevAttrGlobalMemoryBusWidth, (size_t)p->memoryBusWidth },
		{ cudaDevAttrL2CacheSize, (size_t)p->l2CacheSize },
		{ cudaDevAttrMaxThreadsPerMultiProcessor, (size_t)p->maxThreadsPerMultiProcessor },
		{ cudaDevAttrAsyncEngineCount, (size_t)p->asyncEngineCount },
		{ cudaDevAttrComputeCapabilityMajor, (size_t)p->major },
		{ cudaDevAttrComputeCapabilityMinor, (size_t)p->minor },
		{ cudaDevAttrMaxSharedMemoryPerMultiprocessor, p->sharedMemPerMultiprocessor },
		{ cudaDevAttrMaxSharedMemoryPerBlockOptin, p->sharedMemPerBlockOptin },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].a == a) {
			*value = (int)all[i].value;
			return 1;
		}
	return 0;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr a, int device)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	struct cudaDeviceProp p;

	if (!rc && !is_device(device))
		rc = cudaErrorInvalidDevice;
	if (!rc) {
		fill_properties(&p, device);
		if (!find_attribute(a, &p, value))
			rc = cudaErrorInvalidValue;
	}
	return finish_call(rc);
}
cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !is_device(device))
		rc = cudaErrorInvalidDevice;
	if (!rc)
		snprintf(id, (size_t)len, "0000:%02x:00.0", device + 1);
	return finish_call(rc);
}
cudaError_t cudaDeviceSynchronize(void)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	if (!rc)
		run_device(current_device, 0);
	return finish_call(rc);
}
cudaError_t cudaDeviceReset(void)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	if (!rc)
		run_device(current_device, 0);
	return finish_call(rc);
}
cudaError_t cudaDriverGetVersion(int *version)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!rc)
		*version = rt.devices < 0 ? OLD_DRIVER : CUDART_VERSION;
	return finish_call(rc);
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!rc)
		*version = CUDART_VERSION;
	return finish_call(rc);
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	if (!rc) {
		size_t used = rt.used[current_device];

		*left = used < rt.memory ? rt.memory - used : 0;
		*total = rt.memory;
	}
	return finish_call(rc);
}

/* ---- memory ---- */
static block *find_block(const void *p)
{
	for (block *b = rt.blocks; b; b = b->next)
		if ((const char *)p >= b->p && (const char *)p < b->p + b->n)
			return b;
	return NULL;
}
static cudaError_t new_block(void **p, size_t n, int device)
{
	block *b;

	*p = NULL;
	if (!n)
		return cudaSuccess;
	if (device >= 0 && (n > rt.memory || rt.used[device] > rt.memory - n))
		return cudaErrorMemoryAllocation;
	b = (block *)malloc(sizeof *b);
	if (!b || posix_memalign(p, ALIGN, n)) {
		free(b);
		*p = NULL;
		return cudaErrorMemoryAllocation;
	}
	memset(*p, 0xff, n);
	b->next = rt.blocks;
	b->p = (char *)*p;
	b->n = n;
	b->device = device;
	rt.blocks = b;
	*(device >= 0 ? &rt.used[device] : &rt.pinned) += n;
	return cudaSuccess;
}
static int overlaps(const block *b, const void *p, size_t n)
{
	return p && (const char *)p < b->p + b->n && (const char *)p + n > b->p;
}
static int is_in_use(const block *b, const op_list *l)
{
	for (const op *o = l->first; o; o = o->next)
		if (o->kind == OP_KERNEL || overlaps(b, o->to, o->n) || overlaps(b, o->from, o->n))
			return 1;
	return 0;
}
static void note_use(const block *b)
{
	int used = 0;

	for (cudaStream_t s = rt.streams; s; s = s->next)
		used |= is_in_use(b, &s->ops);
	for (int i = 0; i < DEVICES; i++)
		used |= is_in_use(b, &rt.null_streams[i].ops);
	rt.n_freed_in_use += used;
}
static cudaError_t free_block(void *p, int pinned)
{
	for (block **at = &rt.blocks; *at; at = &(*at)->next) {
		block *b = *at;

		if (b->p != p || (b->device < 0) != pinned)
			continue;
		note_use(b);
		for (int i = 0; i < DEVICES; i++)
			run_device(i, 0);
		*at = b->next;
		*(pinned ? &rt.pinned : &rt.used[b->device]) -= b->n;
		memset(b->p, 0xff, b->n);
		free(b->p);
		free(b);
		return cudaSuccess;
	}
	return p ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaMalloc(void **p, size_t n)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	return finish_call(rc ? rc : new_block(p, n, current_device));
}
cudaError_t cudaFree(void *p)
{
	guard g;
	cudaError_t rc = begin_call(UNSAFE), freed = free_block(p, 0);

	return finish_call(rc ? rc : freed);
}
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	(void)flags;
	return finish_call(rc ? rc : new_block(p, n, -1));
}
cudaError_t cudaMallocHost(void **p, size_t n) { return cudaHostAlloc(p, n, cudaHostAllocDefault); }
cudaError_t cudaFreeHost(void *p)
{
	guard g;
	cudaError_t rc = begin_call(UNSAFE), freed = free_block(p, 1);

	return finish_call(rc ? rc : freed);
}
/* True if [p, p + n) is memory of a device (on_device 1) or of the host (0). */
static int is_range(const void *p, size_t n, int on_device)
{
	const block *b = find_block(p);

	if (!n)
		return 1;
	if (!p || (b && (size_t)(b->p + b->n - (const char *)p) < n))
		return 0;
	return (b && b->device >= 0) == on_device;
}
static int is_copy(const void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
	int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
	int from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

	if (kind == cudaMemcpyDefault)
		return (is_range(to, n, 0) || is_range(to, n, 1)) &&
		       (is_range(from, n, 0) || is_range(from, n, 1));
	if (is_range(to, n, to_device) && is_range(from, n, from_device))
		return 1;
	fprintf(stderr, "emu: a copy of %zu bytes, kind %d: %s is not such memory\n", n, (int)kind,
	        is_range(to, n, to_device) ? "the source" : "the target");
	return 0;
}
static op copy_op(void *to, const void *from, size_t n)
{
	op o = op();

	o.kind = OP_COPY;
	o.to = to;
	o.from = from;
	o.n = n;
	return o;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t t = find_stream(s);
	op o = copy_op(to, from, n);

	if (!rc && !is_copy(to, from, n, kind))
		rc = cudaErrorInvalidValue;
	/* pageable memory: the call stages it */
	if (!rc && n && t && !t->cap && !find_block(from)) {
		o.data = (void *)from;
		o.data_size = n;
	}
	if (!rc)
		rc = submit_op(s, &o);
	if (!rc && kind == cudaMemcpyDeviceToHost)
		emu_tick(EMU_FETCHED, (long long)n);
	/* pageable memory: the call waits for the copy */
	if (!rc && t && !t->cap && !find_block(to))
		run_all(t);
	return finish_call(rc);
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);
	op o = copy_op(to, from, n);

	if (!rc && !is_copy(to, from, n, kind))
		rc = cudaErrorInvalidValue;
	if (!rc) {
		run_device(current_device, 1);
		run_op(&o);
	}
	return finish_call(rc);
}
static op set_op(void *p, int value, size_t n)
{
	op o = op();

	o.kind = OP_SET;
	o.to = p;
	o.value = value;
	o.n = n;
	return o;
}
cudaError_t cudaMemset(void *p, int value, size_t n)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);
	op o = set_op(p, value, n);

	if (!rc && !is_range(p, n, 1))
		rc = cudaErrorInvalidValue;
	return finish_call(rc ? rc : submit_op(NULL, &o));
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	op o = set_op(p, value, n);

	if (!rc && !is_range(p, n, 1))
		rc = cudaErrorInvalidValue;
	return finish_call(rc ? rc : submit_op(s, &o));
}
