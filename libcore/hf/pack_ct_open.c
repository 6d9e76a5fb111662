/* hf/pack_ct_open.c - open the weights of compressed-tensors, by the scheme of their module. */
#include "base/err.h"
#include "base/num.h"
#include "hf/pack_ct.h"
#include "hf/packs.h"
#include "hf/tensors.h"

#include <string.h>

enum part { SCALE, PACKED, WEIGHT, SHAPE, ZERO, ORDER, GLOBAL };

/* hf_packed.own after open().  The format decides which member is used. */
struct ct_module {
	struct hf_ints ints;
	struct hf_e4m3 e4m3;
	struct hf_fp4 fp4;
};

static const char *const part_names[] = { "weight_scale",       "weight_packed",     "weight",
	                                  "weight_shape",       "weight_zero_point", "weight_g_idx",
	                                  "weight_global_scale" };

static int bad_part(const struct hf_dir *d, const struct hf_packed *p, enum part i, const char *why,
                    infer_error *err)
{
	return hf_bad_tensor(d, p->part[i] ? p->part[i] : p->part[SCALE], INFER_EFORMAT, err,
	                     "%s %s", part_names[i], why);
}

/* Fail unless the module has exactly the parts of its format. */
static int check_parts(const struct hf_dir *d, const struct hf_packed *p, const struct ct_scheme *s,
                       infer_error *err)
{
	int packed = s->format == CT_PACK || s->format == CT_NVFP4 || s->format == CT_MXFP4;
	unsigned must = 1u << SCALE | (packed ? 1u << PACKED : 1u << WEIGHT),
		 may = must | (s->format == CT_PACK ? 1u << SHAPE | 1u << ORDER : 0);

	if (!s->symmetric)
		must |= 1u << ZERO;
	if (!s->is_float || s->symmetric)
		may |= 1u << ZERO; /* zero points that are all 0 */
	if (s->format == CT_NVFP4)
		must |= 1u << GLOBAL;
	if (s->by_order)
		must |= 1u << ORDER;
	may |= must;
	for (int i = SCALE; i <= GLOBAL; i++) {
		if (must >> i & 1 && !p->part[i])
			return bad_part(d, p, (enum part)i,
			                "of this module is missing, by \"config_groups\" of "
			                "quantization_config",
			                err);
		if (!(may >> i & 1) && p->part[i])
			return bad_part(d, p, (enum part)i,
			                "is not part of its \"format\" in quantization_config",
			                err);
	}
	return INFER_OK;
}

/* --- sizes */

/* Set p->rows and p->cols from part i, which has `each` codes per element. */
static int set_sizes(const struct hf_dir *d, struct hf_packed *p, const struct ct_scheme *s,
                     enum part i, int dtype, int64_t each, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[i];

	if (t->n_dims != 2 || t->shape[0] < 1 || t->shape[1] < 1)
		return bad_part(d, p, i, "must have two dimensions", err);
	if (t->dtype != dtype)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "dtype %s, must be %s",
		                     safetensors_dtype_name(t->dtype),
		                     safetensors_dtype_name(dtype));
	p->mats = 1;
	p->rows = t->shape[0];
	p->cols = t->shape[1] * each;
	p->group = s->strategy == CT_TENSOR ? -1 : s->strategy == CT_CHANNEL ? 0 : (int)s->wide;
	return INFER_OK;
}

/* Compare weight_shape with p->rows and p->cols. */
static int check_shape(const struct hf_dir *d, const struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[SHAPE];

	if (!t)
		return INFER_OK;
	if ((t->dtype != ST_I64 && t->dtype != ST_I32) || t->n_dims != 1 || t->shape[0] != 2)
		return bad_part(d, p, SHAPE, "must be two integers", err);
	for (int i = 0; i < 2; i++) {
		int64_t want = i ? p->cols : p->rows,
			have = t->dtype == ST_I64 ? (int64_t)num_u64(t->data + 8 * i)
		                                  : (int32_t)num_u32(t->data + 4 * i);
		if (have != want)
			return hf_bad_tensor(d, t, INFER_EFORMAT, err,
			                     "size %d is %lld, that of weight_packed is %lld", i,
			                     (long long)have, (long long)want);
	}
	return INFER_OK;
}

