#include "watch.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t came[NSIG], wake_fd = -1;

static void note(int sig)
{
	int was = errno;

	came[sig] = 1;
	if (write(wake_fd, "", 1) < 0) {
		/* full: who waits is woken by what it holds */
	}
	errno = was;
}

int watch_open(struct watch *w, infer_error *err)
{
	const struct sigaction a = { .sa_handler = note };

	*w = (struct watch){ .wake = { -1, -1 }, .in = -1 };
	if (pipe2(w->wake, O_CLOEXEC | O_NONBLOCK))
		return err_errno(err, errno, "a pipe for signals");
	wake_fd = w->wake[1];
	/* the same terminal, opened by us alone: no flag of ours is anybody else's */
	w->in = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	sigaction(SIGINT, NULL, &w->interrupt);
	if (w->interrupt.sa_handler != SIG_IGN)
		sigaction(SIGINT, &a, NULL);
	return INFER_OK;
}

void watch_close(struct watch *w)
{
	watch_end(w);
	if (w->wake[0] < 0)
		return;
	sigaction(SIGINT, &w->interrupt, NULL);
	wake_fd = -1;
	for (int i = 0; i < 2; i++)
		if (w->wake[i] >= 0)
			close(w->wake[i]);
	if (w->in >= 0)
		close(w->in);
	w->wake[0] = w->wake[1] = w->in = -1;
}

void watch_begin(struct watch *w, const int *signals)
{
	const struct sigaction a = { .sa_handler = note };

	w->n = 0;
	for (; *signals; signals++) {
		struct sigaction *before = &w->before[w->n];

		must(w->n < WATCH_MOST);
		sigaction(*signals, NULL, before);
		if (before->sa_handler == SIG_IGN)
			continue;
		came[*signals] = 0;
		w->signals[w->n++] = *signals;
		sigaction(*signals, &a, NULL);
	}
}

void watch_end(struct watch *w)
{
	for (int i = 0; i < w->n; i++)
		sigaction(w->signals[i], &w->before[i], NULL);
	w->n = 0;
}

int watch_took(struct watch *w, int sig)
{
	int took = came[sig];

	(void)w;
	came[sig] = 0;
	return took;
}

int watch_in(const struct watch *w) { return w->in >= 0 ? w->in : STDIN_FILENO; }

static int is_due(const struct watch *w)
{
	for (int i = 0; i < w->n; i++)
		if (came[w->signals[i]])
			return 1;
	return 0;
}

int watch_wait(struct watch *w, int fd, int ms)
{
	struct pollfd p[] = { { .fd = w->wake[0], .events = POLLIN },
		              { .fd = fd, .events = POLLIN } };
	char bytes[64];

	/* what came since its asker looked has no byte in the pipe where an earlier wait took it */
	if (is_due(w))
		return 0;
	if (poll(p, 2, ms) < 0) /* a signal, or no memory: who asked looks, and asks again */
		return 0;
	if (p[0].revents) {
		while (read(w->wake[0], bytes, sizeof bytes) > 0)
			;
		return 0;
	}
	return p[1].revents != 0;
}

void watch_raise(struct watch *w, int sig)
{
	const struct sigaction a = { .sa_handler = note };

	for (int i = 0; i < w->n; i++) {
		if (w->signals[i] != sig)
			continue;
		sigaction(sig, &w->before[i], NULL);
		raise(sig);
		sigaction(sig, &a, NULL);
	}
}
