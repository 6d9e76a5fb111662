/* backend/host.c - worker threads and kernels of this machine */
#include "backend/host.h"
#include "base/err.h"
#include "base/pool.h"

#include <stdio.h>

int host_open(struct host *h, int threads, const char *isa, infer_error *err)
{
	uint64_t have = cpu_features();
	struct numa nodes;
	struct pool *pool;

	*h = (struct host){ 0 };
	if (threads < 1 || threads > 1024)
		return err_set(err, INFER_EINVAL, "the number of threads must be 1 to 1024, not %d",
		               threads);
	if (isa)
		TRY(kern_limit(&have, isa, err));
	have = cpu_permit(have); /* must precede the start of threads */
	if (isa)
		TRY(kern_limit(&have, isa, err));
	numa_find(&nodes, "");
	TRY(pool_new_on(&pool, threads, &nodes, err));
	*h = (struct host){ pool, kern_select(have) };
	return INFER_OK;
}

void host_close(struct host *h)
{
	pool_free(h->pool);
	*h = (struct host){ 0 };
}

void host_describe(const struct host *h, char *out, size_t n)
{
	size_t at = 0;

	if (n)
		out[0] = 0;
	for (unsigned i = 0; kern_name(i); i++) {
		if (!(h->kern.used >> i & 1))
			continue;
		int k = snprintf(out + at, n - at, "%s%s", at ? "+" : "", kern_name(i));
		if (k < 0 || (size_t)k >= n - at)
			return;
		at += (size_t)k;
	}
}
