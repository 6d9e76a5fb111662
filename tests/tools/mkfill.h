/* tests/tools/mkfill.h - random tensors of any type: blocks of random bits under scales that give them a spread. */
#ifndef TESTS_MKFILL_H
#define TESTS_MKFILL_H
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/num.h"
#include "base/rng.h"
#include "mkvocab.h"
#include "type/type.h"

struct spec {
	const char *arch, *type, *tok, *pre, *scaling, *out;
	long layers, embd, heads, kv_heads, head_dim, ff, vocab, ctx, seed, rope_dim, orig_ctx,
		experts, experts_used, expert_ff, window, split;
	double rope_base, rope_factor, eps;
	long tied, bias, chat, fim;
	int type_id, moe, qk_norm, post_norm;
	const char *shape, *expert_type;
};

enum fill { RANDOM, ONES, FREQS, FADES }; /* FADES: below 0, and near it */

struct tensor {
	char name[64];
	int type, n_dims;
	int64_t ne[4];
	enum fill fill;
	float scale;               /* standard deviation; FREQS: the last divisor */
	const unsigned char *loud; /* NULL, or per row: 0 is sixteen times smaller */
	uint64_t seed;
	const struct spec *spec;
};

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static float unit(uint64_t *state) { return (float)(next(state) >> 40) * 0x1p-24f; }

static float normal(uint64_t *state)
{
	float sum = -6;

	for (int i = 0; i < 12; i++)
		sum += unit(state);
	return sum;
}

static void put_f16(uint8_t *at, float x)
{
	uint16_t h = num_to_f16(x);

	memcpy(at, &h, 2);
}

static void random_bits(uint8_t *at, size_t n, uint64_t *state)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t z = next(state);
		memcpy(at + i, &z, n - i < 8 ? n - i : 8);
	}
}

/* The f32 fields at the beginning of a block: a scale, and a minimum if there are two. */
static int wide_fields(const struct type *t)
{
	if (t == &type_q4_f || t == &type_q8_f)
		return 2;
	return t == &type_f8_e4m3 || t == &type_nf4 || t == &type_nvfp4_f;
}

static void set_wide(const struct type *t, uint8_t *at, float d, float second)
{
	memcpy(at, &d, 4);
	if (wide_fields(t) == 2)
		memcpy(at + 4, &second, 4);
	for (int i = 4; t == &type_nvfp4_f && i < 8; i++)
		at[i] = (uint8_t)(0x38 | (at[i] & 7)); /* from 1 to 2 */
	for (int i = 4; t == &type_f8_e4m3 && i < 68; i++)
		at[i] &= 0xbf; /* below 2, and no NaN */
}

/* Make d the scale of a block, second what goes with it in types with a minimum. */
static void set_scale(const struct type *t, uint8_t *at, float d, float second)
{
	uint16_t h = num_to_f16(d);

	if (t == &type_iq1_m)
		for (int k = 0; k < 4; k++)
			at[49 + 2 * k] = (uint8_t)((at[49 + 2 * k] & 15) | (h >> 4 * k & 15) << 4);
	if (t == &type_mxfp4)
		at[0] = (uint8_t)((num_bits(d) >> 23 & 255) + 1); /* the power of two below */
	for (int i = 0; t == &type_nvfp4 && i < 4; i++) {
		int code = (int)(num_bits(2 * d) >> 20 & 0x7ff) - ((127 - 7) << 3);
		at[i] = (uint8_t)(code < 1 ? 1 : code > 0x7e ? 0x7e : code);
	}
	if (wide_fields(t))
		set_wide(t, at, d, second);
	if (t->n_f16)
		put_f16(at + t->f16[0], d);
	if (t->n_f16 == 2)
		put_f16(at + t->f16[1], second);
}

/* Of each type: the spread of elements under scale 1; second field to first where their mean is 0. */
static struct spread {
	float std, ratio;
} spreads[INFER_TYPE_COUNT];

/* Fill one block with random bits.  Its elements have mean 0 and a standard deviation of about std. */
static void block(int type, uint8_t *at, float std, uint64_t *state)
{
	const struct type *t = type_get(type);
	const struct spread *s = &spreads[type];
	/* 1.04: root mean square of 0.5 ... 1.5 */
	float d = std / s->std / 1.04f * (0.5f + unit(state));

	random_bits(at, (size_t)t->info.block_bytes, state);
	if (s->ratio == 0 && t != &type_mxfp4 && t != &type_nvfp4 && next(state) & 1)
		d = -d; /* as the mean of the codes is not 0 */
	set_scale(t, at, d, d * s->ratio);
}

/* What block() divides by: mean of the elements under each of two scales alone, then the spread
 * under both. */
