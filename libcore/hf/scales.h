/* hf/scales.h (private) - the scales of a quantised weight matrix: one number for each block of high x wide
 * weights.  Per tensor: one block; per channel: a block is a row; per group: 1 x group. */
#ifndef HF_SCALES_H
#define HF_SCALES_H
#include "hf/hf.h"

struct hf_scales {
	const unsigned char *at;
	int dtype;          /* ST_F32, ST_F16, ST_BF16; ST_F8_E8M0 and ST_U8: 2^(x - 127) */
	int64_t rows, cols; /* sizes of the grid of scales */
	int64_t high, wide; /* rows and columns of weights that share a scale */
	/* set by hf_scales_open */
	int f16;    /* all scales are exact in F16 */
	int powers; /* all scales are powers of two, 2^-116 ... 2^100 */
	int bits; /* significant bits of the widest scale; 24 if one is outside 2^-100 ... 2^100 */
};
/* Open the scales t, and check that t has a supported dtype, rows x cols elements, one per block of
 * high x wide weights, and finite values.
 * INFER_EFORMAT; INFER_EUNSUP: the dtype */
int hf_scales_open(const struct hf_dir *d, const struct safetensors_tensor *t, int64_t rows,
                   int64_t cols, int64_t high, int64_t wide, struct hf_scales *s, infer_error *err);
/* Return element i of the grid. */
float hf_scales_get(const struct hf_scales *s, int64_t i);
/* Return the scale of a weight. */
static inline float hf_scale_of(const struct hf_scales *s, int64_t row, int64_t col)
{
	return hf_scales_get(s, row / s->high * s->cols + col / s->wide);
}
/* True if n consecutive columns, from a multiple of n on, have the same scale. */
static inline int hf_scales_allow(const struct hf_scales *s, int64_t n)
{
	return s->cols == 1 || s->wide % n == 0;
}
/* Fail unless t is rows x cols of dtype; dimensions of 1 are ignored.  key: source of the sizes,
 * for messages.
 * INFER_EFORMAT */
int hf_part_check(const struct hf_dir *d, const struct safetensors_tensor *t, int dtype,
                  int64_t rows, int64_t cols, infer_error *err);
#endif
