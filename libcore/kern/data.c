/* kern/data.c - sample data for the kernels: numbers and weights drawn from a seed. */
#include "kern/data.h"
#include <string.h>
#include "base/err.h"
#include "base/num.h"
#include "kern/act.h"
#include "type/type.h"

/* Return the next number of splitmix64 with state *s. */
static uint64_t next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Return the sum of four 16-bit uniforms: mean 0, deviation 1. */
static float bell(uint64_t u)
{
	int32_t sum =
		(int32_t)((u & 0xffff) + (u >> 16 & 0xffff) + (u >> 32 & 0xffff) + (u >> 48)) -
		2 * 0xffff;

	return (float)sum * (1.7320508f / 65536.0f);
}

void kern_data_floats(float *x, size_t n, enum kern_data_fill fill, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t u = next(&seed);
		x[i] = bell(u);
		if (fill != KERN_DATA_ODD || u >> 20 & 3)
			continue;
		switch (u >> 22 & 7) {
		case 0:
			x[i] = 0;
			break;
		case 1:
			x[i] = -0.0f;
			break;
		case 2:
			x[i] = num_float((uint32_t)(u >> 40) & 0x807fffff);
			break;
		case 3:
			x[i] *= 0x1p60f;
			break;
		case 4:
			x[i] *= 0x1p-60f;
			break;
		default:
			x[i] = num_float((uint32_t)(u >> 32) & 0x8000ffff);
			break;
		}
	}
}

static float scale(enum kern_data_fill fill, uint64_t u)
{
	float d = bell(u) * 0.01f;

	if (fill == KERN_DATA_ODD && !(u >> 10 & 7)) {
		switch (u >> 13 & 3) {
		case 0:
			return 0;
		case 1:
			return -0.0f;
		case 2:
			return (float)(u >> 20 & 255) * 0x1p-24f;
		default:
			return d * 1e5f;
		}
	}
	return d;
}

/* Store the f16 scale h of an IQ1_M block: four bits in the top of each of four words. */
static void put_iq1_m(unsigned char *block, uint16_t h)
{
	for (int i = 0; i < 4; i++) {
		unsigned char *top = block + 48 + 2 * i + 1;
		*top = (unsigned char)((*top & 15) | (h >> 4 * i & 15) << 4);
	}
}

/* Return the number of f32 fields at the beginning of a block of `type`. */
static int wide_fields(int type)
{
	return type == INFER_Q4_F || type == INFER_Q8_F                              ? 2
	       : type == INFER_F8_E4M3 || type == INFER_NF4 || type == INFER_NVFP4_F ? 1
	                                                                             : 0;
}

static void quants(unsigned char *w, int type, size_t blocks, enum kern_data_fill fill,
                   uint64_t *seed)
{
	size_t bytes = (size_t)infer_type_info(type)->block_bytes, i = 0;
	const struct type *t = type_get(type); /* its offsets of the f16 scales */
	int wide = wide_fields(type);

	must(t->n_f16 || wide || type == INFER_MXFP4 || type == INFER_IQ1_M);
	for (uint64_t u; i < blocks * bytes; i += sizeof u) {
		u = next(seed);
		memcpy(w + i, &u, blocks * bytes - i < sizeof u ? blocks * bytes - i : sizeof u);
	}
	for (i = 0; i < blocks; i++) {
		for (int j = 0; j < t->n_f16; j++) {
			uint16_t h = num_to_f16(scale(fill, next(seed)));
			memcpy(w + i * bytes + t->f16[j], &h, 2);
		}
		for (int j = 0; j < wide; j++) {
			float d = scale(fill, next(seed));
			memcpy(w + i * bytes + 4 * j, &d, 4);
		}
		if (type == INFER_IQ1_M)
			put_iq1_m(w + i * bytes, num_to_f16(scale(fill, next(seed))));
		if (type == INFER_MXFP4 && fill == KERN_DATA_PLAIN)
			w[i * bytes] = (unsigned char)(115 + next(seed) % 8);
		else if (type == INFER_MXFP4)
			w[i * bytes] = (unsigned char)(next(seed) % 180);
	}
}

void kern_data_weights(void *w, int type, size_t n, int k, enum kern_data_fill fill, uint64_t seed)
{
	size_t all = n * (size_t)k;
	uint64_t s = seed;

	if (type == INFER_F32) {
		kern_data_floats(w, all, fill, seed);
		return;
	}
	if (type != INFER_F16 && type != INFER_BF16) {
		quants(w, type, all / (size_t)infer_type_info(type)->block, fill, &s);
		return;
	}
	for (size_t i = 0; i < all; i++) {
		float x = bell(next(&s));
		if (fill == KERN_DATA_ODD && !(i % 5))
			x *= 0x1p-20f; /* subnormal in f16 */
		((uint16_t *)w)[i] = type == INFER_F16 ? num_to_f16(x) : num_to_bf16(x);
	}
}

int64_t kern_data_differ(const float *a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (num_bits(a[i]) != num_bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]))
			return (int64_t)i;
	return -1;
}

void kern_data_act(double *x, const struct kern_act *a, int row, int k)
{
	for (int i = 0; i < k; i++)
		if (a->form == KERN_FORM_F32)
			x[i] = (double)act_f(a, row)[i];
		else if (a->form == KERN_FORM_BF16)
			x[i] = (double)act_f(a, row)[i];
		else if (a->form == KERN_FORM_Q8)
			x[i] = (double)act_q8(a, row)[i / 32].d * act_q8(a, row)[i / 32].q[i % 32];
		else
			x[i] = (double)act_q8k(a, row)[i / 256].d *
			       act_q8k(a, row)[i / 256].q[i % 256];
}