static void measure(int type)
{
	enum { BLOCKS = 2048 };
	const struct type *t = type_get(type);
	struct spread *s = &spreads[type];
	double sum[3] = { 0, 0, 0 };
	float x[256];
	uint8_t b[512];
	uint64_t state = 1;

	if (t->info.block == 1)
		return;
	for (int pass = t->n_f16 == 2 || wide_fields(t) == 2 ? 0 : 2; pass < 3; pass++) {
		for (int i = 0; i < BLOCKS; i++) {
			random_bits(b, (size_t)t->info.block_bytes, &state);
			set_scale(t, b, pass != 1, pass == 2 ? s->ratio : (float)pass);
			t->decode(x, b, 1);
			for (int j = 0; j < t->info.block; j++)
				sum[pass] += pass < 2 ? (double)x[j] : (double)x[j] * (double)x[j];
		}
		if (pass == 1)
			s->ratio = (float)(-sum[0] / sum[1]);
	}
	s->std = (float)sqrt(sum[2] / BLOCKS / t->info.block);
}

static void random_row(const struct tensor *t, uint8_t *to, int64_t row)
{
	uint64_t state = t->seed + (uint64_t)row * 0x2545f4914f6cdd1d;
	float std = t->scale * (t->loud && !t->loud[row] ? 0x1p-4f : 1);
	const struct type *type = type_get(t->type);

	for (int64_t i = 0; i < t->ne[0]; i += type->info.block, to += type->info.block_bytes) {
		float x = type->info.block == 1 ? std * normal(&state) : 0;
		uint16_t h = t->type == INFER_BF16 ? num_to_bf16(x) : num_to_f16(x);
		if (t->type == INFER_F32)
			memcpy(to, &x, 4);
		else if (type->info.block == 1)
			memcpy(to, &h, 2);
		else
			block(t->type, to, std, &state);
	}
}

static int make_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct tensor *t = user;
	size_t bytes = type_row_bytes(t->type, t->ne[0]);
	float *x = dst;

	(void)err;
	for (int64_t i = 0; t->fill == RANDOM && i < n; i++)
		random_row(t, (uint8_t *)dst + (size_t)i * bytes, row + i);
	if (t->fill == ONES) {
		uint64_t state = t->seed + (uint64_t)row;
		for (int64_t i = 0; i < t->ne[0]; i++)
			x[i] = 1 + 0.1f * normal(&state);
	}
	if (t->fill == FADES) {
		uint64_t state = t->seed + (uint64_t)row;
		for (int64_t i = 0; i < t->ne[0]; i++)
			x[i] = -0.02f - 0.3f * unit(&state);
	}
	for (int64_t i = 0; t->fill == FREQS && i < t->ne[0]; i++) {
		const struct spec *s = t->spec;
		if (strcmp(s->scaling, "llama3")) { /* longrope: any rising list */
			x[i] = 1 + (t->scale - 1) * (float)i / (float)t->ne[0];
			continue;
		}
		/* low_freq_factor 1, high_freq_factor 4 */
		double wavelen = 2 * 3.14159265358979323846 *
		                 fm_pow(s->rope_base, 2.0 * (double)i / (double)s->rope_dim);
		double smooth = ((double)s->orig_ctx / wavelen - 1) / (4 - 1);
		x[i] = wavelen < (double)s->orig_ctx / 4 ? 1
		       : wavelen > (double)s->orig_ctx
		               ? (float)s->rope_factor
		               : (float)(1 / ((1 - smooth) / s->rope_factor + smooth));
	}
	return INFER_OK;
}

struct model {
	struct tensor *at;
	int n, cap;
	const struct spec *spec;
	const unsigned char *words;
};

__attribute__((format(printf, 6, 7))) static struct tensor *
tensor(struct model *m, enum fill fill, int type, int64_t ne0, int64_t ne1, const char *name, ...)
{
	va_list ap;

	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 64;
		m->at = need(realloc(m->at, (size_t)m->cap * sizeof *m->at));
	}
	struct tensor *t = &m->at[m->n++];
	*t = (struct tensor){ .type = type,
		              .n_dims = ne1 ? 2 : 1,
		              .ne = { ne0, ne1 ? ne1 : 1, 1, 1 },
		              .fill = fill,
		              .spec = m->spec,
		              .scale = ne1 ? (float)(1 / sqrt((double)ne0)) : 0.1f };
	va_start(ap, name);
	vsnprintf(t->name, sizeof t->name, name, ap);
	va_end(ap);
	if (type_get(type)->info.block > 1 && spreads[type].std == 0)
		measure(type);
	t->seed = rng_hash((uint64_t)m->spec->seed, t->name, strlen(t->name));
	return t;
}
#endif
