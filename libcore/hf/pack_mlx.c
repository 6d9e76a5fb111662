/* hf/pack_mlx.c - MLX: groups of `group_size` codes of `bits` bits, in rows that are little-endian bit streams.
 *   affine  value = code * scale + bias
 *   mxfp4   OCP MX, groups of 32: E2M1 under a power of two
 *   nvfp4   groups of 16: E2M1 under an E4M3 scale
 * https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.quantize.html */
#include "base/err.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/scales.h"
#include "hf/tensors.h"
#include "type/block.h"

#include <math.h>
#include <string.h>

enum { P_SCALES, P_WEIGHT, P_BIASES };
enum mlx_mode { MLX_AFFINE, MLX_MXFP4, MLX_NVFP4 };

struct mlx {
	struct hf_scales scales, biases;
	int bits, shift; /* codes of the result's type are code - shift */
	enum mlx_mode mode;
};

/* --- config */

static const struct hf_member members[] = {
	{ .key = "group_size", .kind = MEMBER_WHOLE, .low = 16, .high = 128 },
	{ .key = "bits", .kind = MEMBER_WHOLE, .low = 2, .high = 8 },
	{ .key = "mode", .kind = MEMBER_STRING, .words = "affine mxfp4 nvfp4" },
	{ .key = "quant_method", .kind = MEMBER_STRING, .words = "mlx" },
	{ .key = "linear_class", .kind = MEMBER_STRING },
	{ .key = "quantize_embeddings", .kind = MEMBER_BOOL },
};

static int64_t whole_of(const struct json *q, const char *key, int64_t otherwise)
{
	const struct json *v = json_get(q, key);

	return json_is(v, JSON_INT) ? v->i : otherwise;
}

static enum mlx_mode mode_of(const struct json *q)
{
	const struct json *v = json_get(q, "mode");

	return json_equals(v, "mxfp4")   ? MLX_MXFP4
	       : json_equals(v, "nvfp4") ? MLX_NVFP4
	                                 : MLX_AFFINE;
}

/* Check bits and group size of the whole model, or of one module. */
static int check_sizes(struct hf_dir *d, const struct json *q, infer_error *err)
{
	int64_t bits = whole_of(q, "bits", 4), group = whole_of(q, "group_size", 64);
	enum mlx_mode mode = mode_of(q);

	if (bits == 7)
		return hf_bad_quant(d, INFER_EUNSUP, err, "\"bits\" is 7: must be 2 ... 6 or 8");
	if (mode == MLX_AFFINE && group != 32 && group != 64 && group != 128)
		return hf_bad_quant(d, INFER_EUNSUP, err,
		                    "\"group_size\" is %lld: must be 32, 64 or 128",
		                    (long long)group);
	if (mode != MLX_AFFINE && (bits != 4 || group != (mode == MLX_MXFP4 ? 32 : 16)))
		return hf_bad_quant(d, INFER_EUNSUP, err,
		                    "\"mode\" is %s: \"bits\" must be 4, \"group_size\" %d",
		                    mode == MLX_MXFP4 ? "mxfp4" : "nvfp4",
		                    mode == MLX_MXFP4 ? 32 : 16);
	return INFER_OK;
}

/* Check the members of one module: {"group_size": 64, "bits": 8}; false: not quantised. */
static int check_module(struct hf_dir *d, const struct json *v, infer_error *err)
{
	char name[FILE_QUOTE];

	if (json_is_bool(v))
		return INFER_OK;
	if (!json_is_object(v))
		return hf_bad_quant(d, INFER_EFORMAT, err, "%s must be an object, true or false",
		                    file_quote(name, v->key, v->key_n));
	TRY(HF_CHECK_MEMBERS(d, v, members, err));
	return check_sizes(d, v, err);
}

static int is_module(const struct json *v)
{
	return memchr(v->key, '.', v->key_n) != NULL || v->kind == JSON_OBJECT;
}

