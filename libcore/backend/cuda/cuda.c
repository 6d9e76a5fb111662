/* backend/cuda/cuda.c - list and open NVIDIA GPUs; the table of the backend. */
#include "backend/cuda/plan.h"
#include "backend/cuda/devices.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum {
	OLDEST = 75,             /* oldest compute capability: 10 * major + minor */
	KERNEL_BYTES = 128 << 20 /* estimated device memory of loaded kernels and captured graphs */
};

/* Return the number of devices, or -1 with the reason in err. */
static int count_devices(infer_error *err)
{
	int n = 0, rc = cudaGetDeviceCount(&n);

	if (rc)
		(void)cudaGetLastError();
	if (rc == cudaErrorInsufficientDriver)
		err_set(err, INFER_EDEVICE, "no NVIDIA driver, or one that is too old");
	else if (rc == cudaErrorNoDevice || (!rc && !n))
		err_set(err, INFER_EDEVICE, "no CUDA device");
	else if (rc)
		err_set(err, INFER_EDEVICE, "cannot count CUDA devices: %s (%s)",
		        cudaGetErrorString((cudaError_t)rc), cudaGetErrorName((cudaError_t)rc));
	else
		return n;
	return -1;
}

static void fill_device(struct cuda_device *d, int i)
{
	struct cudaDeviceProp p;
	size_t left = 0, total = 0;

	memset(d, 0, sizeof *d);
	memset(&p, 0, sizeof p);
	if (cudaGetDeviceProperties(&p, i) || cudaSetDevice(i) || cudaMemGetInfo(&left, &total))
		(void)cudaGetLastError();
	snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, p.name);
	snprintf(d->bus, sizeof d->bus, "%04x:%02x:%02x", (unsigned)p.pciDomainID & 0xffff,
	         (unsigned)p.pciBusID & 0xff, (unsigned)p.pciDeviceID & 0xff);
	d->major = p.major;
	d->minor = p.minor;
	d->sms = p.multiProcessorCount;
	d->memory_bytes = p.totalGlobalMem;
	d->free_bytes = left;
	(void)cudaDriverGetVersion(&d->driver);
	(void)cudaRuntimeGetVersion(&d->runtime);
}

int cuda_devices(struct cuda_device *out, int cap, infer_error *err)
{
	int n = count_devices(err);

	for (int i = 0; i < n && i < cap; i++)
		fill_device(&out[i], i);
	return n;
}

static void cuda_close(struct backend *b)
{
	if (!b)
		return;
	(void)cudaSetDevice(b->device);
	for (int i = 0; i < 2; i++)
		if (b->staged[i])
			(void)cudaEventDestroy(b->staged[i]);
	if (b->stream)
		(void)cudaStreamDestroy(b->stream);
	(void)cudaGetLastError();
	mem_free(b);
}

static int get_attribute(int *value, enum cudaDeviceAttr which, int device)
{
	return cudaDeviceGetAttribute(value, which, device);
}

static int check_device(struct backend *b, infer_error *err)
{
	int rc = get_attribute(&b->major, cudaDevAttrComputeCapabilityMajor, b->device);

	if (!rc)
		rc = get_attribute(&b->minor, cudaDevAttrComputeCapabilityMinor, b->device);
	if (!rc)
		rc = get_attribute(&b->sms, cudaDevAttrMultiProcessorCount, b->device);
	TRY(rt_check(rc, "read the properties of the device", err));
	if (10 * b->major + b->minor < OLDEST)
		return err_set(
			err, INFER_EDEVICE,
			"device %d has compute capability %d.%d, which must be %d.%d or newer",
			b->device, b->major, b->minor, OLDEST / 10, OLDEST % 10);
	return INFER_OK;
}

static int open_device(struct backend *b, infer_error *err)
{
	int rc = cudaSetDevice(b->device);

	TRY(rt_check(rc, "open the device", err));
	TRY(check_device(b, err));
	rc = cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking);
	for (int i = 0; i < 2 && !rc; i++)
		rc = cudaEventCreateWithFlags(&b->staged[i], cudaEventDisableTiming);
	return rt_check(rc, "open the device", err);
}

/* Choose the number of terms of activations (struct gpu_act) for float weights: one (--act-type),
 * or enough for the accuracy of float32. */
static void choose_terms(struct backend *b, const struct host *host)
{
	int bf16 = host->kern.mm[INFER_BF16].form == KERN_FORM_BF16;

	b->terms[GPU_I8] = b->terms[GPU_F32] = 1;
	b->terms[GPU_F16] = bf16 ? 1 : 2;
	b->terms[GPU_BF16] = bf16 ? 1 : 3;
}

static int cuda_open(struct backend **out, const struct host *host, const struct backend_opts *o,
                     infer_error *err)
{
	struct backend *b;
	int rc, n = count_devices(err);

	*out = NULL;
	if (n < 0)
		return INFER_EDEVICE;
	if (o->device < 0 || o->device >= n)
		return err_set(err, INFER_EINVAL, "no device %d: there %s %d", o->device,
		               n == 1 ? "is" : "are", n);
	b = mem_zalloc(MEM_BACKEND, 1, sizeof *b);
	if (!b)
		return err_nomem(err);
	b->host = host;
	b->device = o->device;
	b->loading = o->loading;
	choose_terms(b, host);
	rc = open_device(b, err);
	if (rc) {
		cuda_close(b);
		return rc;
	}
	*out = b;
	return INFER_OK;
}

static void cuda_describe(const struct backend *b, char *out, size_t n)
{
	snprintf(out, n, "sm_%d%d", b->major, b->minor);
}

/* Set *left to the free device memory minus a reserve for uploads, kernels and graphs, and *total
 * to all device memory.  If that fails, both are UINT64_MAX, and the next call reports the
 * error. */
static void cuda_memory(const struct backend *b, uint64_t *left, uint64_t *total)
{
	const size_t reserve = CUDA_STAGES * (size_t)CUDA_STAGE_BYTES + KERNEL_BYTES;
	size_t l = 0, t = 0;

	*left = *total = UINT64_MAX;
	if (cudaSetDevice(b->device) || cudaMemGetInfo(&l, &t)) {
		(void)cudaGetLastError();
		return;
	}
	*left = l > reserve ? l - reserve : 0;
	*total = t;
}

const struct backend_kind backend_cuda = {
	.name = "cuda",
	.page = GPU_PAGE,
	.eager = 1,
	.top = GPU_TOP,
	.open = cuda_open,
	.close = cuda_close,
	.describe = cuda_describe,
	.memory = cuda_memory,
	.need = cuda_need,
	.load = cuda_load,
	.unload = cuda_unload,
	.plan = cuda_plan,
	.plan_free = cuda_plan_free,
	.kv_new = cuda_kv_new,
	.kv_copy = cuda_kv_copy,
	.kv_drop = cuda_kv_drop,
	.kv_save = cuda_kv_save,
	.kv_load = cuda_kv_load,
	.kv_free = cuda_kv_free,
	.begin = cuda_begin,
	.end = cuda_end,
};
