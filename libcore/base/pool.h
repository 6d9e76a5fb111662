/* base/pool.h - a pool of persistent threads.  Shared, but only one thread may call pool_run at a
 * time.
 *
 * A run calls fn(user, i, worker) for every i in [0, n): worker 0 is the caller.  Each worker gets
 * one contiguous share of the work; a worker that finishes early takes single items from the end of
 * the longest remaining share, if possible of a worker on its own memory node.  Results must not
 * depend on which worker runs an item.  A waiting thread spins for at most 50 us, then sleeps in a
 * futex.  A run does not wait for workers that have not joined it.  fn must not start
 * another run on the same pool.  Workers have stacks of 1 MiB and block all signals except those of
 * their own faults. */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include <pthread.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/numa.h"

struct pool;
typedef void pool_fn(void *user, int64_t i, int worker);

/* Start a pool of 1 ... 1024 threads, including the caller; fewer if the system does not allow more
 * (see pool_threads).  INFER_EINVAL, INFER_ENOMEM. */
int pool_new(struct pool **out, int threads, infer_error *err);
/* The same on a machine with several memory nodes: each node has consecutive workers (numa_node_of)
 * that stay on its processors, so that each run reads the same items on the same node.  The
 * caller's thread is not bound. */
int pool_new_on(struct pool **out, int threads, const struct numa *nodes, infer_error *err);
const struct numa *pool_nodes(const struct pool *p); /* a single node after pool_new */
void pool_free(struct pool *p);                      /* joins the threads; NULL is fine */
int pool_threads(const struct pool *p);
/* Return the number of runs that used several threads; each ended with a barrier. */
uint64_t pool_runs(const struct pool *p);
void pool_run(struct pool *p, int64_t n, pool_fn *fn, void *user); /* allocates nothing */

/* Start a thread outside of any pool, with the stack and the signals of a worker.  Returns an
 * errno, or 0. */
int pool_thread(pthread_t *out, void *(*run)(void *), void *arg);
#endif
