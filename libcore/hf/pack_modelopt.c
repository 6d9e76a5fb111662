/* hf/pack_modelopt.c - FP8 and NVFP4 as NVIDIA ModelOpt exports them.
 *   MODULE.weight          F8_E4M3 [out, in], or U8 [out, in / 2] of E2M1, even columns in the low halves
 *   MODULE.weight_scale    FP8: F32, one per tensor, per row, or per block of 128 x 128;
 *                          NVFP4: F8_E4M3 [out, in / 16]
 *   MODULE.weight_scale_2  NVFP4: F32, a factor of all scales
 * https://github.com/NVIDIA/TensorRT-Model-Optimizer */
#include "base/err.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/packs.h"
#include "hf/tensors.h"

enum part { SCALE, WEIGHT, SCALE_2 };
enum { BLOCK = 128 };

/* Contents of the config: hf_packed.own until open() replaces it */
struct modelopt_config {
	const struct json *algo;
	struct hf_names not, ignore;
};
/* hf_packed.own after open() */
struct modelopt_module {
	struct hf_e4m3 e4m3;
	struct hf_fp4 fp4;
};

#define ALGOS "FP8 FP8_PER_CHANNEL_PER_TOKEN FP8_PB_WO NVFP4 W4A16_NVFP4"

static const struct hf_member file_rows[] = {
	{ "producer", MEMBER_ANY, 0, 0, NULL },
	{ "quantization", MEMBER_ANY, 0, 0, NULL },
};
/* Members of "quantization" in hf_quant_config.json, and of quantization_config. */
static const struct hf_member config_rows[] = {
	{ "quant_method", MEMBER_STRING, 0, 0, "modelopt modelopt_fp4" },
	{ "quant_algo", MEMBER_STRING, 0, 0, ALGOS " MIXED_PRECISION" },
	{ "kv_cache_quant_algo", MEMBER_STRING, 0, 0, NULL },
	{ "kv_cache_scheme", MEMBER_ANY, 0, 0, NULL },
	{ "group_size", MEMBER_WHOLE, 16, 16, NULL },
	{ "exclude_modules", MEMBER_LIST, 0, 0, NULL },
	{ "ignore", MEMBER_LIST, 0, 0, NULL },
	{ "config_groups", MEMBER_ANY, 0, 0, NULL },
	{ "quantized_layers", MEMBER_ANY, 0, 0, NULL },
	{ "producer", MEMBER_ANY, 0, 0, NULL },
	{ "has_zero_point", MEMBER_FALSE, 0, 0, NULL },
	{ "pre_quant_scale", MEMBER_FALSE, 0, 0, NULL },
};
static const struct hf_member layer_rows[] = {
	{ "quant_algo", MEMBER_STRING, 0, 0, ALGOS },
	{ "group_size", MEMBER_WHOLE, 16, 16, NULL },
};
static const struct hf_member weight_rows[] = {
	{ "num_bits", MEMBER_WHOLE, 4, 8, NULL },  { "type", MEMBER_STRING, 0, 0, "float" },
	{ "dynamic", MEMBER_FALSE, 0, 0, NULL },   { "group_size", MEMBER_WHOLE, 16, 128, NULL },
	{ "strategy", MEMBER_STRING, 0, 0, NULL }, { "symmetric", MEMBER_TRUE, 0, 0, NULL },
};

/* Check the algorithms of single layers, for MIXED_PRECISION. */
static int check_layers(struct hf_dir *d, const struct json *q, infer_error *err)
{
	const struct json *layers = json_get(q, "quantized_layers");
	int mixed = json_equals(json_get(q, "quant_algo"), "MIXED_PRECISION");

	if (!layers || json_is_null(layers))
		return mixed ? hf_bad_quant(d, INFER_EFORMAT, err,
		                            "\"quantized_layers\" must be there if \"quant_algo\" "
		                            "is MIXED_PRECISION")
		             : INFER_OK;
	if (!json_is_object(layers))
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"quantized_layers\" must be an object");
	json_each(v, layers) {
		if (!json_is_object(v))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "members of \"quantized_layers\" must be objects");
		TRY(HF_CHECK_MEMBERS(d, v, layer_rows, err));
	}
	return INFER_OK;
}

static int check_groups(struct hf_dir *d, const struct json *q, infer_error *err)
{
	const struct json *groups = json_get(q, "config_groups");

	if (!groups || json_is_null(groups))
		return INFER_OK;
	if (!json_is_object(groups))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"config_groups\" must be an object");
	json_each(v, groups) {
		const struct json *w = json_get(v, "weights");
		if (!json_is_object(w))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"weights\" of \"config_groups\" must be an object");
		TRY(HF_CHECK_MEMBERS(d, w, weight_rows, err));
	}
	return INFER_OK;
}

static int read_modelopt_config(struct hf_dir *d, const struct json *q, const void **own,
                                infer_error *err)
{
	struct modelopt_config *c = arena_alloc(&d->arena, 1, sizeof *c);
	const struct json *inner = json_get(q, "quantization");

	if (!c)
		return hf_nomem(d, err);
	*own = c;
	if (inner) {
		TRY(HF_CHECK_MEMBERS(d, q, file_rows, err));
		if (!json_is_object(inner))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"quantization\" must be an object");
		q = inner;
	}
	TRY(HF_CHECK_MEMBERS(d, q, config_rows, err));
	c->algo = json_get(q, "quant_algo");
	if (!json_is_string(c->algo))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"quant_algo\" must be one of " ALGOS);
	TRY(check_layers(d, q, err));
	TRY(check_groups(d, q, err));
	TRY(hf_names_read(d, q, "exclude_modules", &c->not, err));
	TRY(hf_names_read(d, q, "ignore", &c->ignore, err));
	return hf_note(d, err, "ModelOpt: activations are quantised as --act-type says instead");
}

