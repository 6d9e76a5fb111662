/* hf/pack_awq.c - AWQ of 4 bits, as AutoAWQ and AutoRound store it.  Version gemm:
 *
 *   qweight I32 [in, out / 8]      output 8 c + j is in bits 4 nibble[j] ... of word c
 *   qzeros  I32 [groups, out / 8]  the same
 *   scales      [groups, out]
 *
 * version gemv, where `padded` is the number of words of qzeros:
 *
 *   qweight I32 [out, in / 8]      input 8 c + j is in bits 4 j ... of word c
 *   qzeros  I32 [out, padded]      the same for groups
 *   scales      [out, 8 padded]
 *
 * https://github.com/casper-hansen/AutoAWQ, awq/modules/linear */
#include "base/err.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/pack_int.h"
#include "hf/tensors.h"

#include <string.h>

enum { QWEIGHT, QZEROS, SCALES };

static const uint8_t nibble[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

/* Contents of the config: hf_packed.own until open() replaces it. */
struct awq_config {
	struct pack_sizes sizes;
	int symmetric, gemv;
	const struct json *plain; /* in d->brief; names of unquantised modules */
};

/* --- config */

#define MEMBER(key, kind, low, high, words) \
	{ \
		key, kind, low, high, words \
	}
#define ANY(key) MEMBER(key, MEMBER_ANY, 0, 0, NULL)

static const struct hf_member members[] = {
#include "hf/pack_int_list.h"
	{ "quant_method", MEMBER_STRING, 0, 0, "awq auto-round intel/auto-round" },
	{ "method", MEMBER_STRING, 0, 0, "awq" },
	{ "bits", MEMBER_WHOLE, 4, 4, NULL },
	{ "w_bit", MEMBER_WHOLE, 4, 4, NULL },
	{ "q_group_size", MEMBER_WHOLE, -1, 1 << 20, NULL },
	{ "zero_point", MEMBER_BOOL, 0, 0, NULL },
	{ "version", MEMBER_STRING, 0, 0, "gemm GEMM gemv GEMV" },
	{ "format", MEMBER_STRING, 0, 0, "gemm gemv" },
	{ "checkpoint_format", MEMBER_STRING, 0, 0, "gemm gemv" },
	{ "packing_format", MEMBER_STRING, 0, 0, "auto_round:auto_awq" },
	{ "modules_to_not_convert", MEMBER_LIST, 0, 0, NULL },
	{ "do_fuse", MEMBER_BOOL, 0, 0, NULL },
	{ "desc_act", MEMBER_FALSE, 0, 0, NULL },
	{ "dynamic", MEMBER_FALSE, 0, 0, NULL },
	ANY("fuse_max_seq_len"),
	ANY("modules_to_fuse"),
};

static const struct hf_member override_members[] = {
#define OVERRIDE
#include "hf/pack_int_list.h"
#undef OVERRIDE
	{ "bits", MEMBER_WHOLE, 4, 16, NULL },
};

/* Read the value of a member that has two names. */
static int read_either(struct hf_dir *d, const struct json *q, const char *one, const char *other,
                       int64_t *value, infer_error *err)
{
	const struct json *a = json_get(q, one), *b = json_get(q, other);

	if (!json_is_whole(a) && !json_is_whole(b))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" is missing", one);
	if (json_is_whole(a) && json_is_whole(b) && a->i != b->i)
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" and \"%s\" differ", one, other);
	*value = json_is_whole(a) ? a->i : b->i;
	return INFER_OK;
}

static int add_size(struct hf_dir *d, struct awq_config *c, int64_t group, infer_error *err)
{
	if (!group)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"group_size\" is 0: must be -1 or positive");
	return pack_sizes_add(d, &c->sizes, 4, group, err);
}

