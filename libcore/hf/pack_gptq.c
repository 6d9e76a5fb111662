/* hf/pack_gptq.c - GPTQ, as AutoGPTQ, GPTQModel and AutoRound store it:
 *
 *   qweight I32 [in bits / 32, out]      codes of an output, the first in the lowest bits
 *   qzeros  I32 [groups, out bits / 32]  zero points in the same order; format gptq: minus 1
 *   scales      [groups, out]
 *   g_idx   I32 [in]                     the group of each input; absent: i / group_size
 *
 * A stored 15 of format gptq is the zero point 16, as kernels compute it (ExLlama, llama.cpp's converter).  GPTQModel
 * adds 1 to each word instead, so that it overflows into the next zero point; no quantiser writes
 * such a zero point.
 * https://github.com/ModelCloud/GPTQModel, nn_modules/qlinear/torch.py */
#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"
#include "hf/members.h"
#include "hf/pack_int.h"
#include "hf/tensors.h"

#include <string.h>

enum { QWEIGHT, QZEROS, SCALES, G_IDX };

/* Contents of the config: hf_packed.own until open() replaces it. */
struct gptq_config {
	struct pack_sizes sizes;
	int plus_one, symmetric, desc_act;
};

struct gptq {
	struct pack_int base; /* first, because pack_int.c reads it through hf_packed.own */
	const int32_t *order;
};

/* --- config */

#define MEMBER(key, kind, low, high, words) \
	{ \
		key, kind, low, high, words \
	}
#define ANY(key) MEMBER(key, MEMBER_ANY, 0, 0, NULL)

static const struct hf_member members[] = {
#include "hf/pack_int_list.h"
	{ "bits", MEMBER_WHOLE, 2, 8, NULL },
	{ "desc_act", MEMBER_BOOL, 0, 0, NULL },
	{ "checkpoint_format", MEMBER_STRING, 0, 0, "gptq gptq_v2" },
	{ "format", MEMBER_STRING, 0, 0, "gptq gptq_v2" },
	{ "packing_format", MEMBER_STRING, 0, 0,
	  "auto_round:auto_gptq auto_round auto_round:gptqmodel" },
	{ "quant_method", MEMBER_STRING, 0, 0, "gptq auto-round intel/auto-round" },
	{ "method", MEMBER_STRING, 0, 0, "gptq" },
	{ "is_marlin_format", MEMBER_FALSE, 0, 0, NULL },
	ANY("dynamic"), /* read by read_overrides */
	ANY("act_group_aware"),
	ANY("cache_block_outputs"),
	ANY("cache_examples_on_gpu"),
	ANY("damp_auto_increment"),
	ANY("disable_exllama"),
	ANY("max_input_length"),
	ANY("model_file_base_name"),
	ANY("model_name_or_path"),
	ANY("model_seqlen"),
	ANY("module_name_preceding_first_block"),
	ANY("modules_in_block_to_quantize"),
	ANY("mse"),
	ANY("offload_to_disk"),
	ANY("pad_token_id"),
	ANY("static_groups"),
	ANY("tokenizer"),
	ANY("use_cuda_fp16"),
	ANY("use_exllama"),
};

static const struct hf_member override_members[] = {
#define OVERRIDE
#include "hf/pack_int_list.h"
#undef OVERRIDE
	{ "bits", MEMBER_WHOLE, 2, 16, NULL },
	{ "desc_act", MEMBER_BOOL, 0, 0, NULL },
	{ "adapter", MEMBER_FALSE, 0, 0, NULL },
	ANY("act_group_aware"),
	ANY("damp_auto_increment"),
	ANY("damp_percent"),
	ANY("mse"),
	ANY("static_groups"),
	ANY("true_sequential"),
};

static int64_t whole_or(const struct json *q, const char *key, int64_t absent)
{
	const struct json *v = json_get(q, key);

	return json_is(v, JSON_INT) ? v->i : absent;
}

