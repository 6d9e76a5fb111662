/* hf/pack_bnb.c - bitsandbytes: NF4 weights of 4 bits (QLoRA, arXiv:2305.14314), and LLM.int8() (arXiv:2208.07339).
 *
 * 4 bit: a weight [out, in] is flattened; element 2 i is the high half of byte i.  Each `blocksize` elements share
 * a scale absmax, which may be quantised too: absmax = map[code] * nested_absmax[i / nested_blocksize] + offset.
 * value = nf4[code] * absmax.  The library rounds it to the dtype of the quant_state; here it stays in F32.
 * 8 bit: value = code * SCB[row] / 127. */
#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/scales.h"
#include "hf/tensors.h"
#include "type/block.h"
#include "type/nf4.h"

#include <math.h>
#include <string.h>

static const struct hf_member members[] = {
	{ .key = "quant_method", .kind = MEMBER_STRING, .words = "bitsandbytes" },
	{ .key = "load_in_4bit", .kind = MEMBER_BOOL },
	{ .key = "_load_in_4bit", .kind = MEMBER_BOOL },
	{ .key = "load_in_8bit", .kind = MEMBER_BOOL },
	{ .key = "_load_in_8bit", .kind = MEMBER_BOOL },
	{ .key = "bnb_4bit_compute_dtype",
	  .kind = MEMBER_STRING,
	  .words = "float32 float16 bfloat16" },
	{ .key = "bnb_4bit_quant_storage",
	  .kind = MEMBER_STRING,
	  .words = "uint8 int8 float16 bfloat16 float32" },
	{ .key = "bnb_4bit_quant_type", .kind = MEMBER_STRING, .words = "nf4 fp4" },
	{ .key = "bnb_4bit_use_double_quant", .kind = MEMBER_BOOL },
	/* treatment of activations: no effect on weights */
	{ .key = "llm_int8_enable_fp32_cpu_offload", .kind = MEMBER_BOOL },
	{ .key = "llm_int8_has_fp16_weight", .kind = MEMBER_FALSE },
	{ .key = "llm_int8_threshold", .kind = MEMBER_ANY },
	{ .key = "llm_int8_skip_modules", .kind = MEMBER_LIST },
	{ .key = "modules_to_not_convert", .kind = MEMBER_LIST },
};

static int is_true(const struct json *q, const char *key)
{
	return json_is(json_get(q, key), JSON_TRUE);
}

static int is_4bit(const struct json *q)
{
	return is_true(q, "load_in_4bit") || is_true(q, "_load_in_4bit");
}
static int is_8bit(const struct json *q)
{
	return is_true(q, "load_in_8bit") || is_true(q, "_load_in_8bit");
}

static int check_config(struct hf_dir *d, const struct json *q, infer_error *err)
{
	TRY(HF_CHECK_MEMBERS(d, q, members, err));
	if (is_4bit(q) == is_8bit(q))
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "one of \"load_in_4bit\" and \"load_in_8bit\" must be true");
	return INFER_OK;
}

/* --- 4 bit */

enum { B4_ABSMAX, B4_WEIGHT, B4_MAP, B4_STATE, B4_NESTED, B4_NESTED_MAP };

/* Scales of one weight. */
struct bnb4 {
	int64_t blocksize, nested_blocksize; /* nested_blocksize 0: absmax is F32 */
	float offset;
	const unsigned char *absmax, *nested, *map; /* F32; absmax U8 if quantised */
};

static int takes_4bit(const struct json *q) { return !is_8bit(q); }

static int config_4bit(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	const struct json *type = json_get(q, "bnb_4bit_quant_type");

	*own = NULL;
	TRY(check_config(d, q, err));
	if (!json_equals(type, "nf4"))
		return hf_bad_quant(d, INFER_EUNSUP, err,
		                    "\"bnb_4bit_quant_type\" is %s: must be nf4",
		                    type ? "fp4" : "absent, which means fp4");
	return INFER_OK;
}

static float read_f32(const unsigned char *at, int64_t i) { return num_float(num_u32(at + 4 * i)); }

static float absmax_of(const struct bnb4 *b, int64_t i)
{
	return b->nested_blocksize ? read_f32(b->map, b->absmax[i]) *
	                                             read_f32(b->nested, i / b->nested_blocksize) +
	                                     b->offset
	                           : read_f32(b->absmax, i);
}

static int bad_state(struct hf_dir *d, const struct hf_packed *p, int code, infer_error *err,
                     const char *why)
{
	return hf_bad_tensor(d, p->part[B4_STATE], code, err, "%s", why);
}

