/* hf/pack_fp8.c - E4M3 weights as the quantizers "fp8" and "fbgemm_fp8" of transformers store them: with a scale for
 * each block, for the tensor, or for each row.
 *   MODULE.weight            F8_E4M3 [out, in]
 *   MODULE.weight_scale_inv  or weight_scale; value = weight x scale */
#include "base/err.h"
#include "hf/members.h"
#include "hf/packs.h"
#include "hf/tensors.h"

/* Contents of the config: hf_packed.own until open() replaces it */
struct fp8_config {
	int64_t high, wide; /* rows and columns of a block; 0: no blocks */
	int per_row, any;   /* any: weight_block_size is absent, so a single scale is per tensor */
	struct hf_names not, ignored;
};
/* hf_packed.own after open() */
struct fp8_module {
	struct hf_e4m3 e4m3;
};

static const struct hf_member config_rows[] = {
	{ "quant_method", MEMBER_STRING, 0, 0, "fp8" },
	{ "activation_scheme", MEMBER_STRING, 0, 0, "dynamic static" },
	{ "weight_block_size", MEMBER_ANY, 0, 0, NULL },
	{ "fmt", MEMBER_STRING, 0, 0, "e4m3 float8_e4m3fn" },
	{ "scale_fmt", MEMBER_STRING, 0, 0, "float ue8m0" },
	{ "expert_dtype", MEMBER_STRING, 0, 0, "fp8" },
	{ "modules_to_not_convert", MEMBER_LIST, 0, 0, NULL },
	{ "modules_to_convert", MEMBER_LIST, 0, 0, NULL },
	{ "ignored_layers", MEMBER_LIST, 0, 0, NULL },
	{ "dequantize", MEMBER_BOOL, 0, 0, NULL },
	{ "is_checkpoint_fp8_serialized", MEMBER_TRUE, 0, 0, NULL },
};
static const struct hf_member fbgemm_rows[] = {
	{ "quant_method", MEMBER_STRING, 0, 0, "fbgemm_fp8" },
	{ "activation_scale_ub", MEMBER_ANY, 0, 0, NULL },
	{ "modules_to_not_convert", MEMBER_LIST, 0, 0, NULL },
};

/* Read "weight_block_size": null for one scale per tensor; 128 x 128 if absent. */
static int read_block(struct hf_dir *d, const struct json *q, struct fp8_config *c,
                      infer_error *err)
{
	const struct json *v = json_get(q, "weight_block_size"), *high = json_at(v, 0),
			  *wide = json_at(v, 1);

	c->high = c->wide = v ? 0 : 128;
	c->any = !v;
	if (!v || json_is_null(v))
		return INFER_OK;
	if (!json_is_array(v) || json_count(v) != 2 || !json_is(high, JSON_INT) ||
	    !json_is(wide, JSON_INT) || high->i < 1 || wide->i < 1 || high->i > 1 << 20 ||
	    wide->i > 1 << 20)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"weight_block_size\" must be an array of two positive "
		                    "integers");
	c->high = high->i;
	c->wide = wide->i;
	return INFER_OK;
}

static int read_fp8_config(struct hf_dir *d, const struct json *q, const void **own,
                           infer_error *err)
{
	struct fp8_config *c = arena_alloc(&d->arena, 1, sizeof *c);

	if (!c)
		return hf_nomem(d, err);
	*own = c;
	c->per_row = json_equals(json_get(q, "quant_method"), "fbgemm_fp8");
	TRY(c->per_row ? HF_CHECK_MEMBERS(d, q, fbgemm_rows, err)
	               : HF_CHECK_MEMBERS(d, q, config_rows, err));
	if (!c->per_row)
		TRY(read_block(d, q, c, err));
	TRY(hf_names_read(d, q, "modules_to_not_convert", &c->not, err));
	return hf_names_read(d, q, "ignored_layers", &c->ignored, err);
}

/* Both rows of packing_list.h read the same config; only one of them adds the note. */
static int read_fp8_config_and_note(struct hf_dir *d, const struct json *q, const void **own,
                                    infer_error *err)
{
	TRY(read_fp8_config(d, q, own, err));
	return hf_note(d, err, "%s: activations of FP8 are quantised as --act-type says instead",
	               d->quant.key);
}

static int64_t count_of(const struct safetensors_tensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->n_dims; i++)
		n *= t->shape[i];
	return n;
}

static int open_fp8(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct fp8_config *c = p->own;
	const struct safetensors_tensor *scale = p->part[0], *t = p->part[1];
	int64_t n = count_of(scale), high, wide;
	struct fp8_module *m = arena_alloc(&d->arena, 1, sizeof *m);

	if (!m)
		return hf_nomem(d, err);
	if (!t || t->dtype != ST_F8_E4M3 || t->n_dims != 2 || t->shape[0] < 1 || t->shape[1] < 1)
		return hf_bad_tensor(d, t ? t : scale, INFER_EFORMAT, err,
		                     "the weight of its module must be F8_E4M3 with two "
		                     "dimensions");
	TRY(hf_names_check(d, &c->not, p, err));
	TRY(hf_names_check(d, &c->ignored, p, err));
	p->mats = 1;
	p->rows = t->shape[0];
	p->cols = t->shape[1];
	if (c->per_row || (!c->high && n == p->rows && n > 1)) {
		high = 1;
		wide = p->cols;
		p->group = 0;
	} else if (!c->high || (c->any && n == 1)) {
		high = p->rows;
		wide = p->cols;
		p->group = -1;
	} else {
		high = c->high;
		wide = c->wide;
		p->group = (int)wide;
	}
	if (scale->dtype == ST_U8)
		return hf_bad_tensor(d, scale, INFER_EUNSUP, err,
		                     "scales of dtype U8 are not supported");
	TRY(hf_scales_open(d, scale, (p->rows + high - 1) / high, (p->cols + wide - 1) / wide, high,
	                   wide, &m->e4m3.s, err));
	m->e4m3.at = t->data;
	m->e4m3.scales = scale;
	p->own = m;
	return hf_e4m3_open(d, p, &m->e4m3, err);
}

static void copy_fp8_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                          unsigned char *to)
{
	const struct fp8_module *m = p->own;
	(void)mat;

	hf_e4m3_rows(p, &m->e4m3, row, n, to);
}

#define UNUSED \
	{ \
		"activation_scale", "input_scale", "input_scale_ub", "k_scale", "v_scale", \
			"kv_scale", "q_scale" \
	}

const struct packing packing_fp8 = {
	.name = "FP8",
	.methods = { "fp8" },
	.parts = { "weight_scale_inv", "weight" },
	.unused = UNUSED,
	.config = read_fp8_config_and_note,
	.open = open_fp8,
	.rows = copy_fp8_rows,
	.other = hf_plain_check,
};
/* The same method with scales named weight_scale. */
const struct packing packing_fp8_scale = {
	.name = "FP8",
	.methods = { "fp8", "fbgemm_fp8" },
	.parts = { "weight_scale", "weight" },
	.unused = UNUSED,
	.config = read_fp8_config,
	.open = open_fp8,
	.rows = copy_fp8_rows,
	.other = hf_plain_check,
};
