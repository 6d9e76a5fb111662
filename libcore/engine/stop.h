/* engine/stop.h (private) - stop strings in a stream of text.  Confined. */
#ifndef ENGINE_STOP_H
#define ENGINE_STOP_H
#include <infer/file.h>
#include "base/arena.h"
#include "base/buf.h"

/* Stop strings in a stream of bytes, one automaton each (Knuth+ 1977).  Bytes that may be the
 * beginning of one are held back. */
struct stop_string {
	const char *at;
	int32_t len, state;
	int32_t *border; /* [len] longest border of the first i + 1 bytes */
};
struct stop {
	struct stop_string *strings;
	int32_t n, longest;
	char *held;
	int32_t n_held; /* [longest] */
	int over;       /* a stop string is complete: no more text is given out */
	int32_t met;    /* its index; -1: none is complete */
	int keep;       /* it belongs to the text */
	/* The answer has at least `least` tokens: until then only `others` are drawn, the tokens
	 * that end no answer, and no stop string is looked for.  bits [(n_vocab + 63) / 64], twice:
	 * the second is scratch of stop_others.  NULL: least is 0 */
	int32_t least;
	uint64_t *others;
};
/* Copies.  INFER_ENOMEM. */
int stop_init(struct stop *s, struct arena *a, const struct infer_str *strings, int32_t n);
/* Append to out the bytes that can no longer be part of a stop string.  1: a stop string is
 * complete; the text before it is in out (with `keep`, up to its end), the rest is dropped. */
int stop_put(struct stop *s, const char *bytes, size_t n, struct buf *out);
/* The tokens of `allowed` (NULL: all) that end no answer; if there are none, `allowed` itself. */
const uint64_t *stop_others(struct stop *s, const uint64_t *allowed, int32_t n_vocab);
void stop_flush(struct stop *s, struct buf *out);
#endif
