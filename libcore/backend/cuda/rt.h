/* backend/cuda/rt.h (private) - calls of the CUDA runtime, checked.  Each returns an INFER_ code:
 * INFER_ENOMEM if memory is short, else INFER_EDEVICE; the message names the action that failed. */
#ifndef BACKEND_CUDA_RT_H
#define BACKEND_CUDA_RT_H
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <infer/status.h>

/* Convert a runtime error to an INFER_ code and clear it.  what: the action, "upload weights". */
int rt_check(int rc, const char *what, infer_error *err);
/* Allocate memory of the device.  The message of INFER_ENOMEM has the free bytes. */
int rt_alloc(void *at, size_t bytes, const char *what, infer_error *err);
void rt_free(void *at);
/* Allocate pinned memory of the host: the device copies from and to it at full rate. */
int rt_pinned(void *at, size_t bytes, const char *what, infer_error *err);
void rt_pinned_free(void *at);
#endif
