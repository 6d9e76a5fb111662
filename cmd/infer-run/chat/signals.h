/* infer-run/chat/signals.h - signals during editing and while an answer is computed: a handler
 * notes them, and the program takes them when it can.
 * A signal that was ignored at the start stays ignored.  The system may deliver a signal to any
 * thread, so a waiting thread is woken through a pipe.  Confined; one at a time. */
#ifndef INFER_RUN_CHAT_SIGNALS_H
#define INFER_RUN_CHAT_SIGNALS_H
#include <signal.h>
#include <infer/status.h>

enum { SIGNALS_MOST = 8 };
struct signals {
	int noted[SIGNALS_MOST], n;
	struct sigaction before[SIGNALS_MOST], interrupt;
	int wake[2]; /* [0] becomes readable after a signal */
	int in;      /* standard input, opened non-blocking; -1: it cannot be reopened */
};

/* From here on SIGINT does not end the program; if nothing asks for it, it is dropped.
 * INFER_EIO */
int signals_open(struct signals *s, infer_error *err);
void signals_close(struct signals *s);

/* note these signals from now on; 0 ends the list */
void signals_begin(struct signals *s, const int *list);
/* restore the handlers; signals that were not taken are dropped */
void signals_end(struct signals *s);
int signals_took(struct signals *s, int sig); /* 1: it arrived since the last call */
/* Wait until fd is readable (1) or an untaken signal arrived (0), at most ms (-1: no limit). */
int signals_wait(struct signals *s, int fd, int ms);
/* The descriptor to read the terminal from.  Input that poll reports may disappear before it is
 * read, because a key that interrupts discards it; a read then returns EAGAIN instead of blocking
 * and missing the signal. */
int signals_in(const struct signals *s);
/* Apply the previous action of the signal: end the program, or stop it until it is continued. */
void signals_raise(struct signals *s, int sig);
#endif
