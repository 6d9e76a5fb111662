/* base/sha1.h - SHA-1, FIPS 180-4, for the object names of git.  Not secure against an attacker.
 * Confined. */
#ifndef BASE_SHA1_H
#define BASE_SHA1_H
#include <stddef.h>
#include <stdint.h>

struct sha1 {
	uint32_t h[5];
	uint64_t bytes;
	uint8_t block[64];
};
void sha1_init(struct sha1 *s);
void sha1_add(struct sha1 *s, const void *bytes, size_t n);
void sha1_end(struct sha1 *s, uint8_t out[20]);
void sha1_hex(const uint8_t in[20], char out[41]); /* lower case, NUL-terminated */
/* Start the hash of a git blob of `bytes` bytes: adds its header.  Add the content next. */
void sha1_init_blob(struct sha1 *s, uint64_t bytes);
#endif
