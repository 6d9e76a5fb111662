/* base/seen.h - which byte strings were there before.  It keeps 16 bytes of the sha256 of a key of
 * its own and the string: nobody can write strings that fall into one place, or into the place of
 * another.  Confined. */
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
	struct sha256 keyed; /* the state behind the key */
};

/* most: strings that are surely remembered; up to twice as many are, then the older half is
 * forgotten.  0: all. */
void seen_init(struct seen *s, enum mem_module who, size_t most);
void seen_fini(struct seen *s);
int seen_has(const struct seen *s, const void *bytes, size_t n); /* 1, 0 */
/* 0: it is new; INFER_EINVAL: it was there; INFER_ENOMEM. */
int seen_add(struct seen *s, const void *bytes, size_t n);
#endif
