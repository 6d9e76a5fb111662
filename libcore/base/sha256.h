/* base/sha256.h - SHA-256, FIPS 180-4.  Uses the CPU's SHA instructions if it has them; the result
 * is the same.  Confined. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H
#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t h[8];
	uint64_t bytes;
	uint8_t block[64];
	int fast;
};
/* Start a hash.  In a virtual machine, querying the CPU's features takes longer than hashing a
 * short text.  To hash many texts, copy an initialised state for each. */
void sha256_init(struct sha256 *s);
/* Start a hash that uses plain C on every CPU, for tests. */
void sha256_init_plain(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[32]);
void sha256_hex(const uint8_t in[32], char out[65]); /* lower case, NUL-terminated */
/* Hash one text to hex digits, as sha256_hex; a short one without querying CPU features. */
void sha256_name(char out[65], const void *bytes, size_t n);
#endif
