/* hf/pack_mxfp4.c - experts in MXFP4, as gpt-oss stores them: value = E2M1 x 2^(scale - 127).
 *   MODULE_blocks  U8 [experts, out, in / 32, 16]: even columns in the low halves
 *   MODULE_scales  U8 [experts, out, in / 32] */
#include "base/err.h"
#include "hf/members.h"
#include "hf/packs.h"
#include "hf/tensors.h"

static const struct hf_member config_rows[] = {
	{ "quant_method", MEMBER_STRING, 0, 0, "mxfp4" },
	{ "modules_to_not_convert", MEMBER_LIST, 0, 0, NULL },
	{ "dequantize", MEMBER_BOOL, 0, 0, NULL },
};

static int read_mxfp4_config(struct hf_dir *d, const struct json *q, const void **own,
                             infer_error *err)
{
	struct hf_names *n = arena_alloc(&d->arena, 1, sizeof *n);

	if (!n)
		return hf_nomem(d, err);
	*own = n;
	TRY(HF_CHECK_MEMBERS(d, q, config_rows, err));
	return hf_names_read(d, q, "modules_to_not_convert", n, err);
}

static int open_mxfp4(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[0], *scales = p->part[1];
	struct hf_fp4 *w = arena_alloc(&d->arena, 1, sizeof *w);

	if (!w)
		return hf_nomem(d, err);
	if (t->dtype != ST_U8 || t->n_dims != 4 || t->shape[3] != 16)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err,
		                     "must be U8 of shape [experts, rows, blocks, 16]");
	if (!scales)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "there is no tensor of its scales");
	if (scales->dtype != ST_U8 || scales->n_dims != 3 || scales->shape[0] != t->shape[0] ||
	    scales->shape[1] != t->shape[1] || scales->shape[2] != t->shape[2])
		return hf_bad_tensor(d, scales, INFER_EFORMAT, err,
		                     "must be U8 of the shape of the blocks without its last "
		                     "dimension");
	TRY(hf_names_check(d, p->own, p, err));
	p->mats = t->shape[0];
	p->rows = t->shape[1];
	p->cols = t->shape[2] * 32;
	p->own = w;
	*w = (struct hf_fp4){ t->data, scales->data, 1 };
	return hf_mxfp4_open(d, p, scales, err);
}

static void copy_mxfp4_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                            unsigned char *to)
{
	hf_fp4_rows(p, p->own, mat * p->rows + row, n, to);
}

const struct packing packing_mxfp4 = {
	.name = "MXFP4",
	.methods = { "mxfp4" },
	.parts = { "_blocks", "_scales" },
	.config = read_mxfp4_config,
	.open = open_mxfp4,
	.rows = copy_mxfp4_rows,
	.other = hf_plain_check,
};
