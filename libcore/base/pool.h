/* base/pool.h - threads that stay.  Shared: one run at a time, from the thread that owns the work.
 *
 * A run calls fn(user, i, worker) for every i in [0, n): worker 0 is the caller.  Work is dealt in
 * one contiguous share per worker; who finishes early takes single items from the end of the
 * longest share left.  Which worker runs an item must not matter for the result.  Waiting spins at
 * most 50 us, then sleeps in a futex; a worker that has not come by the time the work is done is
 * not waited for.  A run must not begin another on the same pool.  Workers have stacks of 1 MiB and
 * take no signals but those of their own faults. */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include <stdint.h>
#include <infer/status.h>

struct pool;
typedef void pool_fn(void *user, int64_t i, int worker);

/* threads 1 ... 1024 including the caller; threads are started here.  Where the system gives fewer,
 * the pool has fewer: pool_threads tells.  INFER_EINVAL, INFER_ENOMEM. */
int pool_new(struct pool **out, int threads, infer_error *err);
void pool_free(struct pool *p); /* NULL is fine; joins */
int pool_threads(const struct pool *p);
uint64_t pool_runs(const struct pool *p); /* so far, that were shared out: each ends in a barrier */
void pool_run(struct pool *p, int64_t n, pool_fn *fn, void *user); /* allocates nothing */
#endif
