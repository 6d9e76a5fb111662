/* hf/pack_codes.c - integers of 4 and 8 bits: value = scale x (code - zero point). */
#include "base/num.h"
#include "hf/packs.h"
#include "hf/tensors.h"
#include "type/block.h"

#include <string.h>

static int is_wide(const struct hf_ints *w) { return w->codes != CODES_U4; }

/* Return the zero point of a row and group g, as stored: 0 ... 15, 0 ... 255, or -128 ... 127. */
static int zero_at(const struct hf_ints *w, int64_t row, int64_t g)
{
	int bits = is_wide(w) ? 8 : 4;
	int64_t word = row * bits / 32 * w->s.cols + g;

	if (!w->zeros)
		return w->codes == CODES_I8 ? 0 : 1 << (bits - 1);
	if (w->codes == CODES_I8)
		return (int8_t)w->zeros[row * w->s.cols + g];
	return (int)(num_u32(w->zeros + 4 * word) >> row * bits % 32 & ((1u << bits) - 1));
}

static int code_at(const struct hf_packed *p, const struct hf_ints *w, int64_t row, int64_t col)
{
	int64_t c = w->order ? w->order[col] : col;

	switch (w->codes) {
	case CODES_U4:
		return w->at[(row * p->cols + c) / 2] >> c % 2 * 4 & 15;
	case CODES_U8:
		return w->at[row * p->cols + c];
	case CODES_I8:
		return (int8_t)w->at[row * p->cols + c];
	}
	return 0;
}

/* True if F16 holds the offset -scale x zero point of every group. */
static int offsets_fit_f16(const struct hf_packed *p, const struct hf_ints *w)
{
	for (int64_t r = 0; r < p->rows; r++)
		for (int64_t g = 0; g < w->s.cols; g++) {
			float m = -hf_scale_of(&w->s, r, g * w->s.wide) * (float)zero_at(w, r, g);
			if (num_f16(num_to_f16(m)) != m)
				return 0;
		}
	return 1;
}

int hf_int_type(const struct hf_int_traits *t)
{
	if (!t->has_zeros && t->f16 && t->by32)
		return t->wide ? INFER_Q8_0 : INFER_Q4_0;
	if (t->by64 && (!t->has_zeros || t->exact))
		return t->wide ? INFER_Q8_F : INFER_Q4_F;
	return -1;
}

int hf_int_general(const struct hf_int_traits *t, int type)
{
	if (!t->by64)
		return 0;
	if (type == INFER_Q8_0)
		return INFER_Q8_F;
	return type == INFER_Q4_0 || (type == INFER_Q4_1 && t->exact) ? INFER_Q4_F : 0;
}

/* Sums of scale x difference of codes are exact if they fit a float's 24 bits: 19 of the scale + 5,
 * or 15 + 9 for codes of 8 bits. */
static struct hf_int_traits find_traits(const struct hf_packed *p, const struct hf_ints *w)
{
	return (struct hf_int_traits){ .wide = is_wide(w),
		                       .has_zeros = w->zeros != NULL,
		                       .f16 = w->s.f16,
		                       .by32 = p->cols % 32 == 0 && hf_scales_allow(&w->s, 32),
		                       .by64 = p->cols % 64 == 0 && hf_scales_allow(&w->s, 64),
		                       .exact = w->s.bits <= (is_wide(w) ? 15 : 19) };
}

/* Return the enum infer_type, or -1.  Codes of 4 bits with zero points may also become Q4_1, or
 * 8-bit values code - zero point. */
static int choose_type(const struct hf_packed *p, const struct hf_ints *w)
{
	struct hf_int_traits t = find_traits(p, w);
	int type;

	if (!t.wide && t.has_zeros && t.by32 && t.f16 && offsets_fit_f16(p, w))
		return INFER_Q4_1;
	type = hf_int_type(&t);
	if (type >= 0 || t.wide || !t.has_zeros)
		return type;
	t.wide = 1;
	t.has_zeros = 0;
	return hf_int_type(&t);
}

int hf_ints_open(struct hf_dir *d, struct hf_packed *p, const struct hf_ints *w, infer_error *err)
{
	const struct hf_int_traits traits = find_traits(p, w);

	p->type = choose_type(p, w);
	p->general = hf_int_general(&traits, p->type);
	p->bits = is_wide(w) ? 8 : 4;
	p->has_zeros = w->zeros != NULL;
	if (p->type >= 0)
		return INFER_OK;
	if (w->zeros && is_wide(w) && traits.by64)
		return hf_bad_tensor(d, w->scales, INFER_EUNSUP, err,
		                     "%d significant bits: no type holds them together with zero "
		                     "points of 8 bits",
		                     w->s.bits);
	if (p->cols % 32 || !hf_scales_allow(&w->s, 32))
		return hf_bad_tensor(d, w->scales, INFER_EUNSUP, err,
		                     "groups of %lld in rows of %lld weights, must be multiples "
		                     "of 32",
		                     (long long)num_min(w->s.wide, p->cols), (long long)p->cols);
	return hf_bad_tensor(
		d, w->scales, INFER_EUNSUP, err,
		"groups of %lld in rows of %lld weights must be multiples of 64, because "
		"F16 does not hold the scales exactly",
		(long long)num_min(w->s.wide, p->cols), (long long)p->cols);
}