static int read_overrides(struct hf_dir *d, struct awq_config *c, const struct json *all,
                          infer_error *err)
{
	if (all && !json_is_null(all) && !json_is_object(all))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"extra_config\" must be an object");
	json_each(one, all) {
		const struct json *bits = json_get(one, "bits"), *group;

		if (!json_is_object(one))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"extra_config\": its members must be objects");
		TRY(HF_CHECK_MEMBERS(d, one, override_members, err));
		if (json_is_whole(bits) && bits->i != 4 && bits->i != 16)
			return hf_bad_quant(d, INFER_EUNSUP, err,
			                    "\"extra_config\": \"bits\" is %lld: must be 4 or 16",
			                    (long long)bits->i);
		if (json_is(json_get(one, "sym"), JSON_FALSE))
			c->symmetric = 0;
		group = json_get(one, "group_size");
		if (json_is_whole(group) && !(json_is_whole(bits) && bits->i == 16))
			TRY(add_size(d, c, group->i, err));
	}
	return INFER_OK;
}

/* Set c->gemv from the members that name the layout. */
static int read_version(struct hf_dir *d, struct awq_config *c, const struct json *q,
                        infer_error *err)
{
	static const char *const keys[] = { "version", "format", "checkpoint_format" };
	int gemm = 0;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct json *v = json_get(q, keys[i]);

		c->gemv |= json_equals(v, "gemv") || json_equals(v, "GEMV");
		gemm |= json_equals(v, "gemm") || json_equals(v, "GEMM");
	}
	if (gemm && c->gemv)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"version\", \"format\" and \"checkpoint_format\" differ");
	return INFER_OK;
}

static int awq_config(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	struct awq_config *c = arena_alloc(&d->arena, 1, sizeof *c);
	int64_t bits, group;

	if (!c)
		return err_set(err, INFER_ENOMEM, "%s: no memory for its quantisation config",
		               file_label(d->path));
	TRY(HF_CHECK_MEMBERS(d, q, members, err));
	TRY(read_either(d, q, "bits", "w_bit", &bits, err));
	TRY(read_either(d, q, "group_size", "q_group_size", &group, err));
	TRY(add_size(d, c, group, err));
	if (json_is_bool(json_get(q, "zero_point")) && json_is_bool(json_get(q, "sym")) &&
	    json_get(q, "zero_point")->kind == json_get(q, "sym")->kind)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"zero_point\" and \"sym\" contradict each other");
	c->symmetric = json_is(json_get(q, "zero_point"), JSON_FALSE) ||
	               json_is(json_get(q, "sym"), JSON_TRUE);
	TRY(read_version(d, c, q, err));
	TRY(read_overrides(d, c, json_get(q, "extra_config"), err));
	c->plain = json_get(q, "modules_to_not_convert");
	*own = c;
	return INFER_OK;
}

static int awq_takes(const struct json *q)
{
	const struct json *packing = json_get(q, "packing_format");

	return json_is_string(packing)
	               ? json_equals(packing, "auto_round:auto_awq")
	               : !json_equals(json_get(q, "quant_method"), "auto-round") &&
	                         !json_equals(json_get(q, "quant_method"), "intel/auto-round");
}

/* --- codes and zero points */

static uint32_t word_at(const struct safetensors_tensor *t, int64_t i)
{
	return num_u32(t->data + (size_t)i * 4);
}

/* Words in a row of the tile to transpose.  A tile has 8 rows and a word 8 codes: 32 inputs x 16
 * outputs. */
enum { LANES = 8 };

/* Swap the bits low[i] >> by & mask with high[i] & mask. */
static inline void swap_bits(uint32_t low[LANES], uint32_t high[LANES], int by, uint32_t mask)
{
	for (int i = 0; i < LANES; i++) {
		uint32_t t = (low[i] >> by ^ high[i]) & mask;

		high[i] ^= t;
		low[i] ^= t << by;
	}
}

