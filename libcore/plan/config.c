/* plan/config.c - the dimensions of a model from its config.json */
#include <infer/dims.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

/* Model types whose shape struct infer_dims describes.  windows: which layers have one, if
 * layer_types does not say. */
enum windows { WINDOW_NONE, WINDOW_ALL, WINDOW_HALF, WINDOW_PATTERN };
static const struct kind {
	const char *type;
	enum windows windows;
	int tied; /* of the class, if config.json does not say */
} kinds[] = {
	{ "llama", WINDOW_NONE, 0 },       { "mistral", WINDOW_ALL, 0 },
	{ "ministral3", WINDOW_ALL, 0 },   { "mixtral", WINDOW_ALL, 0 },
	{ "qwen2", WINDOW_NONE, 0 },       { "qwen3", WINDOW_NONE, 0 },
	{ "qwen2_moe", WINDOW_NONE, 0 },   { "qwen3_moe", WINDOW_NONE, 0 },
	{ "gemma2", WINDOW_HALF, 1 },      { "gemma3_text", WINDOW_PATTERN, 1 },
	{ "phi3", WINDOW_ALL, 0 },         { "granite", WINDOW_NONE, 0 },
	{ "granitemoe", WINDOW_NONE, 0 },  { "granitemoeshared", WINDOW_NONE, 0 },
	{ "olmo2", WINDOW_NONE, 0 },       { "olmo3", WINDOW_NONE, 0 },
	{ "smollm3", WINDOW_NONE, 1 },     { "glm4", WINDOW_NONE, 0 },
	{ "glm4_moe", WINDOW_NONE, 0 },    { "gpt_oss", WINDOW_HALF, 0 },
	{ "minimax_m2", WINDOW_NONE, 0 },  { "deepseek_v2", WINDOW_NONE, 0 },
	{ "deepseek_v3", WINDOW_NONE, 0 },
};

struct reader {
	struct infer_dims *d;
	const struct json *o;
	const char *what;
	infer_error *err;
};

/* Read a number from 0 to `most` under the first of the keys (separated by spaces) that is there.
 * least 1: one of them must be.  *v keeps its value if none is. */
static int read_number(const struct reader *r, const char *keys, int32_t *v, int64_t least,
                       int64_t most)
{
	char key[64];

	for (const char *at = keys; *at;) {
		size_t n = strcspn(at, " ");
		int64_t x = -1;

		snprintf(key, sizeof key, "%.*s", (int)n, at);
		TRY(jread_i64(r->o, key, &x, least, most, r->what, r->err));
		if (x >= 0) {
			*v = (int32_t)x;
			return INFER_OK;
		}
		at += n + (at[n] == ' ');
	}
	if (least > 0 && !*v)
		return err_set(r->err, INFER_EFORMAT, "%s: \"%.*s\" is missing", r->what,
		               (int)strcspn(keys, " "), keys);
	return INFER_OK;
}

static int is_true(const struct json *o, const char *key, int otherwise)
{
	const struct json *v = json_get(o, key);

	return json_is_bool(v) ? json_is(v, JSON_TRUE) : otherwise;
}

static int text_is(const struct json *v, const char *text)
{
	return json_is(v, JSON_STRING) && v->n == strlen(text) && !memcmp(v->s, text, v->n);
}

/* ---- windows ---- */

static int count_windows(const struct reader *r, const struct kind *k)
{
	struct infer_dims *d = r->d;
	const struct json *types = json_get(r->o, "layer_types");
	int32_t every = 6;

	TRY(read_number(r, "sliding_window", &d->window, 0, INT32_MAX));
	if (!d->window || !is_true(r->o, "use_sliding_window", 1))
		return INFER_OK;
	if (json_is(types, JSON_ARRAY)) {
		json_each(v, types)
			d->windowed += text_is(v, "sliding_attention");
		d->windowed = d->windowed < d->layers ? d->windowed : d->layers;
		return INFER_OK;
	}
	TRY(read_number(r, "sliding_window_pattern", &every, 1, 1024));
	if (k->windows == WINDOW_ALL)
		d->windowed = d->layers;
	else if (k->windows == WINDOW_HALF)
		d->windowed = (d->layers + 1) / 2;
	else if (k->windows == WINDOW_PATTERN)
		d->windowed = d->layers - d->layers / every;
	return INFER_OK;
}

/* ---- experts and MLA ---- */

