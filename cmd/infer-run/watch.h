/* infer-run/watch.h - signals while somebody types, and while an answer is computed: noted by a
 * handler, taken when it suits.
 * A signal that came ignored stays ignored.  Any thread may be the one that the system hands a
 * signal to, so what waits is woken through a pipe.  Confined; one at a time. */
#ifndef INFER_RUN_WATCH_H
#define INFER_RUN_WATCH_H
#include <signal.h>
#include <infer/status.h>

enum { WATCH_MOST = 8 };
struct watch {
	int signals[WATCH_MOST], n;
	struct sigaction before[WATCH_MOST], interrupt;
	int wake[2]; /* [0] is there to read once one came */
	int in;      /* standard input, not to be blocked on; -1: it cannot be opened again */
};

/* From here on SIGINT does not end the program: where nobody asks for it it is forgotten.
 * INFER_EIO */
int watch_open(struct watch *w, infer_error *err);
void watch_close(struct watch *w);

void watch_begin(struct watch *w, const int *signals); /* note these from now on; 0 ends the list */
void watch_end(struct watch *w);          /* as it was before; what was not taken is forgotten */
int watch_took(struct watch *w, int sig); /* 1: it came since it was asked for last */
/* Wait until there is something to read from fd (1), or a signal came that was not taken (0), at
 * most ms (-1: for ever). */
int watch_wait(struct watch *w, int fd, int ms);
/* Where the terminal is to be read.  What poll says is there may be gone before it is read: a key
 * that interrupts takes it back. So a read gives EAGAIN then, and does not wait, deaf to the
 * signal. */
int watch_in(const struct watch *w);
/* Let the signal do what it did before: end the program, or stop it until it goes on. */
void watch_raise(struct watch *w, int sig);
#endif