/* Transpose the codes of each lane: code j of row i becomes code i of row j. */
static void transpose_codes(uint32_t x[8][LANES])
{
	for (int i = 0; i < 4; i++)
		swap_bits(x[i], x[i + 4], 16, 0x0000ffff);
	for (int i = 0; i < 8; i += 4)
		for (int j = i; j < i + 2; j++)
			swap_bits(x[j], x[j + 2], 8, 0x00ff00ff);
	for (int i = 0; i < 8; i += 2)
		swap_bits(x[i], x[i + 1], 4, 0x0f0f0f0f);
}

static void read_gemm(const struct hf_packed *p, int64_t run, int64_t out, int n,
                      uint32_t words[PACK_INT_WORDS][PACK_INT_COLS])
{
	const struct safetensors_tensor *t = p->part[QWEIGHT];
	int skip = (int)(out % 8); /* outputs before `out` in the first word */

	for (int64_t word = out / 8; word * 8 < out + n; word += 2) {
		uint32_t x[8][LANES] = { 0 };
		size_t bytes = word + 1 < t->shape[1] ? 8 : 4;

		for (int i = 0; i < PACK_INT_RUN; i++)
			memcpy(&x[i % 8][i / 8 * 2],
			       t->data +
			               (size_t)((run * PACK_INT_RUN + i) * t->shape[1] + word) * 4,
			       bytes);
		transpose_codes(x);
		for (int j = 0; j < 16; j++) {
			int c = (int)(word - out / 8) * 8 + j - skip;

			for (int i = 0; i < 4 && c >= 0 && c < n; i++)
				words[i][c] = x[nibble[j % 8]][2 * i + j / 8];
		}
	}
}

static void read_gemv(const struct hf_packed *p, int64_t run, int64_t out, int n,
                      uint32_t words[PACK_INT_WORDS][PACK_INT_COLS])
{
	const struct safetensors_tensor *t = p->part[QWEIGHT];

	for (int c = 0; c < n; c++)
		for (int i = 0; i < 4; i++)
			words[i][c] = word_at(t, (out + c) * t->shape[1] + run * 4 + i);
}

static int zero_gemm(const struct hf_packed *p, int64_t group, int64_t out)
{
	const struct safetensors_tensor *t = p->part[QZEROS];

	return (int)(word_at(t, group * t->shape[1] + out / 8) >> 4 * nibble[out % 8] & 15);
}

static int zero_gemv(const struct hf_packed *p, int64_t group, int64_t out)
{
	const struct safetensors_tensor *t = p->part[QZEROS];

	return (int)(word_at(t, out * t->shape[1] + group / 8) >> 4 * (group % 8) & 15);
}

/* --- shapes */

static int check_part(const struct hf_dir *d, const struct hf_packed *p, int part, infer_error *err)
{
	const struct safetensors_tensor *t = p->part[part];
	int is_scale = part == SCALES;

	if (!t)
		return hf_bad_tensor(d, p->part[QWEIGHT], INFER_EFORMAT, err, "it has no \"%s\"",
		                     p->how->parts[part]);
	if (is_scale ? t->dtype != ST_F16 && t->dtype != ST_BF16 && t->dtype != ST_F32
	             : t->dtype != ST_I32)
		return hf_bad_tensor(d, t, INFER_EUNSUP, err, "its dtype is %s: must be %s",
		                     safetensors_dtype_name(t->dtype),
		                     is_scale ? "F16, BF16 or F32" : "I32");
	if (t->n_dims != 2 || t->shape[0] < 1 || t->shape[1] < 1 || t->shape[0] > INT32_MAX / 8 ||
	    t->shape[1] > INT32_MAX / 8)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "it must have 2 dimensions");
	return INFER_OK;
}

