/* hf/pack_int.c - repack integer codes with scales and zero points, by tiles of 32 inputs x 16
 * outputs. */
#include "hf/pack_int.h"
#include "base/err.h"
#include "base/num.h"
#include "hf/packs.h"
#include "hf/tensors.h"
#include "type/block.h"

#include <math.h>
#include <string.h>

/* Outputs processed together: their scales are cached and their rows written in parallel. */
enum { BAND = 128 };

static int zero_of(const struct hf_packed *p, int64_t group, int64_t out)
{
	const struct pack_int *g = p->own;

	return g->zero(p, group, out) + g->plus_one;
}

static const unsigned char *scale_at(const struct pack_int *g, int64_t group, int64_t out)
{
	return g->scales->data + (size_t)(group * g->scale_group + out * g->scale_out) *
	                                 safetensors_dtype_bytes(g->scales->dtype);
}

static float scale_of(const struct pack_int *g, int64_t group, int64_t out)
{
	const unsigned char *at = scale_at(g, group, out);

	switch (g->scales->dtype) {
	case ST_F16:
		return num_f16(num_u16(at));
	case ST_BF16:
		return num_bf16(num_u16(at));
	default:
		return num_float(num_u32(at));
	}
}

/* --- the type */

/* True if sums of products of s with numbers of `bits` bits are exact in binary32. */
static int has_few_bits(float s, int bits)
{
	return !(num_bits(s) & ((1u << bits) - 1)) &&
	       (s == 0 || (fabsf(s) >= 0x1p-118f && fabsf(s) <= 0x1p118f));
}

/* True if the size of a group, and so of a row, is a multiple of n inputs. */
static int is_whole(const struct hf_packed *p, int n)
{
	const struct pack_int *g = p->own;

	return p->cols % n == 0 && (g->groups == 1 || g->group % n == 0);
}

/* Check the scales, and set *t. */
static int find_traits(const struct hf_dir *d, const struct hf_packed *p, struct hf_int_traits *t,
                       infer_error *err)
{
	const struct pack_int *g = p->own;
	int half = 1 << (g->bits - 1);

	*t = (struct hf_int_traits){ .wide = g->bits == 8, .f16 = 1, .exact = 1 };
	t->by32 = is_whole(p, PACK_INT_RUN);
	t->by64 = is_whole(p, 64);
	for (int64_t group = 0; group < g->groups; group++)
		for (int64_t out = 0; out < p->rows; out++) {
			float s = scale_of(g, group, out);

			if (!isfinite(s))
				return hf_bad_tensor(d, g->scales, INFER_ENAN, err,
				                     "the scale of output %lld in group %lld is "
				                     "not finite",
				                     (long long)out, (long long)group);
			if (g->scales->dtype != ST_F16) {
				t->f16 &= num_f16(num_to_f16(s)) == s;
				t->exact &= has_few_bits(s, g->bits);
			}
			t->has_zeros |= zero_of(p, group, out) != half;
		}
	return INFER_OK;
}

int pack_int_open(struct hf_dir *d, struct hf_packed *p, int symmetric, infer_error *err)
{
	const struct pack_int *g = p->own;
	struct hf_int_traits t;

	TRY(find_traits(d, p, &t, err));
	p->bits = g->bits;
	p->group = g->groups == 1 ? 0 : (int)g->group;
	p->has_zeros = t.has_zeros;
	if (symmetric && t.has_zeros)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"sym\" or \"zero_point\" says that there are no zero points, "
		                    "but those of %.*s differ from %d",
		                    (int)num_min((int64_t)p->module.len, 80), p->module.at,
		                    1 << (g->bits - 1));
	p->type = hf_int_type(&t);
	p->general = hf_int_general(&t, p->type);
	if (p->type >= 0)
		return INFER_OK;
	if (!t.by64)
		return hf_bad_tensor(d, p->part[0], INFER_EUNSUP, err,
		                     "%s, in groups of %lld of %lld inputs: no type holds this "
		                     "exactly, only groups of a multiple of 64",
		                     !t.f16        ? "scales that are not F16"
		                     : t.has_zeros ? "zero points"
		                                   : "codes",
		                     (long long)g->group, (long long)p->cols);
	return hf_bad_tensor(d, g->scales, INFER_EUNSUP, err,
	                     "its scales have more bits than a product with zero points can hold "
	                     "exactly");
}

/* --- blocks of one output; w: its words in a tile, PACK_INT_COLS apart */

#define LOW 0x0f0f0f0f0f0f0f0fu

static uint64_t two_words(const uint32_t *w, int i)
{
	return w[i * PACK_INT_COLS] | (uint64_t)w[(i + 1) * PACK_INT_COLS] << 32;
}

/* Move byte i of x to byte 2 i, i = 0 ... 3. */
static uint64_t spread_bytes(uint64_t x)
{
	x = (x | x << 16) & 0x0000ffff0000ffffu;
	return (x | x << 8) & 0x00ff00ff00ff00ffu;
}

