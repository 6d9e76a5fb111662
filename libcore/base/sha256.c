/* base/sha256.c - SHA-256, with and without instructions for it. */
#include "base/sha256.h"
#include "base/cpu.h"
#include "base/num.h"

#include <string.h>

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t round_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t big_endian(const uint8_t *p) { return __builtin_bswap32(num_u32(p)); }

/* One round.  The next call shifts its arguments by one, so no words are moved. */
static inline void turn_once(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                             uint32_t f, uint32_t g, uint32_t *h, uint32_t kw)
{
	uint32_t t1 = *h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + kw;
	uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));

	*d += t1;
	*h = t1 + t2;
}

static void blocks_plain(uint32_t s[8], const uint8_t *p, size_t blocks)
{
	for (; blocks; blocks--, p += 64) {
		uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6],
			 h = s[7];
		uint32_t w[64];

		for (int i = 0; i < 16; i++)
			w[i] = big_endian(p + 4 * i);
		for (int i = 16; i < 64; i++) {
			uint32_t x = w[i - 15], y = w[i - 2];

			w[i] = w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
			       (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
		}
		for (int i = 0; i < 64; i++)
			w[i] += round_k[i];
		for (int i = 0; i < 64; i += 8) {
			turn_once(a, b, c, &d, e, f, g, &h, w[i]);
			turn_once(h, a, b, &c, d, e, f, &g, w[i + 1]);
			turn_once(g, h, a, &b, c, d, e, &f, w[i + 2]);
			turn_once(f, g, h, &a, b, c, d, &e, w[i + 3]);
			turn_once(e, f, g, &h, a, b, c, &d, w[i + 4]);
			turn_once(d, e, f, &g, h, a, b, &c, w[i + 5]);
			turn_once(c, d, e, &f, g, h, a, &b, w[i + 6]);
			turn_once(b, c, d, &e, f, g, h, &a, w[i + 7]);
		}
		s[0] += a;
		s[1] += b;
		s[2] += c;
		s[3] += d;
		s[4] += e;
		s[5] += f;
		s[6] += g;
		s[7] += h;
	}
}

#if defined __x86_64__
#include <immintrin.h>

/* The instructions keep the state as (a b e f) and (c d g h), highest word first, and compute two
 * rounds at a time. */
#define WITH_SHA __attribute__((target("sha,sse4.1")))
struct state {
	__m128i abef, cdgh;
};

WITH_SHA static inline struct state four_rounds(struct state s, __m128i w, const uint32_t *k)
{
	w = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)k));
	s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, w);
	s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(w, 0x0e));
	return s;
}

/* Return the four message words after the sixteen in a, b, c, d (oldest first). */
WITH_SHA static inline __m128i next_words(__m128i a, __m128i b, __m128i c, __m128i d)
{
	a = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));
	return _mm_sha256msg2_epu32(a, d);
}

WITH_SHA static void blocks_sha(uint32_t h[8], const uint8_t *p, size_t blocks)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	struct state s = { _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]),
		           _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]) };
	uint32_t out[8];

	for (; blocks; blocks--, p += 64) {
		const __m128i *in = (const __m128i *)p;
		__m128i a = _mm_shuffle_epi8(_mm_loadu_si128(in), swap);
		__m128i b = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), swap);
		__m128i c = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), swap);
		__m128i d = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), swap);
		struct state old = s;

		for (const uint32_t *k = round_k;; k += 16) {
			s = four_rounds(s, a, k);
			s = four_rounds(s, b, k + 4);
			s = four_rounds(s, c, k + 8);
			s = four_rounds(s, d, k + 12);
			if (k == round_k + 48)
				break;
			a = next_words(a, b, c, d);
			b = next_words(b, c, d, a);
			c = next_words(c, d, a, b);
			d = next_words(d, a, b, c);
		}
		s.abef = _mm_add_epi32(s.abef, old.abef);
		s.cdgh = _mm_add_epi32(s.cdgh, old.cdgh);
	}
	_mm_storeu_si128((__m128i *)out, s.abef);
	_mm_storeu_si128((__m128i *)(out + 4), s.cdgh);
	for (int i = 0; i < 8; i++) /* f e b a h g d c in memory */
		h[i] = out[(const int[]){ 3, 2, 7, 6, 1, 0, 5, 4 }[i]];
}
/* clang before 16 has these functions only if all of the file may use the instructions */
#elif defined __aarch64__ && (defined __ARM_FEATURE_SHA2 || !defined __clang__)
#include <arm_neon.h>

