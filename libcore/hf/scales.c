/* hf/scales.c - check and read scales of quantised weights. */
#include "hf/scales.h"
#include "base/num.h"
#include "hf/tensors.h"

#include <math.h>

float hf_scales_get(const struct hf_scales *s, int64_t i)
{
	const unsigned char *p = s->at + (size_t)i * safetensors_dtype_bytes(s->dtype);

	switch (s->dtype) {
	case ST_F32:
		return num_float(num_u32(p));
	case ST_F16:
		return num_f16(num_u16(p));
	case ST_BF16:
		return num_bf16(num_u16(p));
	default:
		return num_e8m0(*p);
	}
}

/* Count the bits of the significand without trailing zeros; 24 if products with x could overflow or
 * underflow. */
static int count_bits(float x)
{
	uint32_t m = num_bits(x) & 0x7fffff;

	if (x == 0)
		return 0;
	if (fabsf(x) < 0x1p-100f || fabsf(x) > 0x1p+100f)
		return 24;
	return m ? 24 - __builtin_ctz(m) : 1;
}

static int is_power(float x)
{
	return !(num_bits(x) & 0x807fffff) && x >= 0x1p-116f && x <= 0x1p+100f;
}

static int read_scales(const struct hf_dir *d, const struct safetensors_tensor *t,
                       struct hf_scales *s, infer_error *err)
{
	s->f16 = s->powers = 1;
	s->bits = 0;
	for (int64_t i = 0; i < s->rows * s->cols; i++) {
		float x = hf_scales_get(s, i);
		int bits = count_bits(x);

		if (!isfinite(x))
			return hf_bad_tensor(d, t, INFER_EFORMAT, err,
			                     "scale %lld is not a finite number", (long long)i);
		s->f16 &= num_f16(num_to_f16(x)) == x;
		s->powers &= is_power(x);
		s->bits = bits > s->bits ? bits : s->bits;
	}
	return INFER_OK;
}

static int64_t count_of(const struct safetensors_tensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->n_dims; i++)
		n *= t->shape[i];
	return n;
}

/* True if the shape is rows x cols when dimensions of 1 are dropped.  A vector has one column. */
static int is_matrix(const struct safetensors_tensor *t, int64_t rows, int64_t cols)
{
	int64_t have[2] = { 1, 1 }, want[2] = { 1, 1 };
	int n = 0, k = 0;

	for (int i = 0; i < t->n_dims; i++)
		if (t->shape[i] != 1) {
			if (n == 2)
				return 0;
			have[n++] = t->shape[i];
		}
	if (rows != 1)
		want[k++] = rows;
	if (cols != 1)
		want[k] = cols;
	return have[0] == want[0] && have[1] == want[1];
}

static int wrong_shape(const struct hf_dir *d, const struct safetensors_tensor *t, int64_t rows,
                       int64_t cols, infer_error *err)
{
	return hf_bad_tensor(d, t, INFER_EFORMAT, err,
	                     "%lld elements in %d dimensions, must be [%lld, %lld]",
	                     (long long)count_of(t), t->n_dims, (long long)rows, (long long)cols);
}

int hf_part_check(const struct hf_dir *d, const struct safetensors_tensor *t, int dtype,
                  int64_t rows, int64_t cols, infer_error *err)
{
	if (t->dtype != dtype)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "dtype %s, must be %s",
		                     safetensors_dtype_name(t->dtype),
		                     safetensors_dtype_name(dtype));
	return is_matrix(t, rows, cols) ? INFER_OK : wrong_shape(d, t, rows, cols, err);
}

int hf_scales_open(const struct hf_dir *d, const struct safetensors_tensor *t, int64_t rows,
                   int64_t cols, int64_t high, int64_t wide, struct hf_scales *s, infer_error *err)
{
	*s = (struct hf_scales){ t->data, t->dtype, rows, cols, high, wide, 0, 0, 0 };
	if (t->dtype != ST_F32 && t->dtype != ST_F16 && t->dtype != ST_BF16 &&
	    t->dtype != ST_F8_E8M0 && t->dtype != ST_U8)
		return hf_bad_tensor(d, t, INFER_EUNSUP, err,
		                     "scales of dtype %s are not supported",
		                     safetensors_dtype_name(t->dtype));
	if (!is_matrix(t, rows, cols))
		return wrong_shape(d, t, rows, cols, err);
	return read_scales(d, t, s, err);
}
