/* engine/queue.c - calls that any thread may make: submit, cancel, wait */
#include "engine/engine.h"
#include "base/err.h"

#include <errno.h>
#include <time.h>

static int queue_full(const infer_engine *e, infer_error *err)
{
	return err_set(err, INFER_EAGAIN, "%d requests are waiting, as many as may",
	               (int)e->max_queue);
}

int infer_engine_submit(infer_engine *e, const struct infer_request *r, uint64_t *id,
                        infer_error *err)
{
	struct request *q;
	uint64_t unasked;
	int rc = INFER_OK;

	id = id ? id : &unasked;
	*id = 0;
	pthread_mutex_lock(&e->lock);
	if (e->n_queued >= e->max_queue)
		rc = queue_full(e, err);
	pthread_mutex_unlock(&e->lock);
	if (rc)
		return rc;
	TRY(request_new(&q, e, r, err));
	pthread_mutex_lock(&e->lock);
	if (e->n_queued >= e->max_queue) {
		rc = queue_full(e, err);
	} else {
		*id = q->id = ++e->last_id;
		sched_queue(e, q);
		atomic_store(&e->newcomer, 1);
		q = NULL;
		pthread_cond_broadcast(&e->wake);
	}
	pthread_mutex_unlock(&e->lock);
	request_free(q);
	return rc;
}

int infer_engine_cancel(infer_engine *e, uint64_t id)
{
	struct request *r;

	pthread_mutex_lock(&e->lock);
	for (r = e->queue; r && r->id != id; r = r->next)
		;
	for (int32_t i = 0; !r && i < e->n_active; i++)
		if (e->active[i]->id == id)
			r = e->active[i];
	if (r)
		r->cancelled = 1;
	pthread_mutex_unlock(&e->lock);
	return r ? INFER_OK : INFER_EINVAL;
}

int infer_engine_busy(const infer_engine *e)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&e->lock;
	int work;

	pthread_mutex_lock(lock);
	work = e->queue || e->n_active;
	pthread_mutex_unlock(lock);
	return work || e->events.read < e->events.n;
}

int infer_engine_wait(infer_engine *e, int64_t timeout_ns)
{
	struct timespec until;
	int work, rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	if (timeout_ns > 0) {
		until.tv_sec += timeout_ns / 1000000000;
		until.tv_nsec += timeout_ns % 1000000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
	}
	pthread_mutex_lock(&e->lock);
	while (!(work = e->queue || e->n_active) && rc != ETIMEDOUT && timeout_ns)
		rc = timeout_ns < 0 ? pthread_cond_wait(&e->wake, &e->lock)
		                    : pthread_cond_timedwait(&e->wake, &e->lock, &until);
	pthread_mutex_unlock(&e->lock);
	return work;
}
