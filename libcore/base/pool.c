/* base/pool.c - a pool of persistent threads.
 *
 * One atomic word, the gate, contains whether a run is open and the number of workers in it.  A
 * worker joins an open run, works while any share has an item left, and leaves.  The caller closes
 * the run when no item is left, and waits for the workers that joined, but not for those that slept
 * through the run.  So a worker that the kernel does not schedule costs nothing: the others take
 * its share from the end.
 *
 * A share is [begin, end) in one 64-bit word: the owner takes from the front, the others from the
 * end, both by compare and exchange.  Shares are refilled only while no worker is in a run. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SPIN_NS = 50000,
	MOST = 1024,
	STACK_BYTES = 1 << 20, /* 8 MiB each, the default, would exhaust a limit on address space */
	/* bits of the gate: workers in the run, run open, caller asleep, pool ending; the higher
	 * bits are the number of the run */
	INSIDE = 0x7ff,
	OPEN = 0x800,
	CALLER_SLEEPS = 0x1000,
	ENDING = 0x2000,
	RUN = 0x4000,
	/* bits of the futex mask: the threads that a call wakes */
	WORKERS = 1,
	CALLER = 2,
};
#define PART ((int64_t)1 << 31) /* items distributed at a time: the ends of a share have 32 bits */

struct share {
	alignas(128) _Atomic uint64_t range;
};

struct worker {
	struct pool *pool;
	int index, node;
	pthread_t thread;
};

struct pool {
	alignas(128) _Atomic uint32_t gate;
	alignas(128) _Atomic uint32_t sleepers; /* workers that sleep, or are about to */
	alignas(128) pool_fn *fn;
	void *user;
	int64_t base;
	int threads, started;
	uint64_t runs; /* runs for which workers were woken */
	struct share *shares;
	struct worker *workers; /* [threads]; worker 0 is the calling thread */
	struct numa nodes;
};

static void relax(void)
{
#if defined __x86_64__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value, uint32_t who)
{
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, NULL, NULL, who);
}

static void wake(_Atomic uint32_t *word, int most, uint32_t who)
{
	syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, most, NULL, NULL, who);
}

/* Take the first item of a share, or if `last` (not the owner), the last.  -1: it is empty. */
static int64_t take_item(struct share *s, int last)
{
	uint64_t r = atomic_load_explicit(&s->range, memory_order_relaxed);

	for (;;) {
		uint64_t begin = r >> 32, end = r & UINT32_MAX, rest;

		if (begin >= end)
			return -1;
		rest = last ? begin << 32 | (end - 1) : (begin + 1) << 32 | end;
		if (atomic_compare_exchange_weak_explicit(&s->range, &r, rest, memory_order_relaxed,
		                                          memory_order_relaxed))
			return (int64_t)(last ? end - 1 : begin);
	}
}

/* Return the share with the most items left, preferably of a worker on `node`; NULL: none. */
static struct share *longest_share(struct pool *p, int node)
{
	struct share *best = NULL;
	uint64_t most = 0;

	for (int i = 0; i < p->threads; i++) {
		uint64_t r = atomic_load_explicit(&p->shares[i].range, memory_order_relaxed);
		uint64_t begin = r >> 32, end = r & UINT32_MAX, rank;

		if (begin >= end)
			continue;
		rank = (end - begin) | (uint64_t)(p->workers[i].node == node) << 32;
		if (rank > most) {
			most = rank;
			best = &p->shares[i];
		}
	}
	return best;
}

static void run_items(struct pool *p, int index)
{
	struct share *s;
	int64_t i;

	while ((i = take_item(&p->shares[index], 0)) >= 0)
		p->fn(p->user, p->base + i, index);
	while ((s = longest_share(p, p->workers[index].node)))
		if ((i = take_item(s, 1)) >= 0)
			p->fn(p->user, p->base + i, index);
}

/* True if the pool ends, or a run is open that the worker has not joined (seen: number of the last
 * run it joined).  A worker may miss one run when the numbers wrap around. */
static int may_enter(uint32_t g, uint32_t seen)
{
	return g & ENDING || (g & OPEN && g / RUN != seen);
}

