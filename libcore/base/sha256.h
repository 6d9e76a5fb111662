/* base/sha256.h - SHA-256, FIPS 180-4.  With the CPU's SHA instructions where it has them; same
 * result.  Confined. */
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
/* Asks the processor what it has, which takes longer than a short text in a virtual machine: where
 * there are many, a copy of one fresh state begins each. */
void sha256_init(struct sha256 *s);
/* plain C whatever the CPU has: for tests and comparison */
void sha256_init_plain(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t n);
void sha256_end(struct sha256 *s, uint8_t out[32]);
void sha256_hex(const uint8_t in[32], char out[65]); /* lower case, NUL-terminated */
/* The hash of one text as sha256_hex writes it.  A short one asks the processor nothing. */
void sha256_name(char out[65], const void *bytes, size_t n);
#endif
