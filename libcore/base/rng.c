/* base/rng.c - the stateless generator and hash64. */
#include "base/rng.h"
#include "base/err.h"
#include "base/num.h"

#include <errno.h>
#include <sys/random.h>

void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < 10; round++) {
		uint64_t x = (uint64_t)0xd2511f53 * a, y = (uint64_t)0xcd9e8d57 * c;

		a = (uint32_t)(y >> 32) ^ b ^ k0;
		b = (uint32_t)y;
		c = (uint32_t)(x >> 32) ^ d ^ k1;
		d = (uint32_t)x;
		k0 += 0x9e3779b9;
		k1 += 0xbb67ae85;
	}
	out[0] = a;
	out[1] = b;
	out[2] = c;
	out[3] = d;
}

void rng_block(uint32_t out[4], uint64_t seed, uint64_t position)
{
	const uint32_t counter[4] = { (uint32_t)position, (uint32_t)(position >> 32), 0, 0 };
	const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

	rng_philox(out, counter, key);
}

double rng_unit(uint64_t seed, uint64_t position)
{
	uint32_t w[4];

	rng_block(w, seed, position);
	return (double)(((uint64_t)w[1] << 32 | w[0]) >> 11) * 0x1p-53;
}

/* splitmix64, Steele+ 2014 */
static uint64_t splitmix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint64_t rng_hash(uint64_t seed, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = seed, len = n;

	for (; n; p += n < 8 ? n : 8, n -= n < 8 ? n : 8) {
		uint64_t w = 0;

		for (size_t i = 0; i < 8 && i < n; i++)
			w |= (uint64_t)p[i] << 8 * i;
		h = splitmix(h ^ w);
	}
	return splitmix(h ^ len);
}

int rng_system(uint64_t *out, infer_error *err)
{
	unsigned char *p = (unsigned char *)out;
	size_t have = 0;

	while (have < sizeof *out) {
		ssize_t n = getrandom(p + have, sizeof *out - have, 0);

		if (n > 0) {
			have += (size_t)n;
		} else if (errno != EINTR) {
			*out = 0;
			return err_errno(err, errno, "getrandom");
		}
	}
	return INFER_OK;
}