static int add_sizes(struct hf_dir *d, struct gptq_config *c, const struct json *q, int64_t bits,
                     int64_t group, infer_error *err)
{
	bits = whole_or(q, "bits", bits);
	group = whole_or(q, "group_size", group);
	if (bits == 16)
		return INFER_OK;
	if (bits != 2 && bits != 4 && bits != 8)
		return hf_bad_quant(d, INFER_EUNSUP, err, "\"bits\" is %lld: must be 2, 4 or 8",
		                    (long long)bits);
	if (!group)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"group_size\" is 0: must be -1 or positive");
	if (json_is(json_get(q, "sym"), JSON_FALSE))
		c->symmetric = 0;
	if (json_is(json_get(q, "desc_act"), JSON_TRUE))
		c->desc_act = 1;
	return pack_sizes_add(d, &c->sizes, (int)bits, group, err);
}

/* Read overrides: objects named by a module or a pattern.  The names are not matched, because sizes
 * follow from a module's tensors. */
static int read_overrides(struct hf_dir *d, struct gptq_config *c, const struct json *q,
                          const char *key, infer_error *err)
{
	const struct json *all = json_get(q, key);

	if (all && !json_is_null(all) && !json_is_object(all))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" must be an object", key);
	json_each(one, all) {
		if (!json_is_object(one))
			return hf_bad_quant(d, INFER_EFORMAT, err,
			                    "\"%s\": its members must be objects", key);
		TRY(HF_CHECK_MEMBERS(d, one, override_members, err));
		TRY(add_sizes(d, c, one, c->sizes.at[0].bits, c->sizes.at[0].group, err));
	}
	return INFER_OK;
}

static int read_format(struct hf_dir *d, struct gptq_config *c, const struct json *q,
                       infer_error *err)
{
	const struct json *a = json_get(q, "checkpoint_format"), *b = json_get(q, "format"),
			  *packing = json_get(q, "packing_format");

	if (json_is_string(a) && json_is_string(b) &&
	    json_equals(a, "gptq") != json_equals(b, "gptq"))
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"checkpoint_format\" and \"format\" differ");
	c->plus_one = !json_equals(a, "gptq_v2") && !json_equals(b, "gptq_v2");
	if (json_is_string(packing))
		c->plus_one = json_equals(packing, "auto_round:auto_gptq");
	return INFER_OK;
}

static int gptq_config(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	struct gptq_config *c = arena_alloc(&d->arena, 1, sizeof *c);

	if (!c)
		return err_set(err, INFER_ENOMEM, "%s: no memory for its quantisation config",
		               file_label(d->path));
	TRY(HF_CHECK_MEMBERS(d, q, members, err));
	if (!json_is_whole(json_get(q, "bits")) || !json_is_whole(json_get(q, "group_size")))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" is missing",
		                    json_is_whole(json_get(q, "bits")) ? "group_size" : "bits");
	if (whole_or(q, "bits", 0) == 16)
		return hf_bad_quant(d, INFER_EUNSUP, err, "\"bits\" is 16: must be 2, 4 or 8");
	c->symmetric = json_is(json_get(q, "sym"), JSON_TRUE);
	TRY(add_sizes(d, c, q, 0, 0, err));
	TRY(read_format(d, c, q, err));
	TRY(read_overrides(d, c, q, "dynamic", err));
	TRY(read_overrides(d, c, q, "extra_config", err));
	*own = c;
	return INFER_OK;
}

static int gptq_takes(const struct json *q)
{
	const struct json *packing = json_get(q, "packing_format");

	return !json_is_string(packing) || !json_equals(packing, "auto_round:auto_awq");
}

/* --- codes and zero points */

static uint32_t word_at(const struct safetensors_tensor *t, int64_t i)
{
	return num_u32(t->data + (size_t)i * 4);
}

/* Widen the 16 codes of a word from 2 bits to 4 bits each. */
static uint64_t widen(uint32_t word)
{
	uint64_t x = word;

	x = (x | x << 16) & 0x0000ffff0000ffffu;
	x = (x | x << 8) & 0x00ff00ff00ff00ffu;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
	return (x | x << 2) & 0x3333333333333333u;
}

