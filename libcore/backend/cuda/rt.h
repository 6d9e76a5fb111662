/* backend/cuda/rt.h (private) - calls of the CUDA runtime, checked.  Each returns INFER_OK,
 * INFER_ENOMEM if there is too little memory, or INFER_EDEVICE.  The message is "cannot <what>:
 * ...". */
#ifndef BACKEND_CUDA_RT_H
#define BACKEND_CUDA_RT_H
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <infer/status.h>

/* Convert rc, a cudaError_t, to an INFER_ code and clear the runtime's last error.  what: the
 * action that failed, as in "upload weights". */
int rt_check(int rc, const char *what, infer_error *err);
/* Allocate device memory and store its address in the pointer at `at`: NULL if that fails. */
int rt_alloc(void *at, size_t bytes, const char *what, infer_error *err);
void rt_free(void *at);
/* Allocate pinned host memory likewise.  The device copies from and to it at full rate. */
int rt_pinned(void *at, size_t bytes, const char *what, infer_error *err);
void rt_pinned_free(void *at);
#endif
