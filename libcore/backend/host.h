/* backend/host.h - the machine that runs this process: its threads and its kernels, for whatever is
 * computed outside a device.  The engine owns one and lends it to every backend.  Confined: one run
 * of the pool at a time. */
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

/* threads 1 ... 1024, the caller's included; isa: the widest kernel set to use, NULL: all.  Where
 * the system gives fewer threads the pool has fewer.
 * INFER_EINVAL: threads; INFER_EUNSUP: isa, by name; INFER_ENOMEM.  On failure *h is zero. */
int host_open(struct host *h, int threads, const char *isa, infer_error *err);
void host_close(struct host *h);                               /* a zeroed *h is fine */
void host_describe(const struct host *h, char *out, size_t n); /* kernel sets: "ref+avx2" */
#endif
