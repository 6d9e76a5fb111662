/* backend/host.h - worker threads and kernels of this machine, for all work on the CPU.  The engine
 * owns one host and shares it with every backend.  Confined: one pool_run at a time. */
#ifndef BACKEND_HOST_H
#define BACKEND_HOST_H
#include <stddef.h>
#include <infer/status.h>
#include "kern/kern.h"

struct pool;
struct host {
	struct pool *pool;
	struct kern kern;
};

/* Start the threads and select the kernels.
 * threads  1 ... 1024, the caller's included; fewer if the system refuses to start more
 * isa      name of the widest kernel set to use, NULL: the widest that the CPU has
 * INFER_EINVAL: threads is out of range; INFER_EUNSUP names an isa that is unknown or that the CPU
 * lacks; INFER_ENOMEM.  On failure *h is zero. */
int host_open(struct host *h, int threads, const char *isa, infer_error *err);
void host_close(struct host *h); /* accepts a zeroed *h */
/* Write the names of the kernel sets in use, as "ref+avx2". */
void host_describe(const struct host *h, char *out, size_t n);
#endif
