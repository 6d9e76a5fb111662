/* infer-run/chat/signals.h - signals during editing and while an answer is computed.
 *
 * A handler records them, and the program polls. A signal that was ignored at the start stays ignored. The
 * system may deliver a signal to any thread, so a waiting thread is woken through a pipe. Confined to one
 * thread; at most one struct signals is open. */
#ifndef INFER_RUN_CHAT_SIGNALS_H
#define INFER_RUN_CHAT_SIGNALS_H
#include <signal.h>
#include <infer/status.h>

enum { SIGNALS_MOST = 8 };
struct signals {
	int noted[SIGNALS_MOST], n;
	struct sigaction before[SIGNALS_MOST], interrupt;
	int wake[2]; /* a pipe; [0] becomes readable after a signal */
	int in;      /* standard input, opened non-blocking; -1: it cannot be reopened */
};

/* Open the pipe and standard input. From now on SIGINT does not end the program; outside signals_begin and
 * signals_end it is dropped.
 * INFER_EIO */
int signals_open(struct signals *s, infer_error *err);
void signals_close(struct signals *s);

/* Record these signals from now on. list: ends with 0 */
void signals_begin(struct signals *s, const int *list);
/* Restore the handlers. Recorded signals that were not read are dropped. */
void signals_end(struct signals *s);
int signals_took(struct signals *s, int sig); /* True if sig arrived since the last call. */
/* Wait at most ms milliseconds (-1: no limit). Returns 1 if fd is readable, 0 if a recorded signal is unread
 * or the time is over. */
int signals_wait(struct signals *s, int fd, int ms);
/* Return the descriptor of the terminal to read from. It is non-blocking: a key such as Ctrl-C discards
 * input that poll() has reported, and a blocking read would then miss the signal. */
int signals_in(const struct signals *s);
/* Raise the signal with its previous action: end the program, or stop it until it is continued. */
void signals_raise(struct signals *s, int sig);
#endif
