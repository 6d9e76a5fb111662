/* kern/kv.c - write K and V to pages of the cache.  Plain C for all kernel sets, because a position
 * is written once and read many times. */
#include "kern/kv.h"
#include <math.h>
#include <string.h>
#include "base/err.h"
#include "base/num.h"
#include "type/type.h"

enum { BLOCK = 32, HALF = BLOCK / 2 };

int kern_kv_block(int type)
{
	switch (type) {
	case INFER_F32:
	case INFER_F16:
	case INFER_Q8_0:
	case INFER_Q4_0:
		return infer_type_info(type)->block;
	default:
		return 0;
	}
}

size_t kern_kv_bytes(int type, int dim)
{
	int block = kern_kv_block(type);

	return block && dim % block == 0 ? KERN_PAGE * type_row_bytes(type, dim) : 0;
}

/* Return 1 / d, or 0 if every element has to read back as 0 times d. */
static float inverse(float d)
{
	float size = fabsf(d);

	return size >= 0x1p-126f && size <= 0x1.fffffep127f ? 1.0f / d : 0.0f;
}

static float flush_subnormal(float d) { return fabsf(d) < 0x1p-126f ? d * 0.0f : d; }

/* Return the element of largest magnitude of a block; NaN counts above infinity. */
static float largest(const float *x)
{
	uint32_t most = num_bits(x[0]) & 0x7fffffff;
	float at = x[0];

	for (int i = 1; i < BLOCK; i++) {
		uint32_t size = num_bits(x[i]) & 0x7fffffff;
		if (size > most) {
			most = size;
			at = x[i];
		}
	}
	return at;
}

static int nearest(float x)
{
	int t = (int)x;
	float shift_terms = x - (float)t;

	return t + (shift_terms >= 0.5f) - (shift_terms <= -0.5f);
}

static uint16_t quant_q8_0(uint8_t q[BLOCK], const float *x)
{
	float d = fabsf(largest(x)) / 127.0f, by = inverse(d);

	for (int i = 0; i < BLOCK; i++)
		q[i] = by == 0 ? 0 : (uint8_t)nearest(x[i] * by);
	return num_to_f16(flush_subnormal(d));
}

static uint16_t quant_q4_0(uint8_t q[BLOCK], const float *x)
{
	float d = largest(x) / -8.0f, by = inverse(d);

	for (int i = 0; i < BLOCK; i++)
		q[i] = by == 0 ? 8 : (uint8_t)num_min(15, (int)fmaf(x[i], by, 8.5f));
	return num_to_f16(flush_subnormal(d));
}

/* Quantise a block of a row to codes q, one byte each, which the caller packs.  Returns the scale,
 * F16. */
static uint16_t quant_block(uint8_t q[BLOCK], int type, const float *x)
{
	return type == INFER_Q8_0 ? quant_q8_0(q, x) : quant_q4_0(q, x);
}

/* Set the low or the high half of *to to q; keep the other half. */
static void put_nibble(uint8_t *to, int high, uint8_t q)
{
	*to = (uint8_t)(high ? (*to & 15) | q << 4 : (*to & 0xf0) | q);
}

static uint16_t *scales(void *page, int type, int dim)
{
	size_t codes = (size_t)KERN_PAGE * (size_t)dim / (type == INFER_Q8_0 ? 1 : 2);

	return (uint16_t *)(void *)((unsigned char *)page + codes);
}

/* Return the byte in which element i of four is stored: the order 0, 2, 1, 3 puts elements 0 and 1
 * in the low bytes of two 16-bit halves. */
static int lane_byte(int i) { return i % 4 / 2 + i % 2 * 2; }

static void k_put_block(uint8_t *page, int type, int at, int b, const uint8_t *q)
{
	for (int i = 0; i < BLOCK; i++)
		if (type == INFER_Q8_0)
			page[((b * BLOCK + i) / 4 * KERN_PAGE + at) * 4 + lane_byte(i)] =
				q[i] ^ 0x80;
		else
			put_nibble(&page[((b * HALF + i % HALF) / 4 * KERN_PAGE + at) * 4 +
			                 lane_byte(i)],
			           i >= HALF, q[i]);
}

static void v_put_block(uint8_t *page, int type, int at, int b, int dim, const uint8_t *q)
{
	for (int i = 0; i < BLOCK; i++)
		if (type == INFER_Q8_0)
			page[(at / 4 * dim + b * BLOCK + i) * 4 + lane_byte(at)] = q[i] ^ 0x80;
		else
			put_nibble(&page[((at / 4 * (dim / BLOCK) + b) * HALF + i % HALF) * 4 +
			                 lane_byte(at)],
			           i >= HALF, q[i]);
}