/* Read the shape [out, in] of the quant_state. */
static int read_bnb_shape(struct hf_dir *d, struct hf_packed *p, const struct json *v,
                          infer_error *err)
{
	const struct json *out = json_at(v, 0), *in = json_at(v, 1);

	if (!json_is_array(v) || json_count(v) != 2 || !json_is(out, JSON_INT) ||
	    !json_is(in, JSON_INT) || out->i < 1 || in->i < 1 || out->i > INT32_MAX ||
	    in->i > INT32_MAX)
		return bad_state(d, p, INFER_EFORMAT, err,
		                 "\"shape\" must be two positive integers");
	p->rows = out->i;
	p->cols = in->i;
	return INFER_OK;
}

/* Read the JSON text of the quant_state. */
static int read_state(struct hf_dir *d, struct hf_packed *p, struct bnb4 *b, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[B4_STATE];
	const struct json *q;
	double offset = 0;
	const char *type = "";
	size_t n = 0;

	if (t->bytes > 4096)
		return bad_state(d, p, INFER_EFORMAT, err, "more than 4096 bytes");
	TRY(jread(&q, &d->brief, (const char *)t->data, t->bytes, "quant_state", err));
	TRY(jread_str(q, "quant_type", &type, &n, "quant_state", err));
	if (n != 3 || memcmp(type, "nf4", 3))
		return bad_state(d, p, INFER_EUNSUP, err, "\"quant_type\" must be nf4");
	TRY(jread_i64(q, "blocksize", &b->blocksize, 1, 1 << 20, "quant_state", err));
	TRY(jread_i64(q, "nested_blocksize", &b->nested_blocksize, 0, 1 << 20, "quant_state", err));
	TRY(jread_f64(q, "nested_offset", &offset, -1e30, 1e30, "quant_state", err));
	b->offset = (float)offset;
	return read_bnb_shape(d, p, json_get(q, "shape"), err);
}

static int check_map(struct hf_dir *d, const struct safetensors_tensor *t, infer_error *err)
{
	TRY(hf_part_check(d, t, ST_F32, 16, 1, err));
	for (int i = 0; i < 16; i++)
		if (num_u32(t->data + 4 * i) != num_bits(nf4_table[i]))
			return hf_bad_tensor(d, t, INFER_EUNSUP, err,
			                     "value %d is %.9g: must be %.9g, that of NF4", i,
			                     (double)read_f32(t->data, i), (double)nf4_table[i]);
	return INFER_OK;
}

static int fail_missing_part(struct hf_dir *d, const struct hf_packed *p, int part,
                             infer_error *err)
{
	return hf_bad_tensor(d, p->part[0], INFER_EFORMAT, err, "there is no %.*s.%s",
	                     (int)p->module.len, p->module.at, p->how->parts[part]);
}

/* Check the tensors of scales. */
static int open_scales(struct hf_dir *d, struct hf_packed *p, struct bnb4 *b, infer_error *err)
{
	int64_t n = p->rows * p->cols / b->blocksize,
		nested = b->nested_blocksize ? (n + b->nested_blocksize - 1) / b->nested_blocksize
	                                     : 0;

	TRY(hf_part_check(d, p->part[B4_ABSMAX], nested ? ST_U8 : ST_F32, n, 1, err));
	b->absmax = p->part[B4_ABSMAX]->data;
	if (nested) {
		for (int part = B4_NESTED; part <= B4_NESTED_MAP; part++)
			if (!p->part[part])
				return fail_missing_part(d, p, part, err);
		TRY(hf_part_check(d, p->part[B4_NESTED], ST_F32, nested, 1, err));
		TRY(hf_part_check(d, p->part[B4_NESTED_MAP], ST_F32, 256, 1, err));
		b->nested = p->part[B4_NESTED]->data;
		b->map = p->part[B4_NESTED_MAP]->data;
	} else if (p->part[B4_NESTED] || p->part[B4_NESTED_MAP]) {
		return bad_state(d, p, INFER_EFORMAT, err,
		                 "no \"nested_blocksize\", but there are nested scales");
	}
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(absmax_of(b, i)))
			return hf_bad_tensor(d, p->part[B4_ABSMAX], INFER_ENAN, err,
			                     "scale %lld is not finite", (long long)i);
	return INFER_OK;
}

