/* base/seen.h - a set that remembers byte strings.  For each string it stores 16 bytes of a keyed
 * sha256 with a key of its own, so that nobody can construct colliding strings.  Confined. */
#ifndef BASE_SEEN_H
#define BASE_SEEN_H
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/sha256.h"

/* open addressing; all zero: empty */
struct seen_half {
	uint8_t (*at)[16];
	size_t n, cap;
};
struct seen {
	struct seen_half young, old;
	size_t most;
	enum mem_module who;
	struct sha256 keyed; /* the state after hashing the key */
};

/* most: strings that are certainly remembered; up to twice as many are, then the older half is
 * forgotten.  0: all. */
void seen_init(struct seen *s, enum mem_module who, size_t most);
void seen_fini(struct seen *s);
int seen_has(const struct seen *s, const void *bytes, size_t n); /* 1, 0 */
/* 0: the string is new; INFER_EINVAL: it was already in the set; INFER_ENOMEM. */
int seen_add(struct seen *s, const void *bytes, size_t n);
#endif
