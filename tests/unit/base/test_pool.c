/* tests/unit/base/test_pool.c - threads: every item is computed once, whatever the timing. */
#include "../left_out.h"
#include "../nth.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct tally {
	_Atomic uint32_t *seen; /* [n] how often each item was run */
	_Atomic int strange;    /* worker numbers out of range */
	int threads;
	/* [worker], written without a lock: a race shows under the thread sanitizer */
	unsigned plain[64];
};

static void count_item(void *user, int64_t i, int worker)
{
	struct tally *t = user;

	atomic_fetch_add_explicit(&t->seen[i], 1, memory_order_relaxed);
	if (worker < 0 || worker >= t->threads)
		t->strange++;
	else
		t->plain[worker]++;
}

/* Every item once, for pools and runs of many sizes. */
static int case_each_once(void)
{
	static const int sizes[] = { 1, 2, 3, 8 };
	static const int64_t runs[] = { 0, 1, 2, 3, 7, 8, 9, 64, 1000, -5 };
	static _Atomic uint32_t seen[1000];
	struct pool *p = NULL;
	int rc;

	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		struct tally t = { .seen = seen, .threads = sizes[k] };
		uint64_t calls, sum = 0, want = 0;

		nth_ok(pool_new(&p, sizes[k], NULL));
		assert_int_equal(pool_threads(p), sizes[k]);
		calls = mem_calls_all();
		for (int again = 0; again < 20; again++)
			for (size_t j = 0; j < sizeof runs / sizeof *runs; j++) {
				memset(seen, 0, sizeof seen);
				pool_run(p, runs[j], count_item, &t);
				for (int64_t i = 0; i < 1000; i++)
					assert_int_equal(seen[i], i < runs[j]);
				want += runs[j] > 0 ? (uint64_t)runs[j] : 0;
			}
		assert_int_equal(t.strange, 0);
		for (int i = 0; i < sizes[k]; i++)
			sum += t.plain[i];
		assert_int_equal(sum, want);
		assert_int_equal(mem_calls_all(), calls); /* a run allocates nothing */
		pool_free(p);
		p = NULL;
	}
out:
	assert_null(p);
	return rc;
}

/* What one run wrote without locks, the next reads, on whatever thread. */
struct chain {
	int64_t n;
	uint32_t *from, *to;
};

static void step_item(void *user, int64_t i, int worker)
{
	const struct chain *c = user;

	(void)worker;
	c->to[i] = c->from[(i + 1) % c->n] + c->from[(i + c->n - 1) % c->n] + 1;
}

static void test_results_are_seen(void **state)
{
	enum { N = 37, STEPS = 3000 };
	uint32_t a[2][N], b[2][N];
	struct pool *p;

	(void)state;
	for (int i = 0; i < N; i++)
		a[0][i] = b[0][i] = (uint32_t)i * 2654435761u;
	assert_int_equal(pool_new(&p, 4, NULL), 0);
	for (int s = 0; s < STEPS; s++) {
		struct chain c = { N, a[s & 1], a[~s & 1] }, d = { N, b[s & 1], b[~s & 1] };

		pool_run(p, N, step_item, &c);
		for (int i = 0; i < N; i++)
			step_item(&d, i, 0);
	}
	assert_memory_equal(a, b, sizeof a);
	pool_free(p);
}

/* One item is slow: whoever is done takes the rest of its owner's share, so the others do not wait
 * for it. */
struct slow {
	_Atomic int done;
	int meanwhile; /* of the other 15, how many were done while the slow one ran */
};

static void slow_item(void *user, int64_t i, int worker)
{
	struct slow *s = user;

	(void)worker;
	if (i == 0) {
		for (int k = 0; k < 60000 && s->done < 15; k++) /* a minute at most */
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		s->meanwhile = s->done;
	} else {
		s->done++;
	}
}

