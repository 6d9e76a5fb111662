/* base/sip.h - SipHash-1-3 (Aumasson+ 2012): a hash whose collisions cannot be found without its
 * key.
 *
 * A table whose keys come from a file or a request hashes them with a key of its own, drawn when
 * the table is made, so that nobody can write keys that all fall into one place.  Nothing that a
 * user sees may depend on such a hash. */
#ifndef BASE_SIP_H
#define BASE_SIP_H
#include <stddef.h>
#include <stdint.h>

struct sip_key {
	uint64_t a, b;
};
/* from getrandom(2); where there is none, from clocks and addresses */
void sip_draw(struct sip_key *key);
uint64_t sip_hash(const struct sip_key *key, const void *bytes, size_t n);
#endif
