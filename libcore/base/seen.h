/* base/seen.h - a set that remembers byte strings.  For each string it stores 16 bytes of a sha256
 * with a random key, so that nobody can construct colliding strings.  Confined. */
#ifndef BASE_SEEN_H
#define BASE_SEEN_H
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/sha256.h"

/* a table with open addressing; a slot of zeros is empty */
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

/* most: number of newest strings that are never forgotten; a set of twice as many forgets its older
 * half.  0: nothing is forgotten. */
void seen_init(struct seen *s, enum mem_module who, size_t most);
void seen_fini(struct seen *s);
int seen_has(const struct seen *s, const void *bytes, size_t n); /* 1: in the set; 0: not */
/* Add a string.  Returns INFER_EINVAL if it is already in the set, or INFER_ENOMEM. */
int seen_add(struct seen *s, const void *bytes, size_t n);
#endif