static void test_stealing(void **state)
{
	struct slow s = { 0 };
	struct pool *p;

	(void)state;
	assert_int_equal(pool_new(&p, 2, NULL), 0);
	pool_run(p, 16, slow_item, &s);
	assert_int_equal(s.meanwhile, 15);
	pool_free(p);
}

/* Waiting must end in sleep: an idle pool takes next to no processor time. */
static void test_idle(void **state)
{
	static _Atomic uint32_t seen[8];
	struct tally t = { .seen = seen, .threads = 8 };
	struct rusage from, to;
	struct pool *p;
	double ms;

	(void)state;
	assert_int_equal(pool_new(&p, 8, NULL), 0);
	pool_run(p, 8, count_item, &t);
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	getrusage(RUSAGE_SELF, &from);
	nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
	getrusage(RUSAGE_SELF, &to);
	ms = (double)(to.ru_utime.tv_sec + to.ru_stime.tv_sec - from.ru_utime.tv_sec -
	              from.ru_stime.tv_sec) *
	             1e3 +
	     (double)(to.ru_utime.tv_usec + to.ru_stime.tv_usec - from.ru_utime.tv_usec -
	              from.ru_stime.tv_usec) *
	             1e-3;
	assert_true(ms < 60); /* spinning, it would be 2100 on eight cores, 300 on one */
	pool_run(p, 8, count_item, &t);
	for (int i = 0; i < 8; i++)
		assert_int_equal(seen[i], 2);
	pool_free(p);
}

static void check_mask(void *user, int64_t i, int worker)
{
	sigset_t set;

	(void)i;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (worker && (!sigismember(&set, SIGINT) || sigismember(&set, SIGBUS)))
		++*(_Atomic int *)user;
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void test_signals(void **state)
{
	_Atomic int wrong = 0;
	struct pool *p;
	sigset_t set;

	(void)state;
	assert_int_equal(pool_new(&p, 3, NULL), 0);
	pool_run(p, 12, check_mask, (void *)&wrong);
	assert_int_equal(wrong, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &set); /* ours is as it was */
	assert_false(sigismember(&set, SIGINT));
	pool_free(p);
}

static void test_arguments(void **state)
{
	struct pool *p = (struct pool *)state; /* not NULL */
	infer_error err = { 0 };

	assert_int_equal(pool_new(&p, 0, &err), INFER_EINVAL);
	assert_null(p);
	assert_int_equal(err.code, INFER_EINVAL);
	assert_int_equal(pool_new(&p, 1025, NULL), INFER_EINVAL);
	pool_free(NULL);
}

static void count_up(void *user, int64_t i, int worker)
{
	(void)i, (void)worker;
	atomic_fetch_add((_Atomic int *)user, 1);
}

/* Threads that cannot be started: those that could do the work. */
static void test_no_threads(void **state)
{
	_Atomic int done = 0;
	struct rlimit r;
	struct os_limits l;
	struct pool *p;
	infer_error err = { 0 };
	int status;
	pid_t pid;

	(void)state;
	if (NTH_SANITIZED)
		left_out("needs a build without sanitizers, which end without address space");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		getrlimit(RLIMIT_AS, &r);
		r.rlim_cur = (rlim_t)1 << 40;
		setrlimit(RLIMIT_AS, &r);
		os_limits(&l);
		/* room for some stacks, not for 200 */
		r.rlim_cur -= l.address_bytes - ((rlim_t)20 << 20);
		setrlimit(RLIMIT_AS, &r);
		if (pool_new(&p, 200, &err) || pool_threads(p) < 2 || pool_threads(p) >= 200)
			_exit(1);
		pool_run(p, 1000, count_up, &done);
		pool_free(p);
		_exit(done == 1000 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_each_once),          cmocka_unit_test(test_results_are_seen),
		cmocka_unit_test(test_stealing),   cmocka_unit_test(test_idle),
		cmocka_unit_test(test_signals),    cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_no_threads),
	};
	return nth_group(tests);
}
