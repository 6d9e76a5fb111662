/* base/sip.c - SipHash-1-3. */
#include "base/sip.h"
#include "base/num.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t rotl(uint64_t x, int n) { return x << n | x >> (64 - n); }

static inline void round_of(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

uint64_t sip_hash(const struct sip_key *key, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t last = (uint64_t)n << 56, w;
	uint64_t v[4] = { key->a ^ 0x736f6d6570736575, key->b ^ 0x646f72616e646f6d,
		          key->a ^ 0x6c7967656e657261, key->b ^ 0x7465646279746573 };

	for (; n >= 8; p += 8, n -= 8) {
		w = num_u64(p);
		v[3] ^= w;
		round_of(v);
		v[0] ^= w;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)p[i] << 8 * i;
	v[3] ^= last;
	round_of(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		round_of(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void sip_draw(struct sip_key *key)
{
	struct timespec t[2];
	uint64_t seed[6];

	if (getrandom(key, sizeof *key, 0) == sizeof *key)
		return;
	/* an old kernel or a sandbox: not secret, but different in each process */
	clock_gettime(CLOCK_REALTIME, &t[0]);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
	seed[0] = (uint64_t)t[0].tv_sec << 30 ^ (uint64_t)t[0].tv_nsec;
	seed[1] = (uint64_t)t[1].tv_nsec;
	seed[2] = (uint64_t)getpid();
	seed[3] = (uintptr_t)key;
	seed[4] = (uintptr_t)&t;
	seed[5] = (uintptr_t)&sip_draw;
	*key = (struct sip_key){ 0 };
	key->a = sip_hash(key, seed, sizeof seed);
	key->b = sip_hash(key, seed, sizeof seed);
}
