/* infer-run/chat/signals.c - record signals and wait for them. */
#include "signals.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t came[NSIG], wake_fd = -1;

static void record_signal(int sig)
{
	int was = errno;

	came[sig] = 1;
	if (write(wake_fd, "", 1) < 0) {
		/* the pipe is full: its bytes wake the waiter anyway */
	}
	errno = was;
}

int signals_open(struct signals *s, infer_error *err)
{
	const struct sigaction a = { .sa_handler = record_signal };

	*s = (struct signals){ .wake = { -1, -1 }, .in = -1 };
	if (pipe2(s->wake, O_CLOEXEC | O_NONBLOCK))
		return err_errno(err, errno, "a pipe for signals");
	wake_fd = s->wake[1];
	/* open the terminal again: O_NONBLOCK on descriptor 0 would affect other processes */
	s->in = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	sigaction(SIGINT, NULL, &s->interrupt);
	if (s->interrupt.sa_handler != SIG_IGN)
		sigaction(SIGINT, &a, NULL);
	return INFER_OK;
}

void signals_close(struct signals *s)
{
	signals_end(s);
	if (s->wake[0] < 0)
		return;
	sigaction(SIGINT, &s->interrupt, NULL);
	wake_fd = -1;
	for (int i = 0; i < 2; i++)
		if (s->wake[i] >= 0)
			close(s->wake[i]);
	if (s->in >= 0)
		close(s->in);
	s->wake[0] = s->wake[1] = s->in = -1;
}

void signals_begin(struct signals *s, const int *list)
{
	const struct sigaction a = { .sa_handler = record_signal };

	s->n = 0;
	for (; *list; list++) {
		struct sigaction *before = &s->before[s->n];

		must(s->n < SIGNALS_MOST);
		sigaction(*list, NULL, before);
		if (before->sa_handler == SIG_IGN)
			continue;
		came[*list] = 0;
		s->noted[s->n++] = *list;
		sigaction(*list, &a, NULL);
	}
}

void signals_end(struct signals *s)
{
	for (int i = 0; i < s->n; i++)
		sigaction(s->noted[i], &s->before[i], NULL);
	s->n = 0;
}

int signals_took(struct signals *s, int sig)
{
	int took = came[sig];

	(void)s;
	came[sig] = 0;
	return took;
}

int signals_in(const struct signals *s) { return s->in >= 0 ? s->in : STDIN_FILENO; }

static int is_due(const struct signals *s)
{
	for (int i = 0; i < s->n; i++)
		if (came[s->noted[i]])
			return 1;
	return 0;
}

int signals_wait(struct signals *s, int fd, int ms)
{
	struct pollfd p[] = { { .fd = s->wake[0], .events = POLLIN },
		              { .fd = fd, .events = POLLIN } };
	char bytes[64];

	/* an earlier wait may have read the byte of this signal from the pipe */
	if (is_due(s))
		return 0;
	if (poll(p, 2, ms) < 0) /* a signal, or no memory: the caller checks and waits again */
		return 0;
	if (p[0].revents) {
		while (read(s->wake[0], bytes, sizeof bytes) > 0)
			;
		return 0;
	}
	return p[1].revents != 0;
}

void signals_raise(struct signals *s, int sig)
{
	const struct sigaction a = { .sa_handler = record_signal };

	for (int i = 0; i < s->n; i++) {
		if (s->noted[i] != sig)
			continue;
		sigaction(sig, &s->before[i], NULL);
		raise(sig);
		sigaction(sig, &a, NULL);
	}
}
