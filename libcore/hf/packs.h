/* hf/packs.h (private) - repack codes with scales, for methods that differ only in the names of
 * tensors.
 *   pack_codes.c  integers of 4 and 8 bits with zero points
 *   pack_float.c  E4M3, NVFP4, MXFP4
 *   pack_names.c  modules that a config excludes
 * Each hf_*_open sets p->type.  The caller has set p->rows and p->cols and checked the shapes.
 * INFER_EUNSUP: no type represents a tensor exactly; the message names the tensor */
#ifndef HF_PACKS_H
#define HF_PACKS_H
#include "hf/packed.h"
#include "hf/scales.h"

enum hf_codes {
	CODES_U4, /* [rows, cols / 2], even columns in the low halves of bytes: code + 8 */
	CODES_U8, /* [rows, cols]: code + 128 */
	CODES_I8
};
struct hf_ints {
	const unsigned char *at;
	enum hf_codes codes;
	struct hf_scales s;
	const struct safetensors_tensor *scales; /* for messages */
	/* Zero points; NULL: none.  CODES_I8: [rows, s.cols].  The other codes: [rows x bits / 32,
	 * s.cols] words of 32 bits, each with the zero points of 32 / bits rows, the first one in
	 * the lowest bits. */
	const unsigned char *zeros;
	const int32_t *order; /* see hf_packed.order */
};
int hf_ints_open(struct hf_dir *d, struct hf_packed *p, const struct hf_ints *w, infer_error *err);
void hf_ints_rows(const struct hf_packed *p, const struct hf_ints *w, int64_t row, int64_t n,
                  unsigned char *to);

/* Properties of an integer matrix, value = scale x (code - zero point), that decide its type. */
struct hf_int_traits {
	int wide;       /* codes of 8 bits, else of at most 4 */
	int has_zeros;  /* a zero point is not the middle code */
	int f16;        /* every scale is exact in F16 */
	int by32, by64; /* rows and groups are multiples of 32, of 64 */
	int exact;      /* sums of scale x code and -scale x zero point are exact in F32 */
};
/* Return the enum infer_type with the smallest blocks that represents the matrix exactly, or -1:
 * Q4_0 or Q8_0, else Q4_F or Q8_F. */
int hf_int_type(const struct hf_int_traits *t);
/* Return hf_packed.general for `type`: Q4_F or Q8_F if exact for these traits, else 0. */
int hf_int_general(const struct hf_int_traits *t, int type);

/* E4M3 codes [rows, cols] with scales. */
struct hf_e4m3 {
	const unsigned char *at;
	struct hf_scales s;
	const struct safetensors_tensor *scales;
};
int hf_e4m3_open(struct hf_dir *d, struct hf_packed *p, const struct hf_e4m3 *w, infer_error *err);
void hf_e4m3_rows(const struct hf_packed *p, const struct hf_e4m3 *w, int64_t row, int64_t n,
                  unsigned char *to);

/* E2M1 codes [rows, cols / 2], even columns in the low halves of bytes. */
struct hf_fp4 {
	const unsigned char *at;
	/* NVFP4: E4M3 [rows, cols / 16]; MXFP4: exponents [rows, cols / 32] */
	const unsigned char *scales;
	float tensor_scale; /* NVFP4: multiplies all scales */
};
/* t: the scales.  INFER_EFORMAT: a scale that is negative or NaN */
int hf_nvfp4_open(struct hf_dir *d, struct hf_packed *p, const struct hf_fp4 *w,
                  const struct safetensors_tensor *t, infer_error *err);
int hf_mxfp4_open(struct hf_dir *d, struct hf_packed *p, const struct safetensors_tensor *t,
                  infer_error *err);
/* packing->other: fail if t is a MODULE.weight of integers or E4M3, which needs scales.
 * INFER_EFORMAT */
int hf_plain_check(struct hf_dir *d, const void *own, const struct safetensors_tensor *t,
                   infer_error *err);
/* Fail unless x, the only element of t, is a finite number above 0.  INFER_EFORMAT */
int hf_factor_check(const struct hf_dir *d, const struct safetensors_tensor *t, float x,
                    infer_error *err);
/* Sorted names of modules, in d->brief. */
struct hf_names {
	const char *key; /* member of the config: "ignore" */
	const struct infer_str *at;
	int n;
};
/* Read member `key` of the quantisation config q, an array of strings or absent. */
int hf_names_read(struct hf_dir *d, const struct json *q, const char *key, struct hf_names *n,
                  infer_error *err);
/* Fail if the module of p is in n.  INFER_EFORMAT */
int hf_names_check(const struct hf_dir *d, const struct hf_names *n, const struct hf_packed *p,
                   infer_error *err);
/* Repack rows row ... row + n - 1, counted over all matrices, to NVFP4 or MXFP4 (p->type). */
void hf_fp4_rows(const struct hf_packed *p, const struct hf_fp4 *w, int64_t row, int64_t n,
                 unsigned char *to);
#endif
