/* hf/classes.c - find the architecture of a checkpoint and the part of config.json for the text
 * model, and add the class's defaults for missing members. */
#include "hf/keys.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* Class names in published checkpoints, and their names in transformers. */
static const struct {
	const char *name, *class_name;
} aliases[] = {
	{ "LLaMAForCausalLM", "LlamaForCausalLM" },
	{ "LFM2ForCausalLM", "Lfm2ForCausalLM" },
};

/* Multimodal classes; only their text model runs.  type: model_type of text_config.  The first row of a class is used if
 * text_config has no model_type. */
static const struct wrapper {
	const char *name, *type, *gguf;
} wrappers[] = {
	{ "Gemma3ForConditionalGeneration", "gemma3_text", "gemma3" },
	{ "Gemma3nForConditionalGeneration", "gemma3n_text", "gemma3n" },
	{ "Gemma4ForConditionalGeneration", "gemma4_text", "gemma4" },
	{ "Mistral3ForConditionalGeneration", "mistral", "mistral3" },
	{ "Mistral3ForConditionalGeneration", "ministral3", "mistral3" },
	{ "Mistral3ForConditionalGeneration", "mistral4", "mistral4" },
	{ "Llama4ForConditionalGeneration", "llama4_text", "llama4" },
	{ "Qwen3_5ForConditionalGeneration", "qwen3_5_text", "qwen35" },
	{ "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe_text", "qwen35moe" },
	{ "LlavaForConditionalGeneration", "llama", "llama" },
	{ "LlavaForConditionalGeneration", "mistral", "llama" },
};

/* Members of a multimodal config.json that do not change the text model. */
static const char *const siblings[] = {
	"text_config",
	"vision_config",
	"audio_config",
	"image_token_id",
	"image_token_index",
	"image_seq_length",
	"video_token_id",
	"audio_token_id",
	"audio_soft_tokens_per_image",
	"boi_token_id",
	"boi_token_index",
	"eoi_token_id",
	"eoi_token_index",
	"boa_token_id",
	"boa_token_index",
	"eoa_token_id",
	"eoa_token_index",
	"vision_start_token_id",
	"vision_end_token_id",
	"vision_token_id",
	"mm_tokens_per_image",
	"vision_soft_tokens_per_image",
	"multimodal_projector_bias",
	"projector_hidden_act",
	"spatial_merge_size",
	"vision_feature_layer",
	"vision_feature_select_strategy",
	"ignore_index",
	"image_grid_pinpoints",
	"language_model_only",
};

/* Members that are never filled with defaults: an error that names them is clearer than tensors
 * that do not fit a default. */
static const char *const sizes[] = {
	"hidden_size",
	"num_hidden_layers",
	"num_attention_heads",
	"intermediate_size",
};

static const struct {
	const char *type, *members;
} defaults[] = {
#define DEFAULTS(type, members) { type, members },
#include "hf/default_list.h"
#undef DEFAULTS
};

static int is_one_of(const char *const *names, size_t count, const char *at, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], at, n))
			return 1;
	return 0;
}

/* True if the list `names` ("a|rope.b") contains the name at[0 .. n). */
static int list_has_name(const char *names, const char *at, size_t n)
{
	for (; names; names = strchr(names, '|') ? strchr(names, '|') + 1 : NULL) {
		const char *one = names + (strncmp(names, "rope.", 5) ? 0 : 5);
		if (strcspn(one, "|") == n && !memcmp(one, at, n))
			return 1;
	}
	return 0;
}

/* True if an object has a member of one of the names. */
static int has_member(const struct json *o, const char *names)
{
	json_each(v, o)
		if (list_has_name(names, v->key, v->key_n))
			return 1;
	return 0;
}

/* True if config.json has the member under any of its names, at the top or in the RoPE parameters. */
static int config_has_member(const struct json *config, const char *name, size_t n)
{
	static const char *const ropes[] = { "rope_parameters", "rope_scaling" };

	for (enum arch_key key = 0; key < ARCH_KEYS; key++) {
		const char *names = arch_key_rows[key].hf;
		if (!list_has_name(names, name, n))
			continue;
		if (has_member(config, names))
			return 1;
		for (int i = 0; i < 2; i++) {
			const struct json *rope = json_get(config, ropes[i]);
			if (has_member(rope, names) ||
			    has_member(json_get(rope, "full_attention"), names))
				return 1;
		}
	}
	return 0;
}

static void append_member(struct arena *a, struct json *o, const struct json *v, const char *key,
                          size_t n)
{
	struct json *copy = json_share(a, v);

	if (!copy)
		return;
	copy->key = key;
	copy->key_n = (uint32_t)n;
	json_append(o, copy);
}

/* Parse a default value: true, false, a number, or else a string. */
static struct json parse_default(const char *text, size_t n)
{
	struct json v = { .kind = JSON_STRING, .s = text, .n = (uint32_t)n };

	if (n == 4 && !memcmp(text, "true", n))
		return (struct json){ .kind = JSON_TRUE };
	if (n == 5 && !memcmp(text, "false", n))
		return (struct json){ .kind = JSON_FALSE };
	if (jread_num(&v, text, n) != n)
		v = (struct json){ .kind = JSON_STRING, .s = text, .n = (uint32_t)n };
	return v;
}