static int read_experts(const struct reader *r)
{
	struct infer_dims *d = r->d;
	int32_t shared = 0, sparse = 1;

	TRY(read_number(r, "num_local_experts n_routed_experts num_experts", &d->experts, 0,
	                1 << 16));
	if (!d->experts)
		return INFER_OK;
	TRY(read_number(r, "num_experts_per_tok num_experts_per_token experts_per_token", &d->used,
	                1, d->experts));
	d->expert_ff = d->ff;
	TRY(read_number(r, "moe_intermediate_size", &d->expert_ff, 1, 1 << 24));
	TRY(read_number(r, "first_k_dense_replace", &d->dense, 0, d->layers));
	TRY(read_number(r, "n_shared_experts", &shared, 0, 1024));
	d->shared_ff = shared * d->expert_ff;
	TRY(read_number(r, "shared_expert_intermediate_size shared_intermediate_size",
	                &d->shared_ff, 0, 1 << 24));
	d->shared_gate = json_get(r->o, "shared_expert_intermediate_size") != NULL;
	TRY(read_number(r, "decoder_sparse_step", &sparse, 1, 1024));
	if (sparse > 1 || json_first(json_get(r->o, "mlp_only_layers")))
		return err_set(r->err, INFER_EUNSUP,
		               "%s: layers without experts between those with them are not "
		               "planned: name a GGUF file",
		               r->what);
	return INFER_OK;
}

static int read_latent(const struct reader *r)
{
	struct infer_dims *d = r->d;

	TRY(read_number(r, "kv_lora_rank", &d->kv_rank, 0, 1 << 20));
	if (!d->kv_rank)
		return INFER_OK;
	TRY(read_number(r, "q_lora_rank", &d->q_rank, 0, 1 << 20));
	TRY(read_number(r, "qk_rope_head_dim", &d->rope, 1, 1 << 16));
	TRY(read_number(r, "qk_nope_head_dim", &d->nope, 1, 1 << 16));
	return read_number(r, "v_head_dim", &d->v_head, 1, 1 << 16);
}

/* ---- the whole ---- */

static int read_type(const struct reader *r)
{
	const struct json *v = json_get(r->o, "torch_dtype");

	if (!v)
		v = json_get(r->o, "dtype");
	r->d->type = text_is(v, "float32")   ? INFER_F32
	             : text_is(v, "float16") ? INFER_F16
	                                     : INFER_BF16;
	v = json_get(r->o, "quantization_config");
	if (text_is(json_get(v, "quant_method"), "mxfp4")) /* gpt-oss */
		r->d->expert_type = INFER_MXFP4;
	return INFER_OK;
}

static int read_dims(const struct reader *r, const struct kind *k)
{
	enum { WIDE = 1 << 24 };
	struct infer_dims *d = r->d;

	TRY(read_number(r, "num_hidden_layers", &d->layers, 1, 4096));
	TRY(read_number(r, "hidden_size", &d->embd, 1, WIDE));
	TRY(read_number(r, "num_attention_heads", &d->heads, 1, 1 << 16));
	d->kv_heads = d->heads;
	TRY(read_number(r, "num_key_value_heads", &d->kv_heads, 1, 1 << 16));
	d->head = d->embd / d->heads;
	TRY(read_number(r, "head_dim", &d->head, 1, 1 << 16));
	TRY(read_number(r, "intermediate_size", &d->ff, 1, WIDE));
	TRY(read_number(r, "vocab_size", &d->vocab, 1, WIDE));
	d->ctx = 8192;
	TRY(read_number(r, "max_position_embeddings", &d->ctx, 1, INT32_MAX));
	d->tied = is_true(r->o, "tie_word_embeddings", k->tied);
	d->ff_matrices = 3;
	TRY(count_windows(r, k));
	TRY(read_experts(r));
	TRY(read_latent(r));
	return read_type(r);
}

static const struct kind *find_kind(const struct json *type)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (text_is(type, kinds[i].type))
			return &kinds[i];
	return NULL;
}

int infer_dims_config(struct infer_dims *d, const char *text, size_t bytes, const char *name,
                      infer_error *err)
{
	const struct json *root = NULL, *type;
	const struct kind *k;
	struct arena mem;
	int rc;

	memset(d, 0, sizeof *d);
	arena_init(&mem, MEM_PLAN);
	rc = jread(&root, &mem, text, bytes, name, err);
	if (!rc && json_is(json_get(root, "text_config"), JSON_OBJECT)) /* of a model with images */
		root = json_get(root, "text_config");
	type = json_get(root, "model_type");
	k = find_kind(type);
	if (!rc && !json_is(type, JSON_STRING))
		rc = err_set(err, INFER_EFORMAT, "%s: \"model_type\" must be a string", name);
	else if (!rc && !k)
		rc = err_set(err, INFER_EUNSUP,
		             "%s: a model of type \"%.*s\" is not planned from its config.json: "
		             "name a GGUF file",
		             name, (int)num_min(type->n, 40), type->s);
	if (!rc) {
		const struct reader r = { d, root, name, err };
		rc = read_dims(&r, k);
		snprintf(d->name, sizeof d->name, "%s", k->type);
	}
	arena_fini(&mem);
	return rc;
}
