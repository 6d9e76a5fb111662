/* engine/reason.h (private) - reasoning before a constrained answer, which is ended where it takes
 * too much of the tokens.  Confined. */
#ifndef ENGINE_REASON_H
#define ENGINE_REASON_H
#include <stdint.h>
#include <infer/token.h>

enum { REASON_MARK = 64 };
struct reason {
	char open[REASON_MARK], close[REASON_MARK], tail[REASON_MARK];
	uint32_t n_open, n_close, n_tail; /* n_close 0: there is none; tail: the last bytes of it */
	uint32_t opened;                  /* bytes of open that have come */
	uint32_t pending;                 /* bytes that the last character lacks */
	int32_t n, most;                  /* tokens so far; so many, and it is ended */
	int over;                         /* it has ended, or there is none */
};

/* open: what begins it; len 0: the prompt has.  close: what ends it; len 0: there is none.
 * INFER_EINVAL  one is too long */
int reason_init(struct reason *r, struct infer_str open, struct infer_str close, int32_t most,
                infer_error *err);
/* The bytes of a token. */
void reason_take(struct reason *r, const char *at, size_t n);
/* Whether it is to be ended here. */
int reason_is_long(const struct reason *r);
#endif