/* Wait for a run to join, and join it.  Returns the value of the gate at that time. */
static uint32_t join(struct pool *p, uint32_t seen)
{
	uint32_t g = atomic_load_explicit(&p->gate, memory_order_acquire);
	int64_t until = 0;

	for (unsigned turn = 1;; turn++) {
		if (may_enter(g, seen)) {
			if (atomic_compare_exchange_weak_explicit(&p->gate, &g, g + 1,
			                                          memory_order_acquire,
			                                          memory_order_acquire))
				return g;
			continue;
		}
		if (turn % 64 == 0) { /* reading the clock takes about as long as one pause */
			int64_t now = clock_now_ns();

			if (!until)
				until = now + SPIN_NS;
			if (now >= until) {
				atomic_fetch_add(&p->sleepers, 1);
				g = atomic_load(&p->gate);
				if (!may_enter(g, seen))
					sleep_on(&p->gate, g, WORKERS);
				atomic_fetch_sub(&p->sleepers, 1);
			}
		}
		relax();
		g = atomic_load_explicit(&p->gate, memory_order_acquire);
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	uint32_t g, seen = 0;

	for (;;) {
		g = join(p, seen);
		if (g & ENDING)
			return NULL;
		seen = g / RUN;
		run_items(p, w->index);
		g = atomic_fetch_sub_explicit(&p->gate, 1, memory_order_release) - 1;
		if (g & CALLER_SLEEPS && !(g & INSIDE))
			wake(&p->gate, 1, CALLER);
	}
}

/* Start the next run (how: OPEN, or ENDING for the last one), and wake up to `most` sleeping
 * workers. */
static void open_gate(struct pool *p, uint32_t how, int most)
{
	uint32_t g = atomic_load_explicit(&p->gate, memory_order_relaxed);

	atomic_store(&p->gate, (g / RUN + 1) * RUN | how);
	if (atomic_load(&p->sleepers))
		wake(&p->gate, most, WORKERS);
}

/* Close the run, and wait until all workers have left it. */
static void close_gate(struct pool *p)
{
	uint32_t g = atomic_fetch_and_explicit(&p->gate, ~(uint32_t)OPEN, memory_order_acquire) &
	             ~(uint32_t)OPEN;
	int64_t until = 0;

	for (unsigned turn = 1; g & INSIDE; turn++) {
		if (turn % 64 == 0) {
			int64_t now = clock_now_ns();

			if (!until)
				until = now + SPIN_NS;
			if (now >= until) {
				g = atomic_fetch_or(&p->gate, CALLER_SLEEPS) | CALLER_SLEEPS;
				if (g & INSIDE)
					sleep_on(&p->gate, g, CALLER);
			}
		}
		relax();
		g = atomic_load_explicit(&p->gate, memory_order_acquire);
	}
}

void pool_run(struct pool *p, int64_t n, pool_fn *fn, void *user)
{
	if (p->threads == 1 || n <= 1) {
		for (int64_t i = 0; i < n; i++)
			fn(user, i, 0);
		return;
	}
	must(!(atomic_load_explicit(&p->gate, memory_order_relaxed) & (OPEN | INSIDE)));
	p->fn = fn;
	p->user = user;
	p->runs++;
	for (p->base = 0; n > 0; p->base += PART, n -= PART) {
		uint64_t part = (uint64_t)(n < PART ? n : PART), t = (uint64_t)p->threads;

		for (uint64_t i = 0; i < t; i++)
			atomic_store_explicit(&p->shares[i].range,
			                      part * i / t << 32 | part * (i + 1) / t,
			                      memory_order_relaxed);
		open_gate(p, OPEN, (int)(part < t ? part - 1 : t - 1));
		run_items(p, 0);
		close_gate(p);
	}
}

uint64_t pool_runs(const struct pool *p) { return p->runs; }

int pool_threads(const struct pool *p) { return p->threads; }

const struct numa *pool_nodes(const struct pool *p) { return &p->nodes; }

/* Start a worker; on_node: bind it to the processors of its node.  It cannot bind itself later: the
 * process may have dropped that right by then (base/sandbox.h). */
static int start_worker(struct worker *w, int on_node)
{
	uint64_t mask[NUMA_WORDS];
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!rc && on_node && numa_mask(&w->pool->nodes, w->node, mask))
		rc = pthread_attr_setaffinity_np(&attr, sizeof mask, (cpu_set_t *)(void *)mask);
	if (!rc)
		rc = pthread_create(&w->thread, &attr, worker_main, w);
	pthread_attr_destroy(&attr);
	return rc;
}

/* Block all signals except faults: the callers' threads handle them. */
static void without_signals(sigset_t *old)
{
	sigset_t most;

	sigfillset(&most);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGFPE);
	sigdelset(&most, SIGILL);
	sigdelset(&most, SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &most, old);
}

/* Start the workers; they do not read p->threads before the first run. */
static void start_workers(struct pool *p)
{
	sigset_t old;
	int rc = 0;

	without_signals(&old);
	for (int i = 1; i < p->threads && !rc; i++) {
		struct worker *w = &p->workers[i];

		*w = (struct worker){ p, i, numa_node_of(&p->nodes, i, p->threads), 0 };
		rc = start_worker(w, 1);
		if (rc == EINVAL && p->nodes.n > 1) /* the processors of its node are now offline */
			rc = start_worker(w, 0);
		p->started += !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->threads = p->started + 1;
}

int pool_thread(pthread_t *out, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t old;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
	without_signals(&old);
	if (!rc)
		rc = pthread_create(out, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

int pool_new(struct pool **out, int threads, infer_error *err)
{
	return pool_new_on(out, threads, &(struct numa){ .n = 1 }, err);
}

int pool_new_on(struct pool **out, int threads, const struct numa *nodes, infer_error *err)
{
	struct pool *p;

	*out = NULL;
	if (threads < 1 || threads > MOST)
		return err_set(err, INFER_EINVAL, "%d threads, not in 1 ... %d", threads, MOST);
	p = mem_aligned(MEM_BASE, alignof(struct pool), sizeof *p);
	if (!p)
		return err_set(err, INFER_ENOMEM, "no memory for a pool of threads");
	*p = (struct pool){ .threads = threads, .nodes = *nodes };
	p->shares =
		mem_aligned(MEM_BASE, alignof(struct share), (size_t)threads * sizeof *p->shares);
	p->workers = mem_zalloc(MEM_BASE, (size_t)threads, sizeof *p->workers);
	if (!p->shares || !p->workers) {
		pool_free(p);
		return err_set(err, INFER_ENOMEM, "no memory for a pool of %d threads", threads);
	}
	for (int i = 0; i < threads; i++)
		atomic_init(&p->shares[i].range, 0);
	start_workers(p);
	*out = p;
	return INFER_OK;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	open_gate(p, ENDING, MOST);
	for (int i = 1; i <= p->started; i++)
		pthread_join(p->workers[i].thread, NULL);
	mem_free(p->workers);
	mem_free(p->shares);
	mem_free(p);
}
