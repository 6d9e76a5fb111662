/* common/progress.c - the progress line on a terminal. */
#include "common/progress.h"
#include "common/env.h"
#include "common/file.h"
#include "common/say.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define TURN_NS (200 * MS)     /* period of the thread */
#define FIRST_NS (500 * MS)    /* work that ends earlier shows no line */
#define STOPPED_NS (2000 * MS) /* after a longer pause between two turns, the process was stopped */
enum { LINE = 256, STACK = 128 << 10 };
#define WIPE "\r\033[K"

static struct {
	pthread_mutex_t lock; /* protects this struct and writes to the terminal */
	pthread_cond_t wake;
	int tried, runs, active;
	char what[96];
	enum progress_unit unit;
	/* time of the thread's last turn; no line is drawn before due_ns */
	int64_t turn_ns, due_ns;
	struct meter done, tokens;
} now = { .lock = PTHREAD_MUTEX_INITIALIZER };
static atomic_int shown; /* 1: a line is on the terminal */
/* Stored by the working threads, read by the progress thread. counts_tokens: progress_requests was called. */
static atomic_uint_least64_t done, all, failed, tokens;
static atomic_int counts_tokens;
/* Main thread only: units of the whole work; the range that progress_at reports. */
static uint64_t whole, part_from, part_to;

/* True if the process is in the background of its terminal. */
static int is_background(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front > 0 && front != getpgrp();
}

/* Return the number of columns that the line may use. */
static size_t terminal_width(void)
{
	struct winsize w;

	/* the last column stays free: terminals differ in when they wrap */
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 2 ? 79 : w.ws_col - 1u;
}

static void draw_line(int64_t at)
{
	char out[LINE + 8] = "\r";
	struct progress_view v = {
		.what = now.what,
		.unit = now.unit,
		.done = atomic_load(&done),
		.all = atomic_load(&all),
		.failed = atomic_load(&failed),
		.rates = now.unit,
		.rate = meter_rate(&now.done),
	};

	if (atomic_load(&counts_tokens)) {
		v.rates = PROGRESS_TOKENS;
		v.rate = meter_rate(&now.tokens);
	}
	v.left_s = v.all ? meter_left(&now.done, at, v.all) : -1;
	size_t n = 1 + progress_line(out + 1, LINE, &v, terminal_width());

	memcpy(out + n, "\033[K", 3);
	if (!file_put(STDERR_FILENO, out, n + 3))
		atomic_store(&shown, 1);
}

static void redraw(void)
{
	int64_t at = clock_now_ns(), gap = at - now.turn_ns;

	now.turn_ns = at;
	if (gap > STOPPED_NS) {
		meter_shift(&now.done, gap - TURN_NS);
		meter_shift(&now.tokens, gap - TURN_NS);
	}
	meter_put(&now.done, at, atomic_load(&done));
	meter_put(&now.tokens, at, atomic_load(&tokens));
	if (at >= now.due_ns && !is_background())
		draw_line(at);
}

static void *run_thread(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&now.lock);
	for (;;) {
		if (!now.active) {
			pthread_cond_wait(&now.wake, &now.lock);
			continue;
		}
		int64_t until = now.turn_ns + TURN_NS;
		struct timespec t = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

		if (clock_now_ns() < until)
			pthread_cond_timedwait(&now.wake, &now.lock, &t);
		else
			redraw();
	}
	return NULL;
}

/* Start the progress thread with all signals blocked: the main thread handles them. */
static void start_thread(void)
{
	pthread_attr_t attr;
	pthread_condattr_t c;
	pthread_t t;
	sigset_t every, was;

	if (pthread_condattr_init(&c))
		return;
	pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
	int rc = pthread_cond_init(&now.wake, &c);

	pthread_condattr_destroy(&c);
	if (rc || pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, &was);
	now.runs = !pthread_create(&t, &attr, run_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&attr);
}

void progress_open(void)
{
	if (now.tried || say_verbosity() < 0 || !(env_terminal(STDERR_FILENO) & ENV_ESCAPES))
		return;
	now.tried = 1;
	start_thread();
}

void progress_begin(const char *what, enum progress_unit unit, uint64_t n)
{
	progress_open();
	if (!now.runs)
		return;
	whole = n;
	part_from = part_to = 0;
	atomic_store(&done, 0);
	atomic_store(&all, n);
	atomic_store(&failed, 0);
	atomic_store(&tokens, 0);
	atomic_store(&counts_tokens, 0);
	pthread_mutex_lock(&now.lock);
	now.done = (struct meter){ .whole = unit == PROGRESS_ITEMS };
	now.tokens = (struct meter){ .n = 0 };
	snprintf(now.what, sizeof now.what, "%s", what);
	now.unit = unit;
	if (!now.active) {
		now.turn_ns = clock_now_ns();
		now.due_ns = now.turn_ns + FIRST_NS;
		now.active = 1;
	}
	pthread_cond_signal(&now.wake);
	pthread_mutex_unlock(&now.lock);
}

void progress_name(const char *fmt, ...)
{
	va_list ap;

	if (!now.runs)
		return;
	pthread_mutex_lock(&now.lock);
	va_start(ap, fmt);
	vsnprintf(now.what, sizeof now.what, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&now.lock);
}

void progress_part(uint64_t from, uint64_t to)
{
	part_from = from;
	part_to = to;
}

void progress_at(void *user, uint64_t d, uint64_t n)
{
	(void)user;
	if (part_to > part_from) {
		double share = n ? (double)d / (double)n : 1;

		d = part_from + (uint64_t)(share * (double)(part_to - part_from));
		n = whole;
	}
	atomic_store_explicit(&all, n, memory_order_relaxed);
	atomic_store_explicit(&done, d, memory_order_relaxed);
}

void progress_requests(uint64_t n_failed, uint64_t n_tokens)
{
	atomic_store(&counts_tokens, 1);
	atomic_store(&failed, n_failed);
	atomic_store(&tokens, n_tokens);
}

/* Erase the line, if it is shown. Caller holds the lock. */
static void erase_line(void)
{
	if (atomic_exchange(&shown, 0))
		(void)file_put(STDERR_FILENO, WIPE, strlen(WIPE));
}

void progress_wipe(void)
{
	if (!now.runs)
		return;
	pthread_mutex_lock(&now.lock);
	erase_line();
	int64_t due = clock_now_ns() + TURN_NS;

	if (now.due_ns < due)
		now.due_ns = due;
	pthread_mutex_unlock(&now.lock);
}

void progress_wipe_for(int fd)
{
	if (now.runs && isatty(fd))
		progress_wipe();
}

void progress_end(void)
{
	if (!now.runs)
		return;
	pthread_mutex_lock(&now.lock);
	erase_line();
	now.active = 0;
	pthread_mutex_unlock(&now.lock);
}

const char *progress_wiper(void) { return atomic_load(&shown) ? WIPE : ""; }
