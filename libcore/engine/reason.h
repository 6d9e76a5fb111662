/* engine/reason.h (private) - reasoning before a constrained answer: find its end, and bound its length.
 * Confined. */
#ifndef ENGINE_REASON_H
#define ENGINE_REASON_H
#include <stdint.h>
#include <infer/token.h>

enum { REASON_MARK = 64 };
struct reason {
	char open[REASON_MARK], close[REASON_MARK], tail[REASON_MARK];
	uint32_t n_open, n_close, n_tail; /* n_close 0: no reasoning; tail: the text's last bytes */
	uint32_t opened;                  /* bytes of `open` matched */
	uint32_t pending;                 /* bytes missing from the text's last UTF-8 character */
	int32_t n, most;                  /* n: tokens so far; most: the limit */
	int32_t inside, limit; /* tokens after `open`; 1 + their limit, or 0: `most` counts */
	int over;              /* 1: reasoning has ended, or there is none */
};

/* Initialise. limit: of the tokens after `open`, plus 1; 0: `most`
 * limits all tokens. open: the tag that begins reasoning; len 0: the prompt contains it. close: the tag that ends
 * reasoning; len 0: no reasoning.  INFER_EINVAL: a tag is longer than REASON_MARK. */
int reason_init(struct reason *r, struct infer_str open, struct infer_str close, int32_t most,
                int32_t limit, infer_error *err);
/* Process the bytes of a token. */
void reason_take(struct reason *r, const char *at, size_t n);
/* True if reasoning has reached its limit and the text ends with a whole character, so it can be
 * ended. */
int reason_is_long(const struct reason *r);
#endif