void kern_k_put(const struct kern *kern, void *page, int type, int at, const float *x, int dim)
{
	uint8_t q[BLOCK];
	uint16_t h[BLOCK];

	must(kern_kv_bytes(type, dim) && at >= 0 && at < KERN_PAGE);
	for (int i = 0; type == INFER_F32 && i < dim; i++)
		((float *)page)[i * KERN_PAGE + at] = x[i];
	for (int i = 0; type == INFER_F16 && i < dim; i += BLOCK) {
		int n = dim - i < BLOCK ? dim - i : BLOCK;
		kern->to_f16(h, x + i, n);
		for (int j = 0; j < n; j++)
			((uint16_t *)page)[(i + j) * KERN_PAGE + at] = h[j];
	}
	for (int b = 0; kern_kv_block(type) == BLOCK && b < dim / BLOCK; b++) {
		scales(page, type, dim)[b * KERN_PAGE + at] = quant_block(q, type, x + b * BLOCK);
		k_put_block(page, type, at, b, q);
	}
}

void kern_v_put(const struct kern *kern, void *page, int type, int at, const float *x, int dim)
{
	uint8_t q[BLOCK];

	must(kern_kv_bytes(type, dim) && at >= 0 && at < KERN_PAGE);
	if (type == INFER_F32)
		memcpy((float *)page + (size_t)at * (size_t)dim, x, (size_t)dim * sizeof *x);
	if (type == INFER_F16)
		kern->to_f16((uint16_t *)page + (size_t)at * (size_t)dim, x, dim);
	for (int b = 0; kern_kv_block(type) == BLOCK && b < dim / BLOCK; b++) {
		scales(page, type, dim)[b * KERN_PAGE + at] = quant_block(q, type, x + b * BLOCK);
		v_put_block(page, type, at, b, dim, q);
	}
}

static void turn_each(uint16_t *v, const uint16_t *k, int from, int dv)
{
	for (int d = from; d < dv; d++)
		for (int p = 0; p < KERN_PAGE; p++)
			v[p * dv + d] = k[d * KERN_PAGE + p];
}

#if defined __has_builtin && __has_builtin(__builtin_shufflevector)
typedef uint16_t u16x8 __attribute__((vector_size(16)));

#define LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)

/* Interleave the elements of rows i and i + 4. */
static inline void zip(u16x8 *to, const u16x8 *a)
{
	to[0] = LOW(a[0], a[4]);
	to[1] = HIGH(a[0], a[4]);
	to[2] = LOW(a[1], a[5]);
	to[3] = HIGH(a[1], a[5]);
	to[4] = LOW(a[2], a[6]);
	to[5] = HIGH(a[2], a[6]);
	to[6] = LOW(a[3], a[7]);
	to[7] = HIGH(a[3], a[7]);
}

/* Transpose eight dimensions of eight positions by interleaving three times. */
static inline void turn_8x8(uint16_t *v, const uint16_t *k, int dv)
{
	u16x8 a[8], b[8];

	for (int i = 0; i < 8; i++)
		memcpy(&a[i], k + i * KERN_PAGE, sizeof a[i]);
	zip(b, a);
	zip(a, b);
	zip(b, a);
	for (int i = 0; i < 8; i++)
		memcpy(v + i * dv, &b[i], sizeof b[i]);
}

/* Transpose 32 dimensions at a time, so that whole cache lines are read and written. */
static void turn_f16(uint16_t *v, const uint16_t *k, int dv)
{
	int whole = dv / 32 * 32;

	for (int from = 0; from < whole; from += 32)
		for (int p = 0; p < KERN_PAGE; p += 8)
			for (int d = from; d < from + 32; d += 8)
				turn_8x8(v + p * dv + d, k + d * KERN_PAGE + p, dv);
	turn_each(v, k, whole, dv);
}
#else
static void turn_f16(uint16_t *v, const uint16_t *k, int dv) { turn_each(v, k, 0, dv); }
#endif

static void turn_f32(float *v, const float *k, int dv)
{
	for (int d = 0; d < dv; d++)
		for (int p = 0; p < KERN_PAGE; p++)
			v[p * dv + d] = k[d * KERN_PAGE + p];
}

/* Transpose bytes: from four dimensions of a position to four positions of a dimension.  A byte of
 * Q4_0 is two dimensions in both layouts.  of: bytes of a block. */
static void turn_codes(uint8_t *v, const uint8_t *k, int of, int blocks)
{
	for (int b = 0; b < blocks; b++)
		for (int i = 0; i < of; i++)
			for (int p = 0; p < KERN_PAGE; p++)
				v[((p / 4 * blocks + b) * of + i) * 4 + lane_byte(p)] =
					k[((b * of + i) / 4 * KERN_PAGE + p) * 4 + lane_byte(i)];
}

void kern_k_turn(void *v, const void *k, int type, int dk, int dv)
{
	must(kern_kv_bytes(type, dk) && kern_kv_bytes(type, dv) && dv <= dk);
	if (type == INFER_F32) {
		turn_f32(v, k, dv);
	} else if (type == INFER_F16) {
		turn_f16(v, k, dv);
	} else {
		turn_codes(v, k, type == INFER_Q8_0 ? BLOCK : HALF, dv / BLOCK);
		memcpy(scales(v, type, dv),
		       (const unsigned char *)k + kern_kv_bytes(type, dk) -
		               (size_t)(dk / BLOCK) * KERN_PAGE * 2,
		       (size_t)(dv / BLOCK) * KERN_PAGE * 2);
	}
}