static int open_scales(const struct hf_dir *d, const struct hf_packed *p, const struct ct_scheme *s,
                       struct hf_scales *to, infer_error *err)
{
	int64_t high = s->strategy == CT_TENSOR ? p->rows : s->high,
		wide = s->strategy == CT_TENSOR || s->strategy == CT_CHANNEL ? p->cols : s->wide,
		rows = (p->rows + high - 1) / high, cols = (p->cols + wide - 1) / wide;
	const struct safetensors_tensor *t = p->part[SCALE];
	int exponents = t->dtype == ST_U8 || t->dtype == ST_F8_E8M0;

	if (s->strategy == CT_GROUP && p->cols % wide)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err,
		                     "rows of %lld weights are not a multiple of \"group_size\" "
		                     "%lld",
		                     (long long)p->cols, (long long)wide);
	if (exponents != (s->format == CT_MXFP8))
		return hf_bad_tensor(d, t, INFER_EFORMAT, err,
		                     "dtype %s does not fit \"format\" of quantization_config",
		                     safetensors_dtype_name(t->dtype));
	return hf_scales_open(d, t, rows, cols, high, wide, to, err);
}

/* --- integers */

/* Fail unless the zero points of a symmetric scheme are 0. */
static int check_no_zeros(const struct hf_dir *d, const struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[ZERO];

	for (uint64_t i = 0; t && i < t->bytes; i++)
		if (t->data[i])
			return bad_part(
				d, p, ZERO,
				"is not 0, although \"symmetric\" of quantization_config is true",
				err);
	return INFER_OK;
}

static int open_zeros(const struct hf_dir *d, const struct hf_packed *p, const struct ct_scheme *s,
                      struct hf_ints *w, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[ZERO];
	int64_t words = (p->rows * s->bits + 31) / 32;

	if (s->symmetric)
		return check_no_zeros(d, p, err);
	w->zeros = t->data;
	return w->codes == CODES_I8 ? hf_part_check(d, t, ST_I8, w->s.rows, w->s.cols, err)
	                            : hf_part_check(d, t, ST_I32, words, w->s.cols, err);
}

/* Count the columns of each group; fail unless it has group_size of them. */
static int count_groups(const struct hf_dir *d, const struct hf_packed *p, const struct hf_ints *w,
                        int64_t *first, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[ORDER];

	for (int64_t c = 0; c < p->cols; c++) {
		int64_t g = (int32_t)num_u32(t->data + 4 * c);
		if (g < 0 || g >= w->s.cols)
			return hf_bad_tensor(d, t, INFER_EFORMAT, err,
			                     "column %lld is in group %lld of %lld", (long long)c,
			                     (long long)g, (long long)w->s.cols);
		first[g]++;
	}
	for (int64_t g = 0; g < w->s.cols; g++) {
		if (first[g] != w->s.wide)
			return hf_bad_tensor(d, t, INFER_EUNSUP, err,
			                     "group %lld has %lld columns, \"group_size\" is %lld",
			                     (long long)g, (long long)first[g],
			                     (long long)w->s.wide);
		first[g] = g * w->s.wide;
	}
	return INFER_OK;
}

/* Set p->order: the columns sorted by group.  weight_g_idx -1: columns are in order. */
static int open_order(struct hf_dir *d, struct hf_packed *p, struct hf_ints *w, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[ORDER];
	int unset = 1, sorted = 1;

	if (!t)
		return INFER_OK;
	TRY(hf_part_check(d, t, ST_I32, p->cols, 1, err));
	for (int64_t c = 0; c < p->cols; c++)
		unset &= num_u32(t->data + 4 * c) == UINT32_MAX;
	if (unset)
		return INFER_OK;
	int64_t *first = arena_alloc(&d->brief, (size_t)w->s.cols, sizeof *first);
	int32_t *order = arena_alloc(&d->arena, (size_t)p->cols, sizeof *order);
	if (!first || !order)
		return hf_nomem(d, err);
	TRY(count_groups(d, p, w, first, err));
	for (int64_t c = 0; c < p->cols; c++) {
		int64_t at = first[num_u32(t->data + 4 * c)]++;
		order[at] = (int32_t)c;
		sorted &= at == c;
	}
	if (!sorted)
		w->order = p->order = order;
	return INFER_OK;
}