/* The instructions keep the state as (a b c d) and (e f g h), lowest word first, and compute four
 * rounds at a time. */
#ifdef __ARM_FEATURE_SHA2
#define WITH_SHA
#else
#define WITH_SHA __attribute__((target("+crypto")))
#endif

WITH_SHA static void blocks_sha(uint32_t h[8], const uint8_t *p, size_t blocks)
{
	uint32x4_t abcd = vld1q_u32(h), efgh = vld1q_u32(h + 4);

	for (; blocks; blocks--, p += 64) {
		uint32x4_t old_abcd = abcd, old_efgh = efgh, w[4];

		for (int i = 0; i < 4; i++)
			w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p + 16 * i)));
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			uint32x4_t now = vaddq_u32(w[i % 4], vld1q_u32(round_k + 4 * i)),
				   was = abcd;

			if (i < 12) /* compute the words for sixteen rounds later */
				w[i % 4] =
					vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]),
				                        w[(i + 2) % 4], w[(i + 3) % 4]);
			abcd = vsha256hq_u32(abcd, efgh, now);
			efgh = vsha256h2q_u32(efgh, was, now);
		}
		abcd = vaddq_u32(abcd, old_abcd);
		efgh = vaddq_u32(efgh, old_efgh);
	}
	vst1q_u32(h, abcd);
	vst1q_u32(h + 4, efgh);
}
#else
#define blocks_sha blocks_plain
#endif

static void blocks(struct sha256 *s, const uint8_t *p, size_t n)
{
	(s->fast ? blocks_sha : blocks_plain)(s->h, p, n);
}

void sha256_init(struct sha256 *s)
{
	sha256_init_plain(s);
	s->fast = (cpu_features() & CPU_SHA) != 0;
}

void sha256_init_plain(struct sha256 *s)
{
	*s = (struct sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
		                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n)
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
		blocks(s, s->block, 1);
		p += part;
		n -= part;
	}
	if (n >= 64)
		blocks(s, p, n / 64);
	if (n % 64)
		memcpy(s->block, p + n / 64 * 64, n % 64);
}

void sha256_end(struct sha256 *s, uint8_t out[32])
{
	uint64_t bits = s->bytes * 8;
	size_t have = s->bytes & 63;

	s->block[have++] = 0x80;
	if (have > 56) {
		memset(s->block + have, 0, 64 - have);
		blocks(s, s->block, 1);
		have = 0;
	}
	memset(s->block + have, 0, 56 - have);
	for (int i = 0; i < 8; i++)
		s->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
	blocks(s, s->block, 1);
	for (int i = 0; i < 32; i++)
		out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const uint8_t in[32], char out[65])
{
	for (int i = 0; i < 32; i++) {
		out[2 * i] = "0123456789abcdef"[in[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[in[i] & 15];
	}
	out[64] = 0;
}

void sha256_name(char out[65], const void *bytes, size_t n)
{
	/* bytes that plain C hashes in the time of one query in a virtual machine */
	enum { SHORT = 16 << 10 };
	struct sha256 s;
	uint8_t sum[32];

	(n < SHORT ? sha256_init_plain : sha256_init)(&s);
	sha256_add(&s, bytes, n);
	sha256_end(&s, sum);
	sha256_hex(sum, out);
}
