/* infer-serve/ops/work.c - the workers, which read requests: connections and engines do not wait while a
 * long prompt is parsed. */
#include "infer-serve/ops/server.h"

void work_add(struct work_queue *q, struct api_request *r)
{
	r->next = NULL;
	if (q->last)
		q->last->next = r;
	else
		q->first = r;
	q->last = r;
	pthread_cond_signal(&q->some);
}

struct api_request *work_take(struct server *s, struct work_queue *q)
{
	struct api_request *r;

	while (!q->first && !s->stop)
		pthread_cond_wait(&q->some, &s->lock);
	r = q->first;
	if (!r)
		return NULL;
	q->first = r->next;
	if (!q->first)
		q->last = NULL;
	r->next = NULL;
	return r;
}

void *work_thread(void *server)
{
	struct server *s = server;
	struct api_request *r;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		r = work_take(s, &s->work);
		pthread_mutex_unlock(&s->lock);
		if (!r)
			return NULL;
		r->owner->run(r);
	}
}
