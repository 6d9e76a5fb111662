/* base/sip.h - SipHash-1-3 (Aumasson+ 2012): a hash whose collisions cannot be found without its
 * key.
 *
 * A table whose keys come from a file or a request hashes them with a random key, drawn when the
 * table is created, so that nobody can construct colliding keys.  Output must not depend on such a
 * hash, for example on the order of a table. */
#ifndef BASE_SIP_H
#define BASE_SIP_H
#include <stddef.h>
#include <stdint.h>

struct sip_key {
	uint64_t a, b;
};
/* Draw a key from getrandom(2), or from clocks and addresses if that fails. */
void sip_draw(struct sip_key *key);
uint64_t sip_hash(const struct sip_key *key, const void *bytes, size_t n);
#endif
