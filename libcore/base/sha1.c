/* base/sha1.c - SHA-1 in plain C. */
#include "base/sha1.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotl(uint32_t x, int n) { return x << n | x >> (32 - n); }

/* FIPS 180-4, 4.1.1 and 4.2.1: function and constant of round i. */
static inline uint32_t mix_words(int i, uint32_t b, uint32_t c, uint32_t d)
{
	if (i < 20)
		return ((b & c) ^ (~b & d)) + 0x5a827999;
	if (i < 40)
		return (b ^ c ^ d) + 0x6ed9eba1;
	if (i < 60)
		return ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdc;
	return (b ^ c ^ d) + 0xca62c1d6;
}

static void hash_blocks(uint32_t s[5], const uint8_t *p, size_t blocks)
{
	for (; blocks; blocks--, p += 64) {
		uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], w[80];

		for (int i = 0; i < 16; i++)
			w[i] = __builtin_bswap32(num_u32(p + 4 * i));
		for (int i = 16; i < 80; i++)
			w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
		for (int i = 0; i < 80; i++) {
			uint32_t t = rotl(a, 5) + mix_words(i, b, c, d) + e + w[i];

			e = d;
			d = c;
			c = rotl(b, 30);
			b = a;
			a = t;
		}
		s[0] += a;
		s[1] += b;
		s[2] += c;
		s[3] += d;
		s[4] += e;
	}
}

void sha1_init(struct sha1 *s)
{
	*s = (struct sha1){ .h = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
}

void sha1_add(struct sha1 *s, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t have = s->bytes & 63, part;

	s->bytes += n;
	if (have) {
		part = n < 64 - have ? n : 64 - have;
		if (part)
			memcpy(s->block + have, p, part);
		if (have + part < 64)
			return;
		hash_blocks(s->h, s->block, 1);
		p += part;
		n -= part;
	}
	if (n >= 64)
		hash_blocks(s->h, p, n / 64);
	if (n % 64)
		memcpy(s->block, p + n / 64 * 64, n % 64);
}

void sha1_end(struct sha1 *s, uint8_t out[20])
{
	uint64_t bits = s->bytes * 8;
	size_t have = s->bytes & 63;

	s->block[have++] = 0x80;
	if (have > 56) {
		memset(s->block + have, 0, 64 - have);
		hash_blocks(s->h, s->block, 1);
		have = 0;
	}
	memset(s->block + have, 0, 56 - have);
	for (int i = 0; i < 8; i++)
		s->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
	hash_blocks(s->h, s->block, 1);
	for (int i = 0; i < 20; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha1_hex(const uint8_t in[20], char out[41])
{
	for (int i = 0; i < 20; i++) {
		out[2 * i] = "0123456789abcdef"[in[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[in[i] & 15];
	}
	out[40] = 0;
}

void sha1_init_blob(struct sha1 *s, uint64_t bytes)
{
	char head[32];
	int n = snprintf(head, sizeof head, "blob %" PRIu64, bytes);

	sha1_init(s);
	sha1_add(s, head, (size_t)n + 1); /* the header includes its NUL */
}