static int wrong_algo(const struct hf_dir *d, const struct safetensors_tensor *t,
                      const struct modelopt_config *c, infer_error *err)
{
	return hf_bad_tensor(d, t, INFER_EFORMAT, err, "dtype %s does not fit \"quant_algo\" %.*s",
	                     safetensors_dtype_name(t->dtype), (int)json_bytes(c->algo),
	                     json_str(c->algo));
}

static int open_e4m3(struct hf_dir *d, struct hf_packed *p, const struct modelopt_config *c,
                     struct modelopt_module *m, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[WEIGHT], *scale = p->part[SCALE];
	int mixed = json_equals(c->algo, "MIXED_PRECISION");
	int64_t n = (int64_t)(scale->bytes / safetensors_dtype_bytes(scale->dtype));
	int64_t high = p->rows, wide = p->cols;

	p->group = -1;
	if (json_equals(c->algo, "FP8_PER_CHANNEL_PER_TOKEN") || (mixed && n > 1 && n == p->rows)) {
		high = 1;
		p->group = 0;
	} else if (json_equals(c->algo, "FP8_PB_WO") || (mixed && n > 1)) {
		high = wide = BLOCK;
		p->group = BLOCK;
	} else if (!mixed && !json_equals(c->algo, "FP8")) {
		return wrong_algo(d, t, c, err);
	}
	if (scale->dtype == ST_U8 || p->part[SCALE_2])
		return hf_bad_tensor(d, p->part[SCALE_2] ? p->part[SCALE_2] : scale, INFER_EFORMAT,
		                     err, "is not part of an FP8 weight");
	TRY(hf_scales_open(d, scale, (p->rows + high - 1) / high, (p->cols + wide - 1) / wide, high,
	                   wide, &m->e4m3.s, err));
	m->e4m3.at = t->data;
	m->e4m3.scales = scale;
	return hf_e4m3_open(d, p, &m->e4m3, err);
}

static int open_nvfp4(struct hf_dir *d, struct hf_packed *p, const struct modelopt_config *c,
                      struct modelopt_module *m, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[WEIGHT], *scale = p->part[SCALE],
					*second = p->part[SCALE_2];

	if (!json_equals(c->algo, "NVFP4") && !json_equals(c->algo, "W4A16_NVFP4") &&
	    !json_equals(c->algo, "MIXED_PRECISION"))
		return wrong_algo(d, t, c, err);
	p->cols *= 2;
	if (p->cols % 16)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "rows must be multiples of 8 bytes");
	if (!second)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "there is no weight_scale_2");
	TRY(hf_part_check(d, scale, ST_F8_E4M3, p->rows, p->cols / 16, err));
	TRY(hf_part_check(d, second, ST_F32, 1, 1, err));
	m->fp4 = (struct hf_fp4){ t->data, scale->data, num_float(num_u32(second->data)) };
	TRY(hf_factor_check(d, second, m->fp4.tensor_scale, err));
	return hf_nvfp4_open(d, p, &m->fp4, scale, err);
}

static int open_modelopt(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct modelopt_config *c = p->own;
	const struct safetensors_tensor *t = p->part[WEIGHT];
	struct modelopt_module *m = arena_alloc(&d->arena, 1, sizeof *m);

	if (!m)
		return hf_nomem(d, err);
	if (!t || (t->dtype != ST_F8_E4M3 && t->dtype != ST_U8) || t->n_dims != 2 ||
	    t->shape[0] < 1 || t->shape[1] < 1)
		return hf_bad_tensor(d, t ? t : p->part[SCALE], INFER_EFORMAT, err,
		                     "the weight of its module must be F8_E4M3 or U8 with two "
		                     "dimensions");
	TRY(hf_names_check(d, &c->not, p, err));
	TRY(hf_names_check(d, &c->ignore, p, err));
	p->mats = 1;
	p->rows = t->shape[0];
	p->cols = t->shape[1];
	p->own = m;
	return t->dtype == ST_U8 ? open_nvfp4(d, p, c, m, err) : open_e4m3(d, p, c, m, err);
}

static void copy_modelopt_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                               unsigned char *to)
{
	const struct modelopt_module *m = p->own;
	(void)mat;

	if (m->e4m3.at)
		hf_e4m3_rows(p, &m->e4m3, row, n, to);
	else
		hf_fp4_rows(p, &m->fp4, row, n, to);
}

const struct packing packing_modelopt = {
	.name = "ModelOpt",
	.methods = { "modelopt", "modelopt_fp4" },
	.parts = { "weight_scale", "weight", "weight_scale_2" },
	.unused = { "input_scale", "k_scale", "v_scale", "q_scale", "kv_scale" },
	.config = read_modelopt_config,
	.open = open_modelopt,
	.rows = copy_modelopt_rows,
	.other = hf_plain_check,
};