static int config_mlx(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	struct json *plain = json_new(&d->brief, JSON_OBJECT);

	*own = q;
	json_each(v, q) {
		struct json *copy;

		if (is_module(v)) {
			TRY(check_module(d, v, err));
			continue;
		}
		copy = json_share(&d->brief, v);
		if (copy) {
			copy->key = v->key;
			copy->key_n = v->key_n;
			json_append(plain, copy);
		}
	}
	if (!plain || d->brief.bad)
		return hf_nomem(d, err);
	TRY(HF_CHECK_MEMBERS(d, plain, members, err));
	if (mode_of(q) == MLX_AFFINE && (!json_get(q, "bits") || !json_get(q, "group_size")))
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"bits\" and \"group_size\" must be there");
	return check_sizes(d, q, err);
}

/* --- weights */

static int bad_mlx_part(struct hf_dir *d, const struct hf_packed *p, int part, int code,
                        infer_error *err, const char *why)
{
	return hf_bad_tensor(d, p->part[part], code, err, "%s", why);
}

/* Set p->mats, p->rows and p->cols from the shape of the weight. */
static int read_mlx_shape(struct hf_dir *d, struct hf_packed *p, int bits, infer_error *err)
{
	const struct safetensors_tensor *w = p->part[P_WEIGHT];

	if (w->dtype != ST_U32)
		return bad_mlx_part(d, p, P_WEIGHT, INFER_EFORMAT, err, "its dtype must be U32");
	if (w->n_dims != 2 && w->n_dims != 3)
		return bad_mlx_part(d, p, P_WEIGHT, INFER_EFORMAT, err,
		                    "must have two or three dimensions");
	p->mats = w->n_dims == 3 ? w->shape[0] : 1;
	p->rows = w->shape[w->n_dims - 2];
	p->cols = w->shape[w->n_dims - 1] * 32 / bits;
	if (p->mats < 1 || p->rows < 1 || p->cols < 1 || p->mats > INT32_MAX ||
	    p->rows > INT32_MAX || p->cols > INT32_MAX ||
	    p->cols * bits != w->shape[w->n_dims - 1] * 32)
		return bad_mlx_part(
			d, p, P_WEIGHT, INFER_EFORMAT, err,
			"its rows are no whole number of codes of the config's \"bits\"");
	return INFER_OK;
}

/* Check that scales or biases are [mats, rows, cols / group]. */
static int check_grid(struct hf_dir *d, const struct hf_packed *p, int part, infer_error *err)
{
	const struct safetensors_tensor *w = p->part[P_WEIGHT], *t = p->part[part];

	if (t->n_dims != w->n_dims || (t->n_dims == 3 && t->shape[0] != p->mats) ||
	    t->shape[t->n_dims - 2] != p->rows || t->shape[t->n_dims - 1] * p->group != p->cols)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err,
		                     "its shape must be that of the weight, %lld rows of %lld / %d",
		                     (long long)p->rows, (long long)p->cols, p->group);
	return INFER_OK;
}

static int read_grid(struct hf_dir *d, const struct hf_packed *p, int part, struct hf_scales *s,
                     infer_error *err)
{
	struct safetensors_tensor flat = *p->part[part];

	TRY(check_grid(d, p, part, err));
	flat.n_dims = 2;
	flat.shape[0] = p->mats * p->rows;
	flat.shape[1] = p->cols / p->group;
	return hf_scales_open(d, &flat, flat.shape[0], flat.shape[1], 1, p->group, s, err);
}

/* True if bias + shift * scale is exact in F32 for every group. */
static int shifts_exactly(const struct mlx *m)
{
	int64_t n = m->scales.rows * m->scales.cols;

	for (int64_t i = 0; i < n; i++) {
		/* exact in a double unless the exponents are far apart; then it is not exact in F32 either */
		double bias = (double)hf_scales_get(&m->biases, i),
		       by = m->shift * (double)hf_scales_get(&m->scales, i), sum = bias + by;
		if (sum - bias != by || sum - by != bias || (double)(float)sum != sum)
			return 0;
	}
	return 1;
}