static int open_ints(struct hf_dir *d, struct hf_packed *p, const struct ct_scheme *s,
                     struct ct_module *m, infer_error *err)
{
	struct hf_ints *w = &m->ints;
	int packed = s->format == CT_PACK, dtype = packed ? ST_I32 : ST_I8;
	enum part i = packed ? PACKED : WEIGHT;

	TRY(set_sizes(d, p, s, i, dtype, packed ? 32 / s->bits : 1, err));
	TRY(check_shape(d, p, err));
	TRY(open_scales(d, p, s, &w->s, err));
	w->at = p->part[i]->data;
	w->codes = !packed ? CODES_I8 : s->bits == 4 ? CODES_U4 : CODES_U8;
	w->scales = p->part[SCALE];
	TRY(open_zeros(d, p, s, w, err));
	TRY(open_order(d, p, w, err));
	TRY(hf_ints_open(d, p, w, err));
	p->bits = s->bits;
	return INFER_OK;
}

/* --- floats */

static int open_e4m3(struct hf_dir *d, struct hf_packed *p, const struct ct_scheme *s,
                     struct ct_module *m, infer_error *err)
{
	TRY(check_no_zeros(d, p, err));
	TRY(set_sizes(d, p, s, WEIGHT, ST_F8_E4M3, 1, err));
	TRY(open_scales(d, p, s, &m->e4m3.s, err));
	m->e4m3.at = p->part[WEIGHT]->data;
	m->e4m3.scales = p->part[SCALE];
	return hf_e4m3_open(d, p, &m->e4m3, err);
}

static int open_fp4(struct hf_dir *d, struct hf_packed *p, const struct ct_scheme *s,
                    struct ct_module *m, infer_error *err)
{
	const struct safetensors_tensor *scale = p->part[SCALE], *global = p->part[GLOBAL];
	int nv = s->format == CT_NVFP4, dtype = nv                           ? ST_F8_E4M3
	                                        : scale->dtype == ST_F8_E8M0 ? ST_F8_E8M0
	                                                                     : ST_U8;

	TRY(check_no_zeros(d, p, err));
	TRY(set_sizes(d, p, s, PACKED, ST_U8, 2, err));
	if (p->cols % s->wide)
		return bad_part(d, p, PACKED, "is not a multiple of its groups", err);
	TRY(hf_part_check(d, scale, dtype, p->rows, p->cols / s->wide, err));
	m->fp4 = (struct hf_fp4){ p->part[PACKED]->data, scale->data, 1 };
	if (!nv)
		return hf_mxfp4_open(d, p, scale, err);
	TRY(hf_part_check(d, global, ST_F32, 1, 1, err));
	TRY(hf_factor_check(d, global, num_float(num_u32(global->data)), err));
	m->fp4.tensor_scale = 1 / num_float(num_u32(global->data));
	return hf_nvfp4_open(d, p, &m->fp4, scale, err);
}

static int open_ct(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct ct_scheme *s;
	struct ct_module *m = arena_alloc(&d->arena, 1, sizeof *m);

	if (!m)
		return hf_nomem(d, err);
	TRY(hf_ct_scheme(d, p->own, p, &s, err));
	TRY(check_parts(d, p, s, err));
	p->own = m;
	if (!s->is_float)
		return open_ints(d, p, s, m, err);
	return s->bits == 8 ? open_e4m3(d, p, s, m, err) : open_fp4(d, p, s, m, err);
}

static void copy_ct_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                         unsigned char *to)
{
	const struct ct_module *m = p->own;
	(void)mat;

	if (m->ints.at)
		hf_ints_rows(p, &m->ints, row, n, to);
	else if (m->e4m3.at)
		hf_e4m3_rows(p, &m->e4m3, row, n, to);
	else
		hf_fp4_rows(p, &m->fp4, row, n, to);
}

const struct packing packing_ct = {
	.name = "compressed-tensors",
	.methods = { "compressed-tensors" },
	.parts = { "weight_scale", "weight_packed", "weight", "weight_shape", "weight_zero_point",
	           "weight_g_idx", "weight_global_scale" },
	.unused = { "input_scale", "input_zero_point", "input_global_scale", "q_scale", "k_scale",
	            "v_scale", "k_zero_point", "v_zero_point", "k_global_scale", "v_global_scale" },
	.config = hf_ct_config,
	.open = open_ct,
	.rows = copy_ct_rows,
	.other = hf_plain_check,
};
