/* hf/pack_hqq.c - HQQ (https://github.com/mobiusml/hqq) with groups along rows (axis 1), 2, 4 and 8 bits.
 *
 * A weight [out, in] is flattened into G groups of group_size codes; scale and zero are [G].  A byte of 8 / bits codes
 * has those of groups g, g + S, g + 2 S ... for S = G bits / 8, the first one in its highest bits.
 * value = (code - zero) scale.  The library computes it in F16 or BF16; here scale and (c - zero)
 * scale are rounded to F32, with c the zero point of the result's type. */
#include "base/err.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/scales.h"
#include "hf/tensors.h"
#include "type/block.h"

#include <string.h>

enum {
	P_WQ,
	P_SCALE,
	P_ZERO,
	P_NBITS,
	P_GROUP,
	P_SHAPE,
	P_AXIS,
	P_FLOAT,
	P_QUANT_SCALE,
	P_QUANT_ZERO
};

struct hqq {
	struct hf_scales scale, zero;
	int64_t slab; /* rows of the tensor W_q */
};

static const struct hf_member params[] = {
	{ .key = "nbits", .kind = MEMBER_WHOLE, .low = 1, .high = 8 },
	{ .key = "group_size", .kind = MEMBER_WHOLE, .low = 1, .high = 1 << 20 },
	{ .key = "axis", .kind = MEMBER_WHOLE, .low = 1, .high = 1 },
	{ .key = "view_as_float", .kind = MEMBER_FALSE },
	{ .key = "channel_wise", .kind = MEMBER_TRUE },
	/* parameters of the quantiser */
	{ .key = "optimize", .kind = MEMBER_BOOL },
	{ .key = "round_zero", .kind = MEMBER_BOOL },
};
/* Members of a "quant_scale" or "quant_zero" config: they must not be quantised themselves. */
static const struct hf_member settings[] = {
	{ .key = "weight_quant_params", .kind = MEMBER_ANY },
	{ .key = "scale_quant_params", .kind = MEMBER_FALSE },
	{ .key = "zero_quant_params", .kind = MEMBER_FALSE },
	{ .key = "offload_meta", .kind = MEMBER_FALSE },
};
static const struct hf_member members[] = {
	{ .key = "quant_method", .kind = MEMBER_STRING, .words = "hqq" },
	{ .key = "quant_config", .kind = MEMBER_ANY },
	{ .key = "skip_modules", .kind = MEMBER_LIST },
};

static int check_settings(struct hf_dir *d, const struct json *q, infer_error *err)
{
	const struct json *weights = json_get(q, "weight_quant_params");

	TRY(HF_CHECK_MEMBERS(d, q, settings, err));
	if (!json_is_object(weights))
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"weight_quant_params\" must be an object");
	return HF_CHECK_MEMBERS(d, weights, params, err);
}

/* Read "quant_config": settings of all modules, or an object of settings by kind of module. */
static int config_hqq(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	const struct json *all = json_get(q, "quant_config");

	*own = NULL;
	TRY(HF_CHECK_MEMBERS(d, q, members, err));
	if (!json_is_object(all))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"quant_config\" must be an object");
	if (json_get(all, "weight_quant_params"))
		return check_settings(d, all, err);
	json_each(v, all) {
		if (!json_is_object(v))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "each member of \"quant_config\" must be an object");
		TRY(check_settings(d, v, err));
	}
	return INFER_OK;
}

static int bad_hqq_part(struct hf_dir *d, const struct hf_packed *p, int part, int code,
                        infer_error *err, const char *why)
{
	return hf_bad_tensor(d, p->part[part], code, err, "%s", why);
}

/* Read the integer of a scalar tensor; `otherwise` if it is absent. */
static int read_scalar(struct hf_dir *d, const struct hf_packed *p, int part, int64_t otherwise,
                       int64_t *v, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[part];

	*v = otherwise;
	if (!t)
		return INFER_OK;
	if (t->dtype == ST_U8 && t->bytes == 1)
		*v = *t->data;
	else if (t->dtype == ST_I32 && t->bytes == 4)
		*v = (int32_t)num_u32(t->data);
	else
		return bad_hqq_part(d, p, part, INFER_EFORMAT, err,
		                    "must be one integer, of dtype I32 or U8");
	return INFER_OK;
}

static int check_scalar(struct hf_dir *d, const struct hf_packed *p, int part, int64_t want,
                        infer_error *err)
{
	int64_t v;

	TRY(read_scalar(d, p, part, want, &v, err));
	return v == want ? INFER_OK
	                 : hf_bad_tensor(d, p->part[part], INFER_EUNSUP, err,
	                                 "is %lld: must be %lld", (long long)v, (long long)want);
}