/* Append layer_types, derived from full_attn_idxs of older LFM 2 configs. */
static void append_kinds(struct hf_dir *d, struct json *all, const struct json *text)
{
	static const char name[] = "layer_types";
	const struct json *indices = json_get(text, "full_attn_idxs"),
			  *layers = json_get(text, "num_hidden_layers");
	struct json *kinds;

	if (!json_is_array(indices) || json_get(text, name) || !json_is(layers, JSON_INT) ||
	    layers->i > ARCH_MAX_LAYERS)
		return;
	kinds = json_new(&d->brief, JSON_ARRAY);
	for (int64_t i = 0; i < layers->i; i++) {
		int full = 0;
		json_each(v, indices)
			full |= json_is(v, JSON_INT) && v->i == i;
		json_append(kinds, json_new_str(&d->brief, full ? "full_attention" : "conv"));
	}
	if (kinds)
		append_member(&d->brief, all, kinds, name, sizeof name - 1);
}

/* Return a copy of `text` with the defaults of its class appended for missing members. */
static const struct json *add_class_defaults(struct hf_dir *d, const struct json *text,
                                             const char *members, int with_sizes)
{
	struct json *all = json_new(&d->brief, JSON_OBJECT);

	json_each(v, text)
		append_member(&d->brief, all, v, v->key, v->key_n);
	append_kinds(d, all, text);
	while (all && members && *members) {
		size_t n = strcspn(members, "="), size = strcspn(members + n + 1, " ");
		const struct json v = parse_default(members + n + 1, size);
		if (!config_has_member(text, members, n) &&
		    (with_sizes || !is_one_of(sizes, sizeof sizes / sizeof *sizes, members, n)))
			append_member(&d->brief, all, &v, members, n);
		members += n + 1 + size;
		members += *members == ' ';
	}
	return d->brief.bad ? NULL : all;
}

static const char *find_defaults(const struct json *type)
{
	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
		if (json_equals(type, defaults[i].type))
			return defaults[i].members;
	return NULL;
}

static const struct wrapper *find_wrapper(const struct json *name, const struct json *type)
{
	for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
		if (json_equals(name, wrappers[i].name) &&
		    (!type || json_equals(type, wrappers[i].type)))
			return &wrappers[i];
	return NULL;
}

/* True if v is a member that a text model reads. */
static int is_of_text(const struct json *v)
{
	for (enum arch_key key = 0; key < ARCH_KEYS; key++)
		if (arch_key_rows[key].rule != KEY_HARMLESS &&
		    list_has_name(arch_key_rows[key].hf, v->key, v->key_n))
			return 1;
	return 0;
}

static int is_harmless(const struct json *v)
{
	for (enum arch_key key = 0; key < ARCH_KEYS; key++)
		if (arch_key_rows[key].rule == KEY_HARMLESS &&
		    list_has_name(arch_key_rows[key].hf, v->key, v->key_n))
			return 1;
	return 0;
}

/* Fail for a top-level member that may change the text model but is not in text_config. */
static int check_sibling_members(struct hf_dir *d, const struct json *text, infer_error *err)
{
	json_each(v, d->config) {
		int empty = json_is_null(v) ||
		            ((json_is_array(v) || json_is_object(v)) && !json_count(v));
		if (empty ||
		    is_one_of(siblings, sizeof siblings / sizeof *siblings, v->key, v->key_n))
			continue;
		if (is_of_text(v) ? json_getn(text, v->key, v->key_n) != NULL : is_harmless(v))
			continue;
		return hf_fail(d, "config.json", INFER_EUNSUP, err,
		               "key %.*s: not a known member next to text_config",
		               (int)(v->key_n < 64 ? v->key_n : 64), v->key);
	}
	return INFER_OK;
}

static int fail_class(struct hf_dir *d, const struct json *name, infer_error *err)
{
	size_t n = json_bytes(name);

	if (!n)
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "key architectures: must be a list with the name of a class");
	return hf_fail(d, "config.json", INFER_EUNSUP, err,
	               "key architectures: class %.*s is not supported", (int)(n < 64 ? n : 64),
	               json_str(name));
}

/* Select the text model of a multimodal config.json. */
static int select_text_config(struct hf_dir *d, const struct json *name, infer_error *err)
{
	const struct json *text = json_get(d->config, "text_config");
	const struct json *type = json_get(text, "model_type");
	const struct wrapper *w = find_wrapper(name, json_is_null(type) ? NULL : type);
	struct json own = { .kind = JSON_STRING };

	if (!find_wrapper(name, NULL))
		return fail_class(d, name, err);
	if (!json_is_object(text))
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "key text_config: must be an object");
	if (!w)
		return hf_fail(d, "config.json", INFER_EUNSUP, err,
		               "key text_config.model_type: %.*s is not supported with class %.*s",
		               (int)(json_bytes(type) < 64 ? json_bytes(type) : 64), json_str(type),
		               (int)json_bytes(name), json_str(name));
	TRY(check_sibling_members(d, text, err));
	own.s = w->type;
	own.n = (uint32_t)strlen(w->type);
	d->arch = arch_find((struct infer_str){ w->gguf, strlen(w->gguf) });
	d->text_config = add_class_defaults(d, text, find_defaults(&own), 1);
	return hf_note(d, err, "class %s: only its text model is run, without images and audio",
	               w->name);
}

int hf_find_class(struct hf_dir *d, infer_error *err)
{
	const struct json *name = json_at(json_get(d->config, "architectures"), 0);
	struct infer_str cls = { json_str(name), json_bytes(name) };

	for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
		if (json_equals(name, aliases[i].name))
			cls = (struct infer_str){ aliases[i].class_name,
				                  strlen(aliases[i].class_name) };
	d->arch = arch_find_hf(cls);
	if (d->arch)
		d->text_config = add_class_defaults(
			d, d->config, find_defaults(json_get(d->config, "model_type")), 0);
	else
		TRY(select_text_config(d, name, err));
	return d->text_config
	               ? INFER_OK
	               : err_set(err, INFER_ENOMEM, "%s: no memory for its config.json", d->path);
}