/* Write the codes of 2 n columns from `first` on as n bytes: column i < n in the low half of byte
 * i, column n + i in its high half. */
static inline void put_halves(const struct hf_packed *p, const struct hf_ints *w, int64_t row,
                              int64_t first, int n, uint8_t *to)
{
	uint8_t from[32], out[32];

	if (w->order) {
		for (int i = 0; i < n; i++)
			to[i] = (uint8_t)(code_at(p, w, row, first + i) |
			                  code_at(p, w, row, first + n + i) << 4);
		return;
	}
	memcpy(from, w->at + (row * p->cols + first) / 2, (size_t)n);
	for (int i = 0; i < n / 2; i++) {
		out[2 * i] = (uint8_t)((from[i] & 15) | from[n / 2 + i] << 4);
		out[2 * i + 1] = (uint8_t)(from[i] >> 4 | (from[n / 2 + i] & 0xf0));
	}
	memcpy(to, out, (size_t)n);
}

/* Write code - zero, which fits 8 bits, of n columns from `first` on. */
static inline void put_bytes(const struct hf_packed *p, const struct hf_ints *w, int64_t row,
                             int64_t first, int zero, int n, int8_t *to)
{
	uint8_t out[64];

	if (w->order || w->codes == CODES_U4) {
		for (int i = 0; i < n; i++)
			to[i] = (int8_t)(code_at(p, w, row, first + i) - zero);
		return;
	}
	memcpy(out, w->at + row * p->cols + first, (size_t)n);
	for (int i = 0; i < n; i++)
		out[i] = (uint8_t)(out[i] - zero);
	memcpy(to, out, (size_t)n);
}

static void put_f16(uint8_t to[2], float x)
{
	uint16_t h = num_to_f16(x);

	memcpy(to, &h, 2);
}

/* Write one block of p->type from column c on. */
static void put_block(const struct hf_packed *p, const struct hf_ints *w, int64_t row, int64_t c,
                      unsigned char *to)
{
	int zero = zero_at(w, row, c / w->s.wide), eight = is_wide(w);
	float d = hf_scale_of(&w->s, row, c), m = d * (float)((eight ? 0 : 8) - zero);
	struct q4_0 *q4_0 = (void *)to;
	struct q4_1 *q4_1 = (void *)to;
	struct q4_f *q4_f = (void *)to;
	struct q8_0 *q8_0 = (void *)to;
	struct q8_f *q8_f = (void *)to;

	switch (p->type) {
	case INFER_Q4_0:
		put_f16(q4_0->d, d);
		put_halves(p, w, row, c, 16, q4_0->qs);
		break;
	case INFER_Q4_1:
		put_f16(q4_1->d, d);
		put_f16(q4_1->m, -d * (float)zero);
		put_halves(p, w, row, c, 16, q4_1->qs);
		break;
	case INFER_Q4_F:
		memcpy(q4_f->d, &d, 4);
		memcpy(q4_f->m, &m, 4);
		put_halves(p, w, row, c, 32, q4_f->qs);
		break;
	case INFER_Q8_0:
		put_f16(q8_0->d, d);
		put_bytes(p, w, row, c, zero, 32, q8_0->q);
		break;
	default: /* Q8_F; with zero points, 8-bit codes are stored minus 128 if unsigned */
		m = w->zeros && eight ? d * (float)((w->codes == CODES_U8 ? 128 : 0) - zero) : 0;
		zero = w->zeros && eight ? (w->codes == CODES_U8 ? 128 : 0) : zero;
		memcpy(q8_f->d, &d, 4);
		memcpy(q8_f->m, &m, 4);
		put_bytes(p, w, row, c, zero, 64, q8_f->q);
	}
}

void hf_ints_rows(const struct hf_packed *p, const struct hf_ints *w, int64_t row, int64_t n,
                  unsigned char *to)
{
	int each = p->type == INFER_Q4_F || p->type == INFER_Q8_F ? 64 : 32;
	size_t bytes = (size_t)block_bytes((enum infer_type)p->type);

	for (int64_t r = row; r < row + n; r++)
		for (int64_t c = 0; c < p->cols; c += each, to += bytes)
			put_block(p, w, r, c, to);
}