static int read_hqq_shape(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[P_SHAPE];

	for (int part = P_SCALE; part <= P_SHAPE; part++)
		if (!p->part[part])
			return hf_bad_tensor(d, p->part[P_WQ], INFER_EFORMAT, err,
			                     "there is no %s next to it", p->how->parts[part]);
	if (t->dtype != ST_I64 || t->bytes != 16)
		return bad_hqq_part(d, p, P_SHAPE, INFER_EFORMAT, err, "must be two I64");
	p->mats = 1;
	p->rows = (int64_t)num_u64(t->data);
	p->cols = (int64_t)num_u64(t->data + 8);
	if (p->rows < 1 || p->cols < 1 || p->rows > INT32_MAX || p->cols > INT32_MAX)
		return bad_hqq_part(d, p, P_SHAPE, INFER_EFORMAT, err,
		                    "must be two positive integers");
	return INFER_OK;
}

static int read_sizes(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	int64_t bits, group;

	TRY(read_scalar(d, p, P_NBITS, 0, &bits, err));
	TRY(read_scalar(d, p, P_GROUP, 0, &group, err));
	TRY(check_scalar(d, p, P_AXIS, 1, err));
	TRY(check_scalar(d, p, P_FLOAT, 0, err));
	TRY(check_scalar(d, p, P_QUANT_SCALE, 0, err));
	TRY(check_scalar(d, p, P_QUANT_ZERO, 0, err));
	if (bits != 2 && bits != 4 && bits != 8)
		return bad_hqq_part(d, p, P_NBITS, INFER_EUNSUP, err, "must be 2, 4 or 8");
	if (group < 64 || group % 64 || p->cols % group)
		return bad_hqq_part(d, p, P_GROUP, INFER_EUNSUP, err,
		                    "must be a multiple of 64 that divides the columns");
	p->bits = (int)bits;
	p->group = (int)group;
	return INFER_OK;
}

static int open_hqq(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	struct hqq *h = arena_alloc(&d->arena, 1, sizeof *h);
	int64_t groups;

	if (!h)
		return hf_nomem(d, err);
	TRY(read_hqq_shape(d, p, err));
	TRY(read_sizes(d, p, err));
	groups = p->rows * p->cols / p->group;
	if (groups * p->bits % 8)
		return bad_hqq_part(d, p, P_WQ, INFER_EUNSUP, err,
		                    "its groups fill no whole number of rows");
	h->slab = groups * p->bits / 8;
	TRY(hf_part_check(d, p->part[P_WQ], ST_U8, h->slab, p->group, err));
	TRY(hf_scales_open(d, p->part[P_SCALE], groups, 1, 1, p->group, &h->scale, err));
	TRY(hf_scales_open(d, p->part[P_ZERO], groups, 1, 1, p->group, &h->zero, err));
	p->type = p->general = p->bits == 8 ? INFER_Q8_F : INFER_Q4_F;
	p->has_zeros = 1;
	p->own = h;
	return INFER_OK;
}

static void put_f32(uint8_t *to, double x)
{
	uint32_t bits = num_bits((float)x);

	memcpy(to, &bits, 4);
}

static void rows_hqq(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                     unsigned char *to)
{
	const struct hqq *h = p->own;
	int64_t first = row * p->cols / 64, blocks = n * p->cols / 64, each = p->group / 64;
	unsigned mask = (1U << p->bits) - 1;

	(void)mat;
	for (int64_t i = first; i < first + blocks; i++) {
		int64_t g = i / each;
		int shift = 8 - p->bits - (int)(g / h->slab) * p->bits;
		const unsigned char *from =
			p->part[P_WQ]->data + g % h->slab * p->group + i % each * 64;
		double d = (double)hf_scales_get(&h->scale, g),
		       z = (double)hf_scales_get(&h->zero, g);
		struct q4_f *q4 = (struct q4_f *)to;
		struct q8_f *q8 = (struct q8_f *)to;

		if (p->type == INFER_Q4_F) {
			put_f32(q4->d, d);
			put_f32(q4->m, (8 - z) * d);
			for (int j = 0; j < 32; j++)
				q4->qs[j] = (uint8_t)((from[j] >> shift & mask) |
				                      (from[j + 32] >> shift & mask) << 4);
			to += sizeof *q4;
		} else {
			put_f32(q8->d, d);
			put_f32(q8->m, (128 - z) * d);
			for (int j = 0; j < 64; j++)
				q8->q[j] = (int8_t)(from[j] - 128);
			to += sizeof *q8;
		}
	}
}

const struct packing packing_hqq = {
	.name = "HQQ",
	.methods = { "hqq" },
	.parts = { "W_q", "scale", "zero", "nbits", "group_size", "shape", "axis", "view_as_float",
	           "quant_scale", "quant_zero",
	           /* not read: layout in memory, and parameters of the quantiser */
	           "packing", "unpack_view_dtype", "compute_dtype", "offload_meta",
	           "encoded_state_dict", "stores_quant_config", "channel_wise", "optimize",
	           "round_zero" },
	.config = config_hqq,
	.open = open_hqq,
	.rows = rows_hqq,
};
