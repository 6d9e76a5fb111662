/* infer-serve/ops/work.c - the threads that read requests, so that neither connections nor the engine
 * wait for a long prompt. */
#include "infer-serve/serve.h"

void work_add(struct work_queue *q, struct exchange *x)
{
	x->next_job = NULL;
	if (q->last)
		q->last->next_job = x;
	else
		q->first = x;
	q->last = x;
	pthread_cond_signal(&q->some);
}

void work_put(struct server *s, struct exchange *x) { work_add(&s->work, x); }

struct exchange *work_take(struct server *s, struct work_queue *q)
{
	struct exchange *x;

	while (!q->first && !s->stop)
		pthread_cond_wait(&q->some, &s->lock);
	x = q->first;
	if (!x)
		return NULL;
	q->first = x->next_job;
	if (!q->first)
		q->last = NULL;
	x->next_job = NULL;
	return x;
}

void *work_thread(void *server)
{
	struct server *s = server;
	struct exchange *x;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		x = work_take(s, &s->work);
		pthread_mutex_unlock(&s->lock);
		if (!x)
			return NULL;
		if (served_find(x))
			x->is_line ? batches_line(x) : x->endpoint->handle(x);
	}
}