static void read_run(const struct hf_packed *p, int64_t run, int64_t out, int n,
                     uint32_t words[PACK_INT_WORDS][PACK_INT_COLS])
{
	const struct gptq *g = p->own;
	const struct safetensors_tensor *t = p->part[QWEIGHT];
	int count = g->base.bits;

	for (int i = 0; i < count; i++)
		pack_int_load(words[i], t->data + (size_t)((run * count + i) * p->rows + out) * 4,
		              n);
	for (int c = 0; count == 2 && c < n; c++) {
		uint64_t a = widen(words[0][c]), b = widen(words[1][c]);

		words[0][c] = (uint32_t)a;
		words[1][c] = (uint32_t)(a >> 32);
		words[2][c] = (uint32_t)b;
		words[3][c] = (uint32_t)(b >> 32);
	}
}

/* Read the codes of a run of inputs one by one, in act-order. */
static void gather_run(const struct hf_packed *p, int64_t run, int64_t out, int n,
                       uint32_t words[PACK_INT_WORDS][PACK_INT_COLS])
{
	const struct gptq *g = p->own;
	int bits = g->base.bits, each = 32 / bits, wide = bits == 8 ? 8 : 4;
	uint32_t mask = (1u << bits) - 1;

	memset(words, 0, sizeof(uint32_t[PACK_INT_WORDS][PACK_INT_COLS]));
	for (int i = 0; i < PACK_INT_RUN; i++) {
		int64_t in = g->order[run * PACK_INT_RUN + i];
		int from = (int)(in % each) * bits, to = i * wide % 32;
		uint32_t *row = words[i * wide / 32], w[PACK_INT_COLS] = { 0 };

		pack_int_load(w, p->part[QWEIGHT]->data + (size_t)(in / each * p->rows + out) * 4,
		              n);
		for (int c = 0; c < PACK_INT_COLS; c++)
			row[c] |= (w[c] >> from & mask) << to;
	}
}

static int read_zero(const struct hf_packed *p, int64_t group, int64_t out)
{
	const struct safetensors_tensor *t = p->part[QZEROS];
	int bits = ((const struct gptq *)p->own)->base.bits, each = 32 / bits;

	return (int)(word_at(t, group * t->shape[1] + out / each) >> out % each * bits &
	             ((1u << bits) - 1));
}

/* --- shapes */

static int check_part(const struct hf_dir *d, const struct hf_packed *p, int part, int n_dims,
                      infer_error *err)
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
	if (t->n_dims != n_dims || t->shape[0] < 1 || t->shape[n_dims - 1] < 1)
		return hf_bad_tensor(d, t, INFER_EFORMAT, err, "it must have %d dimensions",
		                     n_dims);
	return INFER_OK;
}

/* Set the sizes of p and the bits of g from the shapes of the tensors. */
static int set_sizes(const struct hf_dir *d, struct hf_packed *p, struct pack_int *g,
                     infer_error *err)
{
	const struct safetensors_tensor *q = p->part[QWEIGHT], *z = p->part[QZEROS],
					*s = p->part[SCALES], *x = p->part[G_IDX];
	int64_t out = s->shape[1], words = q->shape[0];

	if (q->shape[1] != out || z->shape[0] != s->shape[0])
		return hf_bad_tensor(d, s, INFER_EFORMAT, err,
		                     "it is [%lld, %lld], but qweight has %lld outputs and qzeros "
		                     "%lld groups",
		                     (long long)s->shape[0], (long long)out, (long long)q->shape[1],
		                     (long long)z->shape[0]);
	for (int bits = 2; bits <= 8; bits *= 2)
		if (z->shape[1] == (out * bits + 31) / 32)
			g->bits = bits;
	if (!g->bits)
		return hf_bad_tensor(d, z, INFER_EFORMAT, err,
		                     "it has %lld words for %lld outputs: not 2, 4 or 8 bits each",
		                     (long long)z->shape[1], (long long)out);
	p->mats = 1;
	p->rows = out;
	if (words > INT32_MAX / 16)
		return hf_bad_tensor(d, q, INFER_EUNSUP, err, "more than 2^31 inputs");
	p->cols = words * (32 / g->bits);
	g->groups = s->shape[0];
	if (x && x->shape[0] != p->cols)
		return hf_bad_tensor(d, x, INFER_EFORMAT, err,
		                     "it has %lld elements for the %lld inputs of qweight",
		                     (long long)x->shape[0], (long long)p->cols);
	return INFER_OK;
}

