/* engine/mask_worker.c - a thread that computes token masks while the model runs a step */
#include "engine/mask_worker.h"
#include "base/mem.h"
#include "base/pool.h"

struct mask_worker {
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t wake, idle;
	void (*fn)(void *user, int32_t i);
	void *user;
	int32_t next, n;
	int busy, stop;
	pthread_t thread;
};

static void *run_worker(void *arg)
{
	struct mask_worker *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		if (b->next == b->n) {
			pthread_cond_wait(&b->wake, &b->lock);
			continue;
		}
		const int32_t i = b->next++;

		b->busy = 1;
		pthread_mutex_unlock(&b->lock);
		b->fn(b->user, i);
		pthread_mutex_lock(&b->lock);
		b->busy = 0;
		pthread_cond_signal(&b->idle);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void free_worker(struct mask_worker *b)
{
	pthread_cond_destroy(&b->idle);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

struct mask_worker *mask_worker_new(void)
{
	struct mask_worker *b = mem_zalloc(MEM_ENGINE, 1, sizeof *b);

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	pthread_cond_init(&b->idle, NULL);
	if (!pool_thread(&b->thread, run_worker, b))
		return b;
	free_worker(b);
	return NULL;
}

void mask_worker_free(struct mask_worker *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = 1;
	pthread_mutex_unlock(&b->lock);
	pthread_cond_signal(&b->wake);
	pthread_join(b->thread, NULL);
	free_worker(b);
}

void mask_worker_begin(struct mask_worker *b, int32_t n, void (*fn)(void *user, int32_t i),
                       void *user)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->fn = fn;
	b->user = user;
	b->next = 0;
	b->n = n;
	pthread_mutex_unlock(&b->lock);
	pthread_cond_signal(&b->wake);
}

void mask_worker_end(struct mask_worker *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->next = b->n;
	while (b->busy)
		pthread_cond_wait(&b->idle, &b->lock);
	pthread_mutex_unlock(&b->lock);
}