static int open_4bit(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	struct bnb4 *b = arena_alloc(&d->arena, 1, sizeof *b);

	if (!b)
		return hf_nomem(d, err);
	for (int part = B4_WEIGHT; part <= B4_STATE; part++)
		if (!p->part[part])
			return fail_missing_part(d, p, part, err);
	TRY(read_state(d, p, b, err));
	if (!b->blocksize || b->blocksize % 64)
		return bad_state(d, p, INFER_EUNSUP, err, "\"blocksize\" must be a multiple of 64");
	if (p->cols % b->blocksize)
		return bad_state(
			d, p, INFER_EUNSUP, err,
			"\"blocksize\" does not divide the columns: a scale is shared by two rows");
	/* bnb_4bit_quant_storage: the dtype varies, the bytes do not */
	if (p->part[B4_WEIGHT]->bytes != (uint64_t)(p->rows * p->cols / 2))
		return hf_bad_tensor(d, p->part[B4_WEIGHT], INFER_EFORMAT, err,
		                     "%llu bytes, by its quant_state %lld",
		                     (unsigned long long)p->part[B4_WEIGHT]->bytes,
		                     (long long)(p->rows * p->cols / 2));
	TRY(check_map(d, p->part[B4_MAP], err));
	TRY(open_scales(d, p, b, err));
	p->mats = 1;
	p->type = p->general = INFER_NF4;
	p->bits = 4;
	p->group = (int)b->blocksize;
	p->own = b;
	return INFER_OK;
}

static int code_at(const unsigned char *from, int i) { return from[i / 2] >> (i % 2 ? 0 : 4) & 15; }

static void rows_4bit(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                      unsigned char *to)
{
	const struct bnb4 *b = p->own;
	struct nf4 *out = (struct nf4 *)to;
	int64_t blocks = n * p->cols / 64, first = row * p->cols / 64, each = b->blocksize / 64;

	(void)mat;
	for (int64_t i = 0; i < blocks; i++, out++) {
		const unsigned char *from = p->part[B4_WEIGHT]->data + (first + i) * 32;
		uint32_t d = num_bits(absmax_of(b, (first + i) / each));

		memcpy(out->d, &d, 4);
		for (int j = 0; j < 32; j++)
			out->qs[j] = (uint8_t)(code_at(from, j) | code_at(from, j + 32) << 4);
	}
}

const struct packing packing_bnb4 = {
	.name = "bitsandbytes NF4",
	.methods = { "bitsandbytes" },
	.parts = { "weight.absmax", "weight", "weight.quant_map",
	           "weight.quant_state.bitsandbytes__nf4", "weight.nested_absmax",
	           "weight.nested_quant_map" },
	.takes = takes_4bit,
	.config = config_4bit,
	.open = open_4bit,
	.rows = rows_4bit,
};

/* --- 8 bit */

enum { B8_SCB, B8_WEIGHT, B8_FORMAT };

static int takes_8bit(const struct json *q) { return is_8bit(q); }

static int config_8bit(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	*own = NULL;
	return check_config(d, q, err);
}

static int open_8bit(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *w = p->part[B8_WEIGHT], *format = p->part[B8_FORMAT];

	if (!w)
		return fail_missing_part(d, p, B8_WEIGHT, err);
	if (w->dtype != ST_I8 || w->n_dims != 2)
		return hf_bad_tensor(d, w, INFER_EFORMAT, err, "must be an I8 matrix");
	if (format) {
		TRY(hf_part_check(d, format, ST_U8, 1, 1, err));
		if (*format->data)
			return hf_bad_tensor(d, format, INFER_EUNSUP, err,
			                     "is %d: must be 0, which is row by row",
			                     *format->data);
	}
	p->mats = 1;
	p->rows = w->shape[0];
	p->cols = w->shape[1];
	if (p->cols % 64)
		return hf_bad_tensor(d, w, INFER_EUNSUP, err,
		                     "%lld columns: must be a multiple of 64, a block of Q8_F",
		                     (long long)p->cols);
	TRY(hf_part_check(d, p->part[B8_SCB], ST_F32, p->rows, 1, err));
	for (int64_t i = 0; i < p->rows; i++)
		if (!isfinite(read_f32(p->part[B8_SCB]->data, i)))
			return hf_bad_tensor(d, p->part[B8_SCB], INFER_ENAN, err,
			                     "scale %lld is not finite", (long long)i);
	p->type = p->general = INFER_Q8_F;
	p->bits = 8;
	p->group = 0;
	return INFER_OK;
}

static void rows_8bit(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                      unsigned char *to)
{
	struct q8_f *out = (struct q8_f *)to;
	int64_t each = p->cols / 64;

	(void)mat;
	for (int64_t i = 0; i < n * each; i++, out++) {
		float scale =
			read_f32(p->part[B8_SCB]->data, row + i / each) * 7.874015718698502e-3f;
		uint32_t d = num_bits(scale);

		*out = (struct q8_f){ 0 };
		memcpy(out->d, &d, 4);
		memcpy(out->q, p->part[B8_WEIGHT]->data + (row * each + i) * 64, 64);
	}
}

const struct packing packing_bnb8 = {
	.name = "bitsandbytes int8",
	.methods = { "bitsandbytes" },
	.parts = { "SCB", "weight", "weight_format" },
	.takes = takes_8bit,
	.config = config_8bit,
	.open = open_8bit,
	.rows = rows_8bit,
};