/* --- act-order */

/* True if g_idx is absent or equals i / group_size. */
static int is_in_order(const struct hf_packed *p, const struct pack_int *g)
{
	for (int64_t i = 0; p->part[G_IDX] && i < p->cols; i++)
		if (word_at(p->part[G_IDX], i) != (uint64_t)(i / g->group))
			return 0;
	return 1;
}

/* Sort the inputs by group.  next: [groups + 1] start of each group, replaced by its end. */
static int sort_inputs(const struct hf_dir *d, const struct hf_packed *p, const struct pack_int *g,
                       int32_t *order, int64_t *next, infer_error *err)
{
	const struct safetensors_tensor *x = p->part[G_IDX];

	for (int64_t i = 0; i < p->cols; i++) {
		if (word_at(x, i) >= (uint64_t)g->groups)
			return hf_bad_tensor(d, x, INFER_EFORMAT, err,
			                     "element %lld is %d, of %lld groups", (long long)i,
			                     (int)word_at(x, i), (long long)g->groups);
		next[word_at(x, i) + 1]++;
	}
	for (int64_t i = 0; i < g->groups; i++) {
		if (next[i + 1] != num_min(g->group, p->cols - i * g->group))
			return hf_bad_tensor(d, x, INFER_EFORMAT, err,
			                     "group %lld has %lld inputs, not %lld", (long long)i,
			                     (long long)next[i + 1],
			                     (long long)num_min(g->group, p->cols - i * g->group));
		next[i + 1] += next[i];
	}
	for (int64_t i = 0; i < p->cols; i++)
		order[next[word_at(x, i)]++] = (int32_t)i;
	return INFER_OK;
}

static int set_order(struct hf_dir *d, struct hf_packed *p, struct gptq *g, int desc_act,
                     infer_error *err)
{
	int32_t *order;
	int64_t *next;

	g->base.codes = read_run;
	if (is_in_order(p, &g->base))
		return INFER_OK;
	if (!desc_act)
		return hf_bad_tensor(d, p->part[G_IDX], INFER_EFORMAT, err,
		                     "its groups are not in order, but \"desc_act\" is not true");
	order = arena_alloc(&d->arena, (size_t)p->cols, sizeof *order);
	next = arena_alloc(&d->brief, (size_t)g->base.groups + 1, sizeof *next);
	if (!order || !next)
		return err_set(err, INFER_ENOMEM, "%s: no memory for the order of inputs",
		               file_label(d->path));
	TRY(sort_inputs(d, p, &g->base, order, next, err));
	p->order = g->order = order;
	g->base.codes = gather_run;
	return INFER_OK;
}

static int gptq_open(struct hf_dir *d, struct hf_packed *p, infer_error *err)
{
	const struct gptq_config *c = p->own;
	struct gptq *g = arena_alloc(&d->arena, 1, sizeof *g);

	if (!g)
		return err_set(err, INFER_ENOMEM, "%s: no memory for a table of tensors",
		               file_label(d->path));
	for (int i = QWEIGHT; i <= SCALES; i++)
		TRY(check_part(d, p, i, 2, err));
	if (p->part[G_IDX])
		TRY(check_part(d, p, G_IDX, 1, err));
	TRY(set_sizes(d, p, &g->base, err));
	TRY(pack_sizes_find(d, &c->sizes, p, p->part[SCALES], &g->base, err));
	g->base.scales = p->part[SCALES];
	g->base.scale_group = p->rows;
	g->base.scale_out = 1;
	g->base.plus_one = c->plus_one;
	g->base.zero = read_zero;
	p->own = g;
	TRY(set_order(d, p, g, c->desc_act, err));
	return pack_int_open(d, p, c->symmetric, err);
}

const struct packing packing_gptq = {
	.name = "GPTQ",
	.methods = { "gptq", "auto-round", "intel/auto-round" },
	.takes = gptq_takes,
	.parts = { "qweight", "qzeros", "scales", "g_idx" },
	.config = gptq_config,
	.open = gptq_open,
	.rows = pack_int_rows,
};
