/* infer-serve/ops/work.h - queues of requests, and the workers that handle them. */
#ifndef INFER_SERVE_OPS_WORK_H
#define INFER_SERVE_OPS_WORK_H
#include <pthread.h>

struct api_request;
struct server;

struct work_queue {
	/* signalled when the queue is not empty, or the server stops */
	pthread_cond_t some;
	struct api_request *first, *last; /* linked by next */
};
enum { WORKERS = 2 };
/* Run a worker until the server stops.  Returns NULL. */
void *work_thread(void *server);
/* Append r.  Caller holds the server's lock. */
void work_add(struct work_queue *q, struct api_request *r);
/* Remove the first request, waiting for one.  NULL if the server stops.  Caller holds the lock. */
struct api_request *work_take(struct server *s, struct work_queue *q);
#endif
