/* base/ahead.c - threads that read mapped files ahead of their use.
 *
 * `reached` is the progress of the computation: the bytes of all steps before its current one.  A
 * thread that is too far beyond it waits; bytes before it were used and are skipped. */
#include "base/ahead.h"
#include "base/mem.h"
#include "base/os.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

enum {
	LOOK = 2 << 20, /* bytes read between tests whether the next page is in memory */
	READ = 8 << 20, /* bytes per read: long enough for the disk, short enough to stop soon */
	STACK_BYTES = 256 << 10,
};
#define NOT_BEGUN UINT64_MAX

struct part {
	struct ahead_part p;
	uint64_t before; /* total bytes of the preceding parts */
};

struct reader {
	struct ahead *a;
	int node;
	/* share of every step: workers [from, to) of `all` run on this thread's node */
	int from, to, all;
	pthread_t thread;
};

struct ahead {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	uint64_t reached, most; /* reached: guarded by lock */
	int stop;               /* guarded by lock */
	atomic_int running;     /* threads that have not ended */
	_Atomic uint64_t bytes;
	struct part *parts;
	struct reader *readers;
	int n_parts, n_readers, joined, step;
};

/* Wait until byte `at` may be read.  Returns `reached`; NOT_BEGUN: the thread must end. */
static uint64_t wait_for(struct ahead *a, uint64_t at)
{
	uint64_t reached;

	pthread_mutex_lock(&a->lock);
	while (!a->stop &&
	       (a->reached == NOT_BEGUN || (at > a->reached && at - a->reached >= a->most)))
		pthread_cond_wait(&a->wake, &a->lock);
	reached = a->stop ? NOT_BEGUN : a->reached;
	pthread_mutex_unlock(&a->lock);
	return reached;
}

/* Return the offset, at most `to`, of the next address that is a multiple of `size`. */
static size_t next_end(const struct part *p, size_t from, size_t to, size_t size)
{
	size_t end = from + size - (size_t)(p->p.at + from) % size;

	return end < to ? end : to;
}

/* Read bytes [from, to) of a part, but skip each LOOK bytes whose first page is in memory: page
 * faults cost the computation less than filling page tables here.  Returns 0: the thread must
 * end. */
static int read_part(struct ahead *a, const struct part *p, size_t from, size_t to)
{
	while (from < to) {
		uint64_t reached = wait_for(a, p->before + from);
		size_t end = next_end(p, from, to, LOOK);
		enum os_brought first;

		if (reached == NOT_BEGUN)
			return 0;
		if (p->before + p->p.bytes > reached) {
			first = os_populate(p->p.at + from, 1);
			if (first == OS_READ) {
				end = next_end(p, from, to, READ);
				first = os_populate(p->p.at + from, end - from);
				atomic_fetch_add(&a->bytes, end - from);
			}
			if (first == OS_FAILED)
				return 0;
		}
		from = end;
	}
	return 1;
}

/* Read this thread's share of parts [i, end), all of one step. */
static int read_step(const struct reader *r, int i, int end)
{
	const struct part *parts = r->a->parts;
	uint64_t first = parts[i].before,
		 bytes = parts[end - 1].before + parts[end - 1].p.bytes - first,
		 lo = first + bytes / (unsigned)r->all * (unsigned)r->from,
		 hi = r->to == r->all ? first + bytes
	                              : first + bytes / (unsigned)r->all * (unsigned)r->to;

	for (; i < end; i++) {
		uint64_t before = parts[i].before, past = before + parts[i].p.bytes;
		size_t from = lo > before ? (size_t)(lo - before) : 0,
		       to = (size_t)((hi < past ? hi : past) - before);

		if (lo < past && hi > before && !read_part(r->a, &parts[i], from, to))
			return 0;
	}
	return 1;
}

static void *reader_main(void *arg)
{
	const struct reader *r = arg;
	struct ahead *a = r->a;

	for (int i = 0, end; i < a->n_parts; i = end) {
		for (end = i + 1; end < a->n_parts && a->parts[end].p.step == a->parts[i].p.step;)
			end++;
		if (!read_step(r, i, end))
			break;
	}
	atomic_fetch_sub(&a->running, 1);
	return NULL;
}

static int start_reader(struct reader *r, const struct numa *nodes)
{
	uint64_t mask[NUMA_WORDS];
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!rc && numa_mask(nodes, r->node, mask))
		rc = pthread_attr_setaffinity_np(&attr, sizeof mask, (cpu_set_t *)(void *)mask);
	if (!rc)
		rc = pthread_create(&r->thread, &attr, reader_main, r);
	pthread_attr_destroy(&attr);
	return rc;
}

/* Start a thread for every node with workers; failures to start are ignored. */
static void start_readers(struct ahead *a, const struct numa *nodes, int threads)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (int from = 0, to; from < threads; from = to) {
		struct reader *r = &a->readers[a->n_readers];
		int node = numa_node_of(nodes, from, threads);

		for (to = from + 1; to < threads && numa_node_of(nodes, to, threads) == node;)
			to++;
		*r = (struct reader){ a, node, from, to, threads, 0 };
		atomic_fetch_add(&a->running, 1);
		if (!start_reader(r, nodes))
			a->n_readers++;
		else
			atomic_fetch_sub(&a->running, 1);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct ahead *ahead_new(const struct ahead_part *parts, int n, uint64_t most,
                        const struct numa *nodes, int threads)
{
	struct ahead *a = n > 0 ? mem_zalloc(MEM_BASE, 1, sizeof *a) : NULL;
	uint64_t before = 0;

	if (!a)
		return NULL;
	a->parts = mem_alloc(MEM_BASE, (size_t)n, sizeof *a->parts);
	a->readers = mem_zalloc(MEM_BASE, (size_t)nodes->n, sizeof *a->readers);
	if (!a->parts || !a->readers) {
		mem_free(a->parts);
		mem_free(a->readers);
		mem_free(a);
		return NULL;
	}
	for (int i = 0; i < n; i++) {
		a->parts[i] = (struct part){ parts[i], before };
		before += parts[i].bytes;
	}
	a->n_parts = n;
	a->most = most;
	a->reached = NOT_BEGUN;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	start_readers(a, nodes, threads);
	return a;
}

void ahead_reach(struct ahead *a, int step)
{
	int i = 0, hi;

	if (!a || !atomic_load_explicit(&a->running, memory_order_relaxed))
		return;
	for (hi = a->n_parts; i < hi;) { /* find the first part of this or a later step */
		int mid = (i + hi) / 2;

		if (a->parts[mid].p.step < step)
			i = mid + 1;
		else
			hi = mid;
	}
	pthread_mutex_lock(&a->lock);
	a->reached = i < a->n_parts ? a->parts[i].before
	                            : a->parts[i - 1].before + a->parts[i - 1].p.bytes;
	pthread_mutex_unlock(&a->lock);
	pthread_cond_broadcast(&a->wake);
}

void ahead_wait(struct ahead *a)
{
	for (; a && a->joined < a->n_readers; a->joined++)
		pthread_join(a->readers[a->joined].thread, NULL);
}

uint64_t ahead_bytes(const struct ahead *a) { return a ? atomic_load(&a->bytes) : 0; }

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = 1;
	pthread_mutex_unlock(&a->lock);
	pthread_cond_broadcast(&a->wake);
	ahead_wait(a);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	mem_free(a->readers);
	mem_free(a->parts);
	mem_free(a);
}