/* Choose the type of an affine weight. */
static int choose_affine(struct hf_dir *d, struct hf_packed *p, struct mlx *m, infer_error *err)
{
	int fits = p->group % 64 == 0, four = m->bits <= 4;

	m->shift = four ? 8 : m->bits == 8 ? 128 : 0;
	if (fits)
		fits = shifts_exactly(m);
	p->has_zeros = 1;
	p->general = fits ? (four ? INFER_Q4_F : INFER_Q8_F) : INFER_Q4_1;
	if (four && m->scales.f16 && m->biases.f16)
		p->type = INFER_Q4_1;
	else if (fits)
		p->type = p->general;
	else
		p->type = -1;
	if (p->type >= 0)
		return INFER_OK;
	return hf_bad_tensor(d, p->part[P_SCALES], INFER_EUNSUP, err,
	                     p->group % 64
	                             ? "groups of %d of %d bits with scales and biases of %s: no "
	                               "type holds them exactly"
	                             : "groups of %d of %d bits: no type holds the sums of these "
	                               "scales and biases (%s) exactly",
	                     p->group, m->bits, safetensors_dtype_name(p->part[P_SCALES]->dtype));
}

static int open_affine(struct hf_dir *d, struct hf_packed *p, struct mlx *m, infer_error *err)
{
	if (!p->part[P_BIASES])
		return bad_mlx_part(d, p, P_SCALES, INFER_EFORMAT, err,
		                    "there are no biases next to it");
	TRY(read_grid(d, p, P_SCALES, &m->scales, err));
	TRY(read_grid(d, p, P_BIASES, &m->biases, err));
	return choose_affine(d, p, m, err);
}

/* Open mxfp4 or nvfp4: the scales are bytes, which the type stores without changes. */
static int open_fp4(struct hf_dir *d, struct hf_packed *p, struct mlx *m, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[P_SCALES];

	if (p->part[P_BIASES])
		return bad_mlx_part(d, p, P_BIASES, INFER_EFORMAT, err, "this mode has no biases");
	if (t->dtype != ST_U8)
		return bad_mlx_part(d, p, P_SCALES, INFER_EFORMAT, err, "its dtype must be U8");
	TRY(check_grid(d, p, P_SCALES, err));
	p->type = p->general = m->mode == MLX_MXFP4 ? INFER_MXFP4 : INFER_NVFP4;
	if (m->mode == MLX_NVFP4 && p->cols % 64)
		return bad_mlx_part(d, p, P_WEIGHT, INFER_EUNSUP, err,
		                    "its columns must be a multiple of 64");
	for (uint64_t i = 0; i < t->bytes && m->mode == MLX_NVFP4; i++)
		if (t->data[i] >= 0x7f)
			return bad_mlx_part(
				d, p, P_SCALES, INFER_EUNSUP, err,
				"a scale is negative or NaN, which NVFP4 does not hold");
	return INFER_OK;
}

static int open_mlx(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct json *q = p->own, *v = json_getn(q, p->module.at, p->module.len);
	struct mlx *m = arena_alloc(&d->arena, 1, sizeof *m);

	if (!m)
		return hf_nomem(d, err);
	if (!p->part[P_WEIGHT])
		return bad_mlx_part(d, p, P_SCALES, INFER_EFORMAT, err,
		                    "there is no weight next to it");
	if (json_is(v, JSON_FALSE))
		return bad_mlx_part(d, p, P_SCALES, INFER_EFORMAT, err,
		                    "config.json says false for this module");
	q = json_is_object(v) ? v : q;
	m->mode = mode_of(q);
	m->bits = (int)whole_of(q, "bits", 4);
	p->bits = m->bits;
	p->group = (int)whole_of(q, "group_size",
	                         m->mode == MLX_MXFP4   ? 32
	                         : m->mode == MLX_NVFP4 ? 16
	                                                : 64);
	p->own = m;
	TRY(read_mlx_shape(d, p, m->bits, err));
	return m->mode == MLX_AFFINE ? open_affine(d, p, m, err) : open_fp4(d, p, m, err);
}

/* --- repacking */