/* Write 16 bytes: low halves are the 16 codes of a, high halves those of b. */
static void put_halves(uint8_t *to, uint64_t a, uint64_t b)
{
	uint64_t even = (a & LOW) | (b & LOW) << 4, odd = (a >> 4 & LOW) | (b & ~LOW);
	uint64_t first = spread_bytes(even & 0xffffffffu) | spread_bytes(odd & 0xffffffffu) << 8,
		 second = spread_bytes(even >> 32) | spread_bytes(odd >> 32) << 8;

	memcpy(to, &first, 8);
	memcpy(to + 8, &second, 8);
}

/* Write 32 codes of 8 bits, minus 128. */
static void put_bytes(uint8_t *to, const uint32_t *w)
{
	for (int i = 0; i < PACK_INT_WORDS; i += 2) {
		uint64_t x = two_words(w, i) ^ 0x8080808080808080u;
		memcpy(to + 4 * i, &x, 8);
	}
}

/* --- rows */

/* A band: the rows of outputs first ... first + n - 1. */
struct band {
	const struct hf_packed *p;
	int64_t first;
	int n;
	int64_t group; /* group whose scales are loaded; -1: none */
	uint8_t f16[BAND][2];
	float d[BAND], m[BAND];
};

static int has_f16(int type) { return type == INFER_Q4_0 || type == INFER_Q8_0; }

static void load_group(struct band *b, int64_t group)
{
	const struct pack_int *g = b->p->own;
	int half = 1 << (g->bits - 1);

	b->group = group;
	for (int i = 0; i < b->n; i++) {
		int64_t out = b->first + i;

		if (has_f16(b->p->type) && g->scales->dtype == ST_F16) {
			memcpy(b->f16[i], scale_at(g, group, out), 2);
			continue;
		}
		b->d[i] = scale_of(g, group, out);
		if (has_f16(b->p->type)) {
			uint16_t h = num_to_f16(b->d[i]);
			memcpy(b->f16[i], &h, 2);
		} else {
			b->m[i] = b->d[i] * (float)(half - zero_of(b->p, group, out));
		}
	}
}

/* Widen codes of 2 bits to codes of 4 bits with the zero point 8. */
static void raise_codes(const struct pack_int *g, uint32_t w[PACK_INT_WORDS][PACK_INT_COLS])
{
	for (int i = 0; g->bits == 2 && i < 4; i++)
		for (int c = 0; c < PACK_INT_COLS; c++)
			w[i][c] += 0x66666666;
}

static void put_block(const struct band *b, int i, const uint32_t *w, const uint32_t *next,
                      unsigned char *to)
{
	const float head[2] = { b->d[i], b->m[i] };

	switch (b->p->type) {
	case INFER_Q4_0:
		memcpy(to, b->f16[i], 2);
		put_halves(to + 2, two_words(w, 0), two_words(w, 2));
		break;
	case INFER_Q8_0:
		memcpy(to, b->f16[i], 2);
		put_bytes(to + 2, w);
		break;
	case INFER_Q4_F:
		memcpy(to, head, 8);
		put_halves(to + 8, two_words(w, 0), two_words(next, 0));
		put_halves(to + 24, two_words(w, 2), two_words(next, 2));
		break;
	default:
		memcpy(to, head, 8);
		put_bytes(to + 8, w);
		put_bytes(to + 40, next);
	}
}

static void put_band(struct band *b, unsigned char *to)
{
	const struct pack_int *g = b->p->own;
	const struct infer_type_info *t = infer_type_info(b->p->type);
	int64_t blocks = b->p->cols / t->block;
	int runs = t->block / PACK_INT_RUN;
	size_t bytes = (size_t)t->block_bytes, row = (size_t)blocks * bytes;
	uint32_t w[2][PACK_INT_WORDS][PACK_INT_COLS] = { 0 };

	for (int64_t k = 0; k < blocks; k++) {
		if (k * t->block / g->group != b->group)
			load_group(b, k * t->block / g->group);
		for (int c = 0; c < b->n; c += PACK_INT_COLS) {
			int n = (int)num_min(b->n - c, PACK_INT_COLS);

			for (int r = 0; r < runs; r++) {
				g->codes(b->p, k * runs + r, b->first + c, n, w[r]);
				raise_codes(g, w[r]);
			}
			for (int i = 0; i < n; i++)
				put_block(b, c + i, &w[0][0][i], &w[1][0][i],
				          to + (size_t)(c + i) * row + (size_t)k * bytes);
		}
	}
}

void pack_int_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                   unsigned char *to)
{
	const struct infer_type_info *t = infer_type_info(p->type);
	size_t bytes = (size_t)(p->cols / t->block) * (size_t)t->block_bytes;
	(void)mat; /* always 0: one matrix */

	for (int64_t i = 0; i < n; i += BAND) {
		struct band b = { .p = p, .first = row + i, .group = -1 };

		b.n = (int)num_min(n - i, BAND);
		put_band(&b, to + (size_t)i * bytes);
	}
}
