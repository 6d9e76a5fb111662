/* hf/pack_float.c - small floats with scales: E4M3, NVFP4, MXFP4. */
#include "base/num.h"
#include "hf/packs.h"
#include "hf/tensors.h"
#include "type/block.h"

#include <math.h>
#include <string.h>

int hf_plain_check(struct hf_dir *d, const void *own, const struct safetensors_tensor *t,
                   infer_error *err)
{
	static const char weight[] = ".weight";
	size_t n = sizeof weight - 1;
	(void)own;

	if (t->dtype == ST_F32 || t->dtype == ST_F16 || t->dtype == ST_BF16 || t->dtype == ST_F64 ||
	    t->name.len < n || memcmp(t->name.at + t->name.len - n, weight, n))
		return INFER_OK;
	return hf_bad_tensor(d, t, INFER_EFORMAT, err, "dtype %s without scales",
	                     safetensors_dtype_name(t->dtype));
}

int hf_factor_check(const struct hf_dir *d, const struct safetensors_tensor *t, float x,
                    infer_error *err)
{
	return isfinite(x) && x > 0 && isfinite(1 / x)
	               ? INFER_OK
	               : hf_bad_tensor(d, t, INFER_EFORMAT, err,
	                               "its value is %g, must be a finite number above 0",
	                               (double)x);
}

/* --- E4M3 */

int hf_e4m3_open(struct hf_dir *d, struct hf_packed *p, const struct hf_e4m3 *w, infer_error *err)
{
	p->bits = 8;
	if (p->cols % 64 == 0 && hf_scales_allow(&w->s, 64)) {
		p->type = INFER_F8_E4M3;
		return INFER_OK;
	}
	if (w->s.powers) { /* exact in BF16: E4M3 has 4 significant bits */
		p->type = INFER_BF16;
		return INFER_OK;
	}
	return hf_bad_tensor(d, w->scales, INFER_EUNSUP, err,
	                     "scales of %lld columns in rows of %lld weights: both must be "
	                     "multiples of 64",
	                     (long long)num_min(w->s.wide, p->cols), (long long)p->cols);
}

void hf_e4m3_rows(const struct hf_packed *p, const struct hf_e4m3 *w, int64_t row, int64_t n,
                  unsigned char *to)
{
	for (int64_t r = row; r < row + n; r++) {
		const unsigned char *from = w->at + r * p->cols;

		if (p->type == INFER_BF16) {
			for (int64_t c = 0; c < p->cols; c++, to += 2) {
				uint16_t h =
					num_to_bf16(hf_scale_of(&w->s, r, c) * block_e4m3(from[c]));
				memcpy(to, &h, 2);
			}
			continue;
		}
		for (int64_t c = 0; c < p->cols; c += 64, to += sizeof(struct f8_e4m3)) {
			struct f8_e4m3 *b = (void *)to;
			float scale = hf_scale_of(&w->s, r, c);
			memcpy(b->d, &scale, 4);
			memcpy(b->q, from + c, 64);
		}
	}
}

/* --- E2M1 */

int hf_nvfp4_open(struct hf_dir *d, struct hf_packed *p, const struct hf_fp4 *w,
                  const struct safetensors_tensor *t, infer_error *err)
{
	p->bits = 4;
	p->group = 16;
	p->type = w->tensor_scale == 1 ? INFER_NVFP4 : INFER_NVFP4_F;
	p->general = INFER_NVFP4_F;
	if (p->cols % 64)
		return hf_bad_tensor(d, t, INFER_EUNSUP, err,
		                     "rows of %lld weights, must be a multiple of 64",
		                     (long long)p->cols);
	for (int64_t i = 0; i < p->rows * p->cols / 16; i++)
		if (w->scales[i] >= 0x7f && w->scales[i] != 0x80)
			return hf_bad_tensor(
				d, t, INFER_EFORMAT, err, "scale %lld is %s", (long long)i,
				(w->scales[i] & 0x7f) == 0x7f ? "not a number" : "negative");
	return INFER_OK;
}

int hf_mxfp4_open(struct hf_dir *d, struct hf_packed *p, const struct safetensors_tensor *t,
                  infer_error *err)
{
	p->bits = 4;
	p->group = 32;
	p->type = INFER_MXFP4;
	if (p->cols % 32)
		return hf_bad_tensor(d, t, INFER_EUNSUP, err,
		                     "rows of %lld weights, must be a multiple of 32",
		                     (long long)p->cols);
	return INFER_OK;
}

/* Write 2 n codes, stored as pairs of neighbouring columns, as halves: column i < n is the low half
 * of byte i, n + i its high half. */
static void put_halves(const unsigned char *from, int n, uint8_t *to)
{
	for (int i = 0; i < n / 2; i++) {
		to[2 * i] = (uint8_t)((from[i] & 15) | from[n / 2 + i] << 4);
		to[2 * i + 1] = (uint8_t)(from[i] >> 4 | (from[n / 2 + i] & 0xf0));
	}
}

static void put_nvfp4(const struct hf_packed *p, const struct hf_fp4 *w, int64_t at,
                      unsigned char *to)
{
	struct nvfp4 *plain = (void *)to;
	struct nvfp4_f *b = (void *)to;
	uint8_t *s = p->type == INFER_NVFP4 ? plain->d : b->s,
		*qs = p->type == INFER_NVFP4 ? plain->qs : b->qs;

	if (p->type == INFER_NVFP4_F)
		memcpy(b->d, &w->tensor_scale, 4);
	for (int g = 0; g < 4; g++) {
		s[g] = w->scales[at / 16 + g] & 0x7f;
		put_halves(w->at + at / 2 + 8 * g, 8, qs + 8 * g);
	}
}

void hf_fp4_rows(const struct hf_packed *p, const struct hf_fp4 *w, int64_t row, int64_t n,
                 unsigned char *to)
{
	int each = p->type == INFER_MXFP4 ? 32 : 64;
	size_t bytes = (size_t)block_bytes((enum infer_type)p->type);

	for (int64_t at = row * p->cols; at < (row + n) * p->cols; at += each, to += bytes) {
		struct mxfp4 *b = (void *)to;

		if (p->type != INFER_MXFP4) {
			put_nvfp4(p, w, at, to);
			continue;
		}
		b->e = w->scales[at / 32];
		put_halves(w->at + at / 2, 16, b->qs);
	}
}
