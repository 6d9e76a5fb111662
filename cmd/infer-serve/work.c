/* infer-serve/work.c - the threads that read requests, so that neither connections nor the engine
 * wait for a long prompt. */
#include "infer-serve/serve.h"

void work_put(struct server *s, struct exchange *x)
{
	struct work_queue *q = &s->work;

	x->next_job = NULL;
	if (q->last)
		q->last->next_job = x;
	else
		q->first = x;
	q->last = x;
	pthread_cond_signal(&q->some);
}

/* Under lock: wait for the next; NULL: the server ends. */
static struct exchange *take(struct server *s)
{
	struct work_queue *q = &s->work;
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
		x = take(s);
		pthread_mutex_unlock(&s->lock);
		if (!x)
			return NULL;
		x->endpoint->handle(x);
	}
}
