/* tok/key.h (private) - short byte strings as two words, hashed and compared without a branch on
 * their length.
 *
 * Pieces have all lengths from 1 to 16, so a branch on the length would be mispredicted nearly
 * always. */
#ifndef TOK_KEY_H
#define TOK_KEY_H
#include <string.h>
#include "base/num.h"
#include "tok/tok.h"

/* lo, hi: the first 16 bytes, padded with 0 */
struct tok_key {
	const char *s;
	size_t n;
	uint64_t lo, hi;
	uint32_t hash;
};

static inline uint64_t tok_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint32_t tok_pair_hash(const uint64_t secret[3], uint32_t a, uint32_t b)
{
	return (uint32_t)tok_mix(((uint64_t)a << 32 | b) ^ secret[0], secret[1]);
}

static inline uint64_t tok_first(uint64_t x, size_t n) /* the first n bytes of x, 0 <= n <= 8 */
{
	return n ? x << (64 - 8 * n) >> (64 - 8 * n) : 0;
}

/* Load s[0 .. n) into two words.  Reads no byte at or after `end`. */
static inline void tok_load(const char *s, size_t n, const char *end, uint64_t *lo, uint64_t *hi)
{
	if (end - s >= 16) {
		*lo = tok_first(num_u64(s), n < 8 ? n : 8);
		*hi = tok_first(num_u64(s + 8), n < 8 ? 0 : n < 16 ? n - 8 : 8);
		return;
	}
	unsigned char b[16] = { 0 };
	memcpy(b, s, n < 16 ? n : 16);
	*lo = num_u64(b);
	*hi = num_u64(b + 8);
}

/* Set *k and its hash: of the first 16 bytes, then 8 at a time (the last 8 may overlap), then the
 * size.  Folded products with secret factors, so nobody can construct colliding pieces. */
static inline void tok_key(const uint64_t secret[3], struct tok_key *k, const char *s, size_t n,
                           const char *end)
{
	uint64_t lo, hi;

	tok_load(s, n, end, &lo, &hi);
	uint64_t h = tok_mix(lo ^ secret[0], hi ^ secret[1]);
	for (size_t i = 16; i < n; i += 8)
		h = tok_mix(h ^ (n - i >= 8 ? num_u64(s + i) : num_u64(s + n - 8)), secret[1]);
	k->s = s;
	k->n = n;
	k->lo = lo;
	k->hi = hi;
	k->hash = (uint32_t)tok_mix(h ^ n, secret[2]);
}

/* State of hashing ever longer prefixes of s, each from the one before.  Zero: nothing hashed. */
struct tok_prefix {
	uint64_t h;
	size_t done;
};
static inline void tok_key_more(const uint64_t secret[3], struct tok_prefix *p, struct tok_key *k,
                                const char *s, size_t n, const char *end)
{
	if (n <= 16) {
		tok_key(secret, k, s, n, end);
		return;
	}
	if (!p->done) {
		tok_load(s, 16, end, &k->lo, &k->hi);
		*p = (struct tok_prefix){ tok_mix(k->lo ^ secret[0], k->hi ^ secret[1]), 16 };
	}
	for (; n - p->done >= 8; p->done += 8)
		p->h = tok_mix(p->h ^ num_u64(s + p->done), secret[1]);
	uint64_t h = p->done < n ? tok_mix(p->h ^ num_u64(s + n - 8), secret[1]) : p->h;
	k->s = s;
	k->n = n;
	k->hash = (uint32_t)tok_mix(h ^ n, secret[2]);
}

static inline int tok_is(const struct tok_strings *s, uint32_t i, const struct tok_key *k)
{
	const char *at = s->base + s->at[i].at;
	uint64_t lo, hi;

	if (s->at[i].len != k->n)
		return 0;
	tok_load(at, k->n, s->end, &lo, &hi);
	return lo == k->lo && hi == k->hi && (k->n <= 16 || !memcmp(at + 16, k->s + 16, k->n - 16));
}

static inline int32_t tok_map_get(const struct tok_map *m, const struct tok_strings *s,
                                  const struct tok_key *k)
{
	for (uint32_t j = k->hash & m->mask; m->slot[j]; j = (j + 1) & m->mask)
		if (!((m->slot[j] ^ k->hash) & ~m->at) && tok_is(s, (m->slot[j] & m->at) - 1, k))
			return (int32_t)((m->slot[j] & m->at) - 1);
	return -1;
}
#endif
