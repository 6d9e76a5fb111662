/* probe/crew.c - run measurements on several threads, in turns of the ceiling and the kernel */
#include "probe/probe.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

struct crew {
	infer_probe *p;
	probe_fn *const *fn;
	struct probe_worker *workers; /* [2][threads] */
	pthread_barrier_t bar;
	pthread_mutex_t gate;
	int over; /* 1: a thread could not be started, all must end */
};
struct member {
	struct crew *crew;
	int32_t id;
	pthread_t thread;
};

static int64_t read_clock(const infer_probe *p)
{
	return p->flags & INFER_PROBE_WALL ? clock_now_ns() : clock_thread_ns();
}

/* Run fn for one turn.  Returns units per second.  Reading a thread's processor time takes about
 * 0.5 us, so several short calls of fn are timed together. */
static double run_turn(const infer_probe *p, probe_fn *fn, struct probe_worker *w)
{
	enum { LOOKS = 16 };
	int64_t from = read_clock(p), t, last = 0;
	double units = 0;

	for (int pieces = 1;;) {
		for (int i = 0; i < pieces; i++)
			units += fn(w);
		t = read_clock(p) - from;
		if (t >= p->turn_ns)
			break;
		if (t - last < p->turn_ns / LOOKS)
			pieces *= 2;
		last = t;
	}
	return units / ((double)t * 1e-9);
}

/* Run the turns of one thread.  The first turn of each function only warms up caches and cores, and
 * its result is dropped. */
static void *member_main(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;
	infer_probe *p = c->p;
	size_t threads = (size_t)p->threads, turns = (size_t)p->repeat + 1;

	pthread_mutex_lock(&c->gate);
	pthread_mutex_unlock(&c->gate);
	for (size_t t = 0; !c->over && t < turns; t++)
		for (size_t i = 0; i < 2 && c->fn[i]; i++) {
			pthread_barrier_wait(&c->bar);
			p->rates[(i * turns + t) * threads + (size_t)m->id] =
				run_turn(p, c->fn[i], &c->workers[i * threads + (size_t)m->id]);
		}
	return NULL;
}

/* Give a worker its share of the memory.  Data read recently may still be in the last-level cache,
 * so each run begins FURTHER bytes after the previous one, and the second function half a share
 * after the first. */
static void worker_init(struct probe_worker *w, const infer_probe *p, int32_t id,
                        const struct probe_memory *m, size_t half, void *job)
{
	enum { FURTHER = 22 << 20 };
	size_t share = m->bytes / (size_t)p->threads / m->grain * m->grain;

	*w = (struct probe_worker){ .p = p, .id = id, .job = job };
	if (!m->from || !share)
		return;
	w->from = m->from + (size_t)id * share;
	w->to = w->from + share;
	w->at = w->from + (p->runs * FURTHER + half * (share / 2)) % share / m->grain * m->grain;
}

/* Run all threads, or none if one cannot be started: they wait at the gate until all have been
 * created. */
static int run_threads(struct crew *c, struct member *m, infer_error *err)
{
	infer_probe *p = c->p;
	int32_t n = 1;
	int rc = 0;

	pthread_mutex_lock(&c->gate);
	for (; !rc && n < p->threads; n++) {
		m[n] = (struct member){ c, n, 0 };
		rc = pthread_create(&m[n].thread, NULL, member_main, &m[n]);
	}
	if (rc)
		n--;
	else
		rc = pthread_barrier_init(&c->bar, NULL, (unsigned)p->threads);
	c->over = rc != 0;
	pthread_mutex_unlock(&c->gate);
	m[0] = (struct member){ c, 0, 0 };
	member_main(&m[0]);
	for (int32_t i = 1; i < n; i++)
		pthread_join(m[i].thread, NULL);
	if (rc)
		return err_errno(err, rc, "cannot start %d threads", (int)p->threads);
	pthread_barrier_destroy(&c->bar);
	return INFER_OK;
}

int probe_run(infer_probe *p, probe_fn *const fn[2], const struct probe_memory mem[2], void *job,
              double *rates[2], infer_error *err)
{
	size_t threads = (size_t)p->threads, turns = (size_t)p->repeat + 1;
	struct crew c = { .p = p, .fn = fn, .gate = PTHREAD_MUTEX_INITIALIZER };
	struct member *m = mem_zalloc(MEM_PLAN, threads, sizeof *m);
	int rc;

	c.workers = mem_aligned(MEM_PLAN, 64, 2 * threads * sizeof *c.workers);
	if (!m || !c.workers) {
		rc = err_set(err, INFER_ENOMEM, "no memory for %d threads", (int)p->threads);
	} else {
		for (int i = 0; i < 2; i++)
			for (int32_t t = 0; t < p->threads; t++)
				worker_init(&c.workers[(size_t)i * threads + (size_t)t], p, t,
				            &mem[i], (size_t)i, job);
		p->runs++;
		rc = run_threads(&c, m, err);
	}
	for (size_t i = 0; !rc && i < 2 && fn[i]; i++)
		for (size_t t = 1; t < turns; t++) {
			double sum = 0;
			for (size_t w = 0; w < threads; w++)
				sum += p->rates[(i * turns + t) * threads + w];
			rates[i][t - 1] = sum;
		}
	mem_free(c.workers);
	mem_free(m);
	return rc;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct infer_rate probe_rate(double *of, int32_t n, double times)
{
	qsort(of, (size_t)n, sizeof *of, ascending);
	double middle = n % 2 ? of[n / 2] : (of[n / 2 - 1] + of[n / 2]) / 2;

	return (struct infer_rate){ middle * times, of[0] * times, of[n - 1] * times };
}
