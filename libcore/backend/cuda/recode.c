/* backend/cuda/recode.c - recode rows of types without kernels to X8. */
#include "backend/cuda/recode.h"
#include "backend/cuda/launch.h"
#include "base/err.h"
#include "type/type.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_CODE = 127, MOST_BLOCK = 256 /* most elements of a block, over all types */ };

struct x8 {
	float d;
	int8_t q[GPU_X8_K];
};
static_assert(sizeof(struct x8) == GPU_X8_BYTES && offsetof(struct x8, q) == GPU_X8_Q,
              "as the kernels read it");

/* Set the codes of v for scale d.  Returns 0 if a value is not exactly d times its code. */
static int try_scale(struct x8 *to, const float *v, float d, float inverse)
{
	for (int i = 0; i < GPU_X8_K; i++) {
		float q = rintf(v[i] * inverse);

		if (!(fabsf(q) <= MOST_CODE) || d * q != v[i])
			return 0;
		to->q[i] = (int8_t)q;
	}
	to->d = d;
	return 1;
}

/* Return the least nonzero magnitude of the group; INFINITY if there is none. */
static float least_magnitude(const float *v)
{
	float least = INFINITY;

	for (int i = 0; i < GPU_X8_K; i++)
		if (v[i] != 0 && fabsf(v[i]) < least)
			least = fabsf(v[i]);
	return least;
}

static int recode_group(struct x8 *to, const float *v)
{
	float least = least_magnitude(v);

	if (isinf(least)) /* zeros, or values that are not finite */
		return try_scale(to, v, 0, 0);
	for (int k = 1; k <= MOST_CODE; k++)
		if (try_scale(to, v, least / (float)k, (float)k / least))
			return 1;
	return 0;
}

size_t recode_row_bytes(int64_t k) { return (size_t)(k / GPU_X8_K) * sizeof(struct x8); }

int recode_row(void *to, const void *from, int type, int64_t k)
{
	const struct type *t = type_get(type);
	const unsigned char *block = from;
	float v[MOST_BLOCK];
	struct x8 *x = to;

	must(t->info.block <= MOST_BLOCK && t->info.block % GPU_X8_K == 0);
	for (int64_t at = 0; at < k; at += t->info.block, block += t->info.block_bytes) {
		t->decode(v, block, 1);
		for (int i = 0; i < t->info.block; i += GPU_X8_K)
			if (!recode_group(x++, v + i))
				return 0;
	}
	return 1;
}
