/* backend/cuda/rt.c - calls of the CUDA runtime, checked. */
#include "backend/cuda/rt.h"
#include "base/err.h"

enum { MIB = 1 << 20 };

int rt_check(int rc, const char *what, infer_error *err)
{
	if (!rc)
		return INFER_OK;
	(void)cudaGetLastError();
	if (rc == cudaErrorMemoryAllocation)
		return err_set(err, INFER_ENOMEM, "cannot %s: the device is out of memory", what);
	return err_set(err, INFER_EDEVICE, "cannot %s: %s (%s)", what,
	               cudaGetErrorString((cudaError_t)rc), cudaGetErrorName((cudaError_t)rc));
}

int rt_alloc(void *at, size_t bytes, const char *what, infer_error *err)
{
	size_t left = 0, total = 0;
	void *p = NULL;
	int rc = cudaMalloc(&p, bytes ? bytes : 1);

	*(void **)at = p;
	if (rc != cudaErrorMemoryAllocation)
		return rt_check(rc, what, err);
	(void)cudaGetLastError();
	if (cudaMemGetInfo(&left, &total))
		left = 0;
	(void)cudaGetLastError();
	return err_set(err, INFER_ENOMEM, "cannot %s: %zu MiB are needed, %zu MiB are free", what,
	               bytes / MIB + 1, left / MIB);
}

void rt_free(void *at)
{
	if (at && cudaFree(at))
		(void)cudaGetLastError();
}

int rt_pinned(void *at, size_t bytes, const char *what, infer_error *err)
{
	void *p = NULL;
	int rc = cudaHostAlloc(&p, bytes ? bytes : 1, cudaHostAllocDefault);

	*(void **)at = p;
	if (rc != cudaErrorMemoryAllocation)
		return rt_check(rc, what, err);
	(void)cudaGetLastError();
	return err_set(err, INFER_ENOMEM, "cannot %s: no %zu MiB of pinned host memory", what,
	               bytes / MIB + 1);
}

void rt_pinned_free(void *at)
{
	if (at && cudaFreeHost(at))
		(void)cudaGetLastError();
}