/* Read n codes of a row from column `col` on; bits * col is a multiple of 8. */
static void read_codes(uint8_t *out, const unsigned char *row, int64_t col, int n, int bits)
{
	const unsigned char *at = row + col * bits / 8;
	uint32_t word = 0;
	int have = 0;

	for (int i = 0; i < n; i++) {
		if (have < bits) {
			word |= (uint32_t)*at++ << have;
			have += 8;
		}
		out[i] = (uint8_t)(word & ((1U << bits) - 1));
		word >>= bits;
		have -= bits;
	}
}

static void put_f32(uint8_t *to, float x)
{
	uint32_t bits = num_bits(x);

	memcpy(to, &bits, 4);
}

static void put_f16(uint8_t *to, float x)
{
	uint16_t bits = num_to_f16(x);

	memcpy(to, &bits, 2);
}

/* Pack a block of codes as p->type. */
static void put_block(unsigned char *to, const struct hf_packed *p, const uint8_t *c, int64_t group)
{
	const struct mlx *m = p->own;
	float d = hf_scales_get(&m->scales, group), b = hf_scales_get(&m->biases, group);
	struct q4_1 *q41 = (struct q4_1 *)to;
	struct q4_f *q4f = (struct q4_f *)to;
	struct q8_f *q8f = (struct q8_f *)to;

	switch (p->type) {
	case INFER_Q4_1:
		put_f16(q41->d, d);
		put_f16(q41->m, b);
		for (int i = 0; i < 16; i++)
			q41->qs[i] = (uint8_t)(c[i] | c[i + 16] << 4);
		break;
	case INFER_Q4_F:
		put_f32(q4f->d, d);
		put_f32(q4f->m, (float)(b + (double)m->shift * d));
		for (int i = 0; i < 32; i++)
			q4f->qs[i] = (uint8_t)(c[i] | c[i + 32] << 4);
		break;
	default:
		put_f32(q8f->d, d);
		put_f32(q8f->m, (float)(b + (double)m->shift * d));
		for (int i = 0; i < 64; i++)
			q8f->q[i] = (int8_t)(c[i] - m->shift);
	}
}

/* Pack pairs of neighbouring codes as MXFP4, which pairs element j with j + 16, or NVFP4, j with j
 * + 8 of its group. */
static void put_fp4(unsigned char *to, const struct hf_packed *p, const uint8_t *c, int64_t group)
{
	const unsigned char *scale = p->part[P_SCALES]->data + group;
	struct mxfp4 *mx = (struct mxfp4 *)to;
	struct nvfp4 *nv = (struct nvfp4 *)to;

	if (p->type == INFER_MXFP4) {
		mx->e = *scale;
		for (int i = 0; i < 16; i++)
			mx->qs[i] = (uint8_t)(c[i] | c[i + 16] << 4);
		return;
	}
	memcpy(nv->d, scale, 4);
	for (int i = 0; i < 32; i++)
		nv->qs[i] = (uint8_t)(c[i / 8 * 16 + i % 8] | c[i / 8 * 16 + i % 8 + 8] << 4);
}

static void rows_mlx(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                     unsigned char *to)
{
	const struct mlx *m = p->own;
	const struct infer_type_info *type = infer_type_info(p->type);
	int64_t first = mat * p->rows + row, groups = p->cols / p->group;
	uint8_t codes[64];

	for (int64_t r = first; r < first + n; r++) {
		const unsigned char *from = p->part[P_WEIGHT]->data + r * p->cols * m->bits / 8;
		for (int64_t c = 0; c < p->cols; c += type->block, to += type->block_bytes) {
			read_codes(codes, from, c, type->block, m->bits);
			if (m->mode == MLX_AFFINE)
				put_block(to, p, codes, r * groups + c / p->group);
			else
				put_fp4(to, p, codes, r * groups + c / p->group);
		}
	}
}

const struct packing packing_mlx = {
	.name = "MLX",
	.methods = { "mlx" },
	.parts = { "scales", "weight", "biases" },
	.config = config_mlx,
	.open = open_mlx,
	.rows = rows_mlx,
};