static int fail_misfit(const struct hf_dir *d, const struct hf_packed *p, infer_error *err)
{
	const struct safetensors_tensor *q = p->part[QWEIGHT], *z = p->part[QZEROS],
					*s = p->part[SCALES];

	return hf_bad_tensor(
		d, s, INFER_EFORMAT, err,
		"it is [%lld, %lld], with qweight [%lld, %lld] and qzeros [%lld, %lld]: "
		"these do not fit together",
		(long long)s->shape[0], (long long)s->shape[1], (long long)q->shape[0],
		(long long)q->shape[1], (long long)z->shape[0], (long long)z->shape[1]);
}

static int set_gemm(struct hf_dir *d, struct hf_packed *p, const struct awq_config *c,
                    struct pack_int *g, infer_error *err)
{
	const struct safetensors_tensor *q = p->part[QWEIGHT], *z = p->part[QZEROS],
					*s = p->part[SCALES];

	if (s->shape[1] != q->shape[1] * 8 || z->shape[1] != q->shape[1] ||
	    z->shape[0] != s->shape[0])
		return fail_misfit(d, p, err);
	p->rows = s->shape[1];
	p->cols = q->shape[0];
	g->groups = s->shape[0];
	g->scale_group = p->rows;
	g->scale_out = 1;
	g->codes = read_gemm;
	g->zero = zero_gemm;
	return pack_sizes_find(d, &c->sizes, p, s, g, err);
}

/* Set the sizes of version gemv.  Shapes are padded: compute the groups from group_size. */
static int set_gemv(struct hf_dir *d, struct hf_packed *p, const struct awq_config *c,
                    struct pack_int *g, infer_error *err)
{
	const struct safetensors_tensor *q = p->part[QWEIGHT], *z = p->part[QZEROS],
					*s = p->part[SCALES];

	p->rows = q->shape[0];
	p->cols = q->shape[1] * 8;
	g->group = c->sizes.at[0].group < 0 ? p->cols : num_min(c->sizes.at[0].group, p->cols);
	g->groups = (p->cols - 1) / g->group + 1;
	if (z->shape[0] != p->rows || s->shape[0] != p->rows || s->shape[1] != z->shape[1] * 8 ||
	    s->shape[1] < g->groups)
		return fail_misfit(d, p, err);
	g->scale_group = 1;
	g->scale_out = s->shape[1];
	g->codes = read_gemv;
	g->zero = zero_gemv;
	return INFER_OK;
}

/* Fail if the config excludes the module.  As in AutoAWQ, an entry matches if the name of the
 * module contains it. */
static int check_plain(struct hf_dir *d, const struct hf_packed *p, const struct json *plain,
                       infer_error *err)
{
	json_each(name, plain)
		if (name->n && memmem(p->module.at, p->module.len, name->s, name->n))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"modules_to_not_convert\" has %.*s, but %.*s is "
			                    "quantised",
			                    (int)num_min(name->n, 60), name->s,
			                    (int)num_min((int64_t)p->module.len, 80), p->module.at);
	return INFER_OK;
}

static int awq_open(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct awq_config *c = p->own;
	struct pack_int *g = arena_alloc(&d->arena, 1, sizeof *g);

	if (!g)
		return err_set(err, INFER_ENOMEM, "%s: no memory for a table of tensors",
		               file_label(d->path));
	TRY(check_plain(d, p, c->plain, err));
	for (int i = QWEIGHT; i <= SCALES; i++)
		TRY(check_part(d, p, i, err));
	g->bits = 4;
	g->scales = p->part[SCALES];
	p->mats = 1;
	if (c->gemv)
		TRY(set_gemv(d, p, c, g, err));
	else
		TRY(set_gemm(d, p, c, g, err));
	p->own = g;
	return pack_int_open(d, p, c->symmetric, err);
}

const struct packing packing_awq = {
	.name = "AWQ",
	.methods = { "awq", "auto-round", "intel/auto-round" },
	.takes = awq_takes,
	.parts = { "qweight", "qzeros", "scales" },
	.config = awq_config,
	.open = awq_open,
	.rows = pack_int_rows,
};
