/* engine/stop.h (private) - stop strings in a stream of text.  Confined. */
#ifndef ENGINE_STOP_H
#define ENGINE_STOP_H
#include <infer/file.h>
#include "base/arena.h"
#include "base/buf.h"

/* One KMP automaton per stop string (Knuth+ 1977).  Bytes that may begin a stop string are held back. */
struct stop_string {
	const char *at;
	int32_t len, state;
	int32_t *border; /* [len] length of the longest border of bytes 0 ... i */
};
struct stop {
	struct stop_string *strings;
	int32_t n, longest;
	char *held;
	int32_t n_held; /* bytes in held [longest] */
	int over;       /* 1: a stop string is complete: no more output */
	int32_t met;    /* index of the complete stop string; -1: none */
	int keep;       /* 1: output the stop string too */
	/* min_tokens: until the answer has `least` tokens, stop strings are ignored, and only tokens that
	 * do not end the answer may be drawn: `others`, [2][(n_vocab + 63) / 64] bits, the second row
	 * scratch of stop_others. NULL if least is 0 */
	int32_t least;
	uint64_t *others;
};
/* Copy the strings into a and start.  INFER_ENOMEM. */
int stop_init(struct stop *s, struct arena *a, const struct infer_str *strings, int32_t n);
/* Append to out the bytes that cannot belong to a stop string.  Returns 1 if a stop string is complete: out
 * ends before it (with `keep`, after it), the rest is dropped. */
int stop_put(struct stop *s, const char *bytes, size_t n, struct buf *out);
/* Return the tokens of `allowed` (NULL: all) that do not end the answer, or `allowed` if all do. */
const uint64_t *stop_others(struct stop *s, const uint64_t *allowed, int32_t n_vocab);
void stop_flush(struct stop *s, struct buf *out); /* append the held bytes: the text has ended */
#endif
