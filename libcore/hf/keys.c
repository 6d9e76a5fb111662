/* hf/keys.c - convert config.json to the keys of a GGUF file: the keys that the public converter writes, with its
 * types.  arch/keys_hf.c reads the values; the table here lists which architecture has which key. */
#include "hf/keys.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LLAMAS "llama llama4 mistral3 smollm3 granite granitemoe granitehybrid"
#define LATENT "deepseek2 mistral4"
#define HYBRIDS "qwen3next qwen35 qwen35moe"
#define SHORT_CONV "lfm2 lfm2moe"
#define ENCODERS "bert nomic-bert modern-bert"
#define SLIDING "gemma3 gemma-embedding gemma3n gemma4"

/* Keys, in the order of the converter.  only: architectures that have the key; NULL: all.  special:
 * function that computes the value, or writes several keys. */
static const struct row {
	enum arch_key key;
	enum hf_key_type type;
	const char *only;
	void (*special)(struct hf_out *o);
} rows[];

int hf_arch_is(const struct hf_dir *d, const char *names)
{
	size_t n = strlen(d->arch->gguf);

	for (const char *at = names; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
		if (!strncmp(at, d->arch->gguf, n) && (!at[n] || at[n] == ' '))
			return 1;
	return 0;
}

void hf_key_name(const struct hf_dir *d, enum arch_key key, char out[KEY_NAME])
{
	snprintf(out, KEY_NAME, "%s.%s", d->arch->gguf, arch_key_rows[key].gguf);
}

void hf_put_u32(struct hf_out *o, enum arch_key key, int64_t v)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_u32(o->d->keys, name, (uint32_t)v);
}

void hf_put_f32(struct hf_out *o, enum arch_key key, double v)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_f32(o->d->keys, name, (float)v);
}

void hf_put_flags(struct hf_out *o, enum arch_key key, const uint8_t *flags)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_array(o->d->keys, name, INFER_META_BOOL, (uint64_t)o->h.n_layers, flags,
	                 (size_t)o->h.n_layers);
}

void hf_put_layers(struct hf_out *o, enum arch_key key, const int32_t *v)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_array(o->d->keys, name, INFER_META_I32, (uint64_t)o->h.n_layers, v,
	                 (size_t)o->h.n_layers * sizeof *v);
}

void hf_put_bool(struct hf_out *o, enum arch_key key, int v)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_bool(o->d->keys, name, v);
}

static void put_str(struct hf_out *o, enum arch_key key, struct infer_str s)
{
	char name[KEY_NAME];

	hf_key_name(o->d, key, name);
	gguf_write_str(o->d->keys, name, s.at, s.len);
}

static const struct json *config_member(const struct hf_out *o, const char *name)
{
	const struct json *v = json_get(o->d->text_config, name);

	return json_is_null(v) ? NULL : v;
}

static int config_has_key(const struct hf_out *o, enum arch_key key)
{
	return o->k.kind->arr(&o->k, key).kind != KEY_ABSENT;
}

/* Return the value of a numeric key, which arch_hparam_read has checked; 0 if it is missing. */
static double key_number(const struct hf_out *o, enum arch_key key)
{
	double v = 0;

	if (config_has_key(o, key))
		o->k.kind->real(&o->k, key, 0, &v, NULL);
	return v;
}

/* Write the number of layers.  For GLM, includes the multi-token prediction layers. */
static void put_block_count(struct hf_out *o)
{
	hf_put_u32(o, K_BLOCK_COUNT,
	           o->h.n_layers + (hf_arch_is(o->d, "glm4moe") ? o->h.n_next : 0));
}

static void put_heads_kv(struct hf_out *o)
{
	if (hf_arch_is(o->d, "bert nomic-bert modern-bert"))
		return;
	if (hf_arch_is(o->d, "granitehybrid " SHORT_CONV) ||
	    (hf_arch_is(o->d, "gemma4") && config_has_key(o, K_HEADS_KV_FULL)))
		hf_put_layers(o, K_HEADS_KV, o->h.kv_heads);
	else
		hf_put_u32(o, K_HEADS_KV, o->h.n_head_kv);
}

/* Write the FFN width: one number, or a list if layers differ. */
static void put_ff(struct hf_out *o)
{
	int same = !json_is_array(config_member(o, "intermediate_size")) &&
	           !json_is(config_member(o, "use_double_wide_mlp"), JSON_TRUE);

	if (same)
		hf_put_u32(o, K_FF, o->h.n_ff);
	else
		hf_put_layers(o, K_FF, o->h.ff);
}

static int is_yarn(const struct hf_out *o) { return o->h.rope[0].scaling == SCALING_YARN; }

static int is_linear(const struct hf_out *o)
{
	return o->h.rope[0].scaling == SCALING_LINEAR && config_has_key(o, K_ROPE_TYPE) &&
	       config_has_key(o, K_ROPE_FACTOR);
}

static void put_rope_type(struct hf_out *o)
{
	if (hf_arch_is(o->d, "phi3"))
		return;
	if (hf_arch_is(o->d, "modern-bert"))
		put_str(o, K_ROPE_TYPE, (struct infer_str){ "none", 4 });
	else if (is_yarn(o))
		put_str(o, K_ROPE_TYPE, (struct infer_str){ "yarn", 4 });
	else if (is_linear(o))
		put_str(o, K_ROPE_TYPE, (struct infer_str){ "linear", 6 });
	else if (o->h.rope[0].scaling == SCALING_LONGROPE)
		put_str(o, K_ROPE_TYPE, (struct infer_str){ "longrope", 8 });
}

static void put_rope_factor(struct hf_out *o)
{
	if (is_yarn(o) || is_linear(o))
		hf_put_f32(o, K_ROPE_FACTOR, o->h.rope[0].factor);
}

static void put_rope_context(struct hf_out *o)
{
	if (is_yarn(o) || o->h.rope[0].scaling == SCALING_LONGROPE || hf_arch_is(o->d, "phi3"))
		hf_put_u32(o, K_ROPE_CONTEXT, o->h.rope[0].orig_ctx);
}

/* Write the attention factor of longrope, computed as the converter does. */
static void put_rope_attn(struct hf_out *o)
{
	const struct arch_rope *p = &o->h.rope[0];
	double ratio = (double)o->h.ctx_train / (double)p->orig_ctx;

	if (p->scaling != SCALING_LONGROPE)
		return;
	if (config_has_key(o, K_ROPE_ATTN))
		hf_put_f32(o, K_ROPE_ATTN, p->attn_factor);
	else if (hf_arch_is(o->d, "phi3"))
		hf_put_f32(o, K_ROPE_ATTN,
		           ratio > 1 ? sqrt(1 + fm_log(ratio) / fm_log((double)p->orig_ctx)) : 1);
}

static void put_yarn(struct hf_out *o)
{
	static const enum arch_key keys[] = { K_YARN_ATTN, K_YARN_FAST, K_YARN_SLOW };

	for (int i = 0; i < 3 && is_yarn(o); i++)
		if (config_has_key(o, keys[i]))
			hf_put_f32(o, keys[i], key_number(o, keys[i]));
}

static void put_sections(struct hf_out *o)
{
	static const int32_t usual[] = { 11, 11, 10, 0 };
	int32_t v[4] = { 0 };
	const struct json *list = config_member(o, "rope_parameters");
	char name[KEY_NAME];

	if (!json_is_object(list))
		list = config_member(o, "rope_scaling");
	list = json_get(list, "mrope_section");
	for (int i = 0; i < 4; i++)
		if (json_is(json_at(list, (size_t)i), JSON_INT))
			v[i] = (int32_t)json_at(list, (size_t)i)->i;
	hf_key_name(o->d, K_SECTIONS, name);
	gguf_write_array(o->d->keys, name, INFER_META_I32, 4, json_is_array(list) ? v : usual,
	                 sizeof v);
}

static void put_base(struct hf_out *o)
{
	if (o->h.n_ropes && !hf_arch_is(o->d, "gemma2"))
		hf_put_f32(o, K_ROPE_BASE, o->h.rope[0].base);
}

static void put_base_swa(struct hf_out *o)
{
	if (o->h.n_ropes == 2)
		hf_put_f32(o, K_ROPE_BASE_SWA, o->h.rope[1].base);
}

/* Write the numbers of expert groups; numbers above 1 only if the class uses groups. */
static void put_groups(struct hf_out *o)
{
	static const enum arch_key keys[] = { K_EXPERT_GROUPS, K_EXPERT_GROUPS_USED };
	static const char *const names[] = { "n_group", "topk_group" };

	for (int i = 0; i < 2; i++) {
		const struct json *v = config_member(o, names[i]);
		if (json_is(v, JSON_INT) && (o->h.groups || v->i <= 1))
			hf_put_u32(o, keys[i], v->i);
	}
}

static void put_gating(struct hf_out *o)
{
	if (hf_arch_is(o->d, "glm4moe lfm2moe") || config_has_key(o, K_EXPERT_GATING))
		hf_put_u32(o, K_EXPERT_GATING, o->h.expert_gating == GATING_SIGMOID ? 2 : 1);
}

/* Write the head sizes if config.json has head_dim or the class computes it. */
static void put_lengths(struct hf_out *o)
{
	int made = hf_arch_is(o->d, "nomic-bert") || (hf_arch_is(o->d, "llama") && !o->h.n_expert);

	if (!config_has_key(o, K_K_LENGTH) && !made)
		return;
	hf_put_u32(o, K_K_LENGTH, o->h.dk);
	hf_put_u32(o, K_V_LENGTH, o->h.dv);
}

static void put_rope_dim(struct hf_out *o)
{
	if (config_has_key(o, K_ROPE_DIM) || hf_arch_is(o->d, LLAMAS " gemma4 phi3 minimax-m2"))
		hf_put_u32(o, K_ROPE_DIM, o->h.n_rot);
}

static void put_rope_dim_swa(struct hf_out *o)
{
	hf_put_u32(o, K_ROPE_DIM_SWA, o->h.swa_heads.n_rot);
}

static void put_window(struct hf_out *o)
{
	int any = hf_arch_is(o->d, "phi3 " SLIDING " gemma2 gpt-oss modern-bert olmo2");
	int slides = 0;

	for (int i = 0; i < o->h.n_layers; i++)
		slides |= o->h.windowed[i];
	if (hf_arch_is(o->d, "phi3") || (any && slides))
		hf_put_u32(o, K_WINDOW, o->h.window);
	if (hf_arch_is(o->d, "llama4") && !o->h.window)
		hf_put_u32(o, K_WINDOW, 0);
}

static void put_pattern(struct hf_out *o)
{
	const struct json *every = config_member(o, "global_attn_every_n_layers");

	if (hf_arch_is(o->d, "gemma3n gemma4") || (hf_arch_is(o->d, "olmo2") && o->h.window))
		hf_put_flags(o, K_WINDOW_PATTERN, o->h.windowed);
	else if (hf_arch_is(o->d, "modern-bert") && json_is(every, JSON_INT))
		hf_put_u32(o, K_WINDOW_PATTERN, every->i);
}

static void put_recurrent(struct hf_out *o)
{
	const struct json *every = config_member(o, "full_attention_interval");
	int64_t n = json_is(every, JSON_INT) && config_member(o, "layer_types") ? every->i : 4;

	hf_put_flags(o, K_RECURRENT, o->h.recurrent);
	hf_put_u32(o, K_FULL_INTERVAL, n);
}

static void put_swa_lengths(struct hf_out *o)
{
	hf_put_u32(o, K_K_LENGTH_SWA, o->h.swa_heads.dk);
	hf_put_u32(o, K_V_LENGTH_SWA, o->h.swa_heads.dv);
}

static void put_expert_ff(struct hf_out *o)
{
	if (config_has_key(o, K_EXPERT_FF) || hf_arch_is(o->d, "gpt-oss minimax-m2"))
		hf_put_u32(o, K_EXPERT_FF, o->h.n_expert_ff);
}

static void put_norm(struct hf_out *o)
{
	if (hf_arch_is(o->d, "glm4moe") || o->h.expert_norm)
		hf_put_bool(o, K_EXPERT_NORM, o->h.expert_norm);
}

static void put_causal(struct hf_out *o) { hf_put_bool(o, K_CAUSAL, 0); }

/* Write the labels of a classification head by number, unless they are the two default labels. */
static void put_labels(struct hf_out *o)
{
	const struct json *all = config_member(o, "id2label");
	size_t n = json_count(all);
	char name[KEY_NAME], id[24];
	struct buf b;

	if (!json_is_object(all) || !n || (n == 2 && json_equals(json_get(all, "0"), "LABEL_0")))
		return;
	buf_init(&b, MEM_FILE);
	for (size_t i = 0; i < n; i++) {
		snprintf(id, sizeof id, "%zu", i);
		const struct json *v = json_get(all, id);
		gguf_put_str(&b, json_str(v), json_bytes(v));
	}
	hf_key_name(o->d, K_LABELS, name);
	if (!b.bad)
		gguf_write_array(o->d->keys, name, INFER_META_STR, n, b.at, b.len);
	buf_fini(&b);
}

static const struct row rows[] = {
	{ K_BLOCK_COUNT, HF_U32, NULL, put_block_count },
	{ K_CONTEXT, HF_U32, NULL, NULL },
	{ K_EMBD, HF_U32, NULL, NULL },
	{ K_FF, HF_U32, NULL, put_ff },
	{ K_HEADS, HF_U32, NULL, NULL },
	{ K_HEADS_KV, HF_U32, NULL, put_heads_kv },
	{ K_ROPE_TYPE, HF_STR, NULL, put_rope_type },
	{ K_ROPE_FACTOR, HF_F32, NULL, put_rope_factor },
	{ K_ROPE_CONTEXT, HF_U32, NULL, put_rope_context },
	{ K_YARN_ATTN, HF_F32, NULL, put_yarn },
	{ K_SECTIONS, HF_U32, "qwen35 qwen35moe", put_sections },
	{ K_ROPE_BASE, HF_F32, NULL, put_base },
	{ K_ROPE_BASE_SWA, HF_F32, NULL, put_base_swa },
	{ K_RMS_EPS, HF_F32, NULL, NULL },
	{ K_LAYER_EPS, HF_F32, ENCODERS, NULL },
	{ K_EXPERTS, HF_U32, NULL, NULL },
	{ K_EXPERTS_USED, HF_U32, NULL, NULL },
	{ K_EXPERT_GROUPS, HF_U32, NULL, put_groups },
	{ K_EXPERT_GATING, HF_U32, NULL, put_gating },
	{ K_K_LENGTH, HF_U32, NULL, put_lengths },
	{ K_CAUSAL, HF_BOOL, ENCODERS, put_causal },
	{ K_LABELS, HF_STR, "bert modern-bert", put_labels },
	{ K_HEAD_POOLING, HF_U32, "modern-bert", NULL },
	{ K_LOGIT_CAP, HF_F32, NULL, NULL },
	{ K_ATTN_CAP, HF_F32, "gemma2", NULL },
	{ K_WINDOW, HF_U32, NULL, put_window },
	{ K_STREAM_ACTIVE, HF_U32, NULL, NULL },
	{ K_STREAMS, HF_U32, NULL, NULL },
	{ K_SHARED_KV, HF_U32, NULL, NULL },
	{ K_LAYER_EMBD, HF_U32, NULL, NULL },
	{ K_CUTS, HF_F32, NULL, NULL },
	{ K_WINDOW_PATTERN, HF_U32, NULL, put_pattern },
	{ K_K_LENGTH_SWA, HF_U32, "gemma4", put_swa_lengths },
	{ K_VOCAB, HF_U32, LLAMAS " " LATENT " " SHORT_CONV " modern-bert", NULL },
	{ K_ACTIVATION, HF_STR, "modern-bert", NULL },
	{ K_LEADING_DENSE, HF_U32, NULL, NULL },
	{ K_Q_LORA, HF_U32, NULL, NULL },
	{ K_KV_LORA, HF_U32, NULL, NULL },
	{ K_K_MLA, HF_U32, NULL, NULL },
	{ K_V_MLA, HF_U32, NULL, NULL },
	{ K_EXPERT_FF, HF_U32, NULL, put_expert_ff },
	{ K_SHARED_EXPERTS, HF_U32, NULL, NULL },
	{ K_SHARED_EXPERT_FF, HF_U32, "qwen2moe granitemoe granitehybrid " HYBRIDS, NULL },
	{ K_EXPERT_SCALE, HF_F32, "glm4moe " LATENT, NULL },
	{ K_EXPERT_NORM, HF_BOOL, "glm4moe " LATENT, put_norm },
	{ K_ROPE_DIM, HF_U32, NULL, put_rope_dim },
	{ K_ROPE_DIM_SWA, HF_U32, "gemma4", put_rope_dim_swa },
	{ K_ROPE_ATTN, HF_F32, NULL, put_rope_attn },
	{ K_YARN_LOG, HF_F32, "mistral3 " LATENT, NULL },
	{ K_TEMPERATURE, HF_F32, "mistral3", NULL },
	{ K_ATTN_SCALE, HF_F32, "granite granitemoe granitehybrid", NULL },
	{ K_EMBD_SCALE, HF_F32, NULL, NULL },
	{ K_RESIDUAL_SCALE, HF_F32, NULL, NULL },
	{ K_LOGIT_SCALE, HF_F32, NULL, NULL },
	{ K_MOE_STEP, HF_U32, NULL, NULL },
	{ K_NEXTN, HF_U32, "glm4moe", NULL },
	{ K_SHORT_CONV, HF_U32, NULL, NULL },
	{ K_STATE_CONV, HF_U32, NULL, NULL },
	{ K_STATE_DK, HF_U32, NULL, NULL },
	{ K_STATE_K_HEADS, HF_U32, NULL, NULL },
	{ K_STATE_HEADS, HF_U32, NULL, NULL },
	{ K_STATE_O, HF_U32, NULL, NULL },
	{ K_RECURRENT, HF_U32, HYBRIDS, put_recurrent },
	{ K_FINETUNED, HF_BOOL, "granitehybrid", NULL },
};

static int write_floats(struct hf_out *o, enum arch_key key, uint64_t n, infer_error *err)
{
	char name[KEY_NAME];
	float v[ARCH_MAX_LAYERS];
	double x;

	for (uint64_t i = 0; i < n && i < ARCH_MAX_LAYERS; i++) {
		TRY(o->k.kind->real(&o->k, key, i, &x, err));
		v[i] = (float)x;
	}
	hf_key_name(o->d, key, name);
	gguf_write_array(o->d->keys, name, INFER_META_F32, n, v, (size_t)n * sizeof *v);
	return INFER_OK;
}

/* Write a key with the value from config.json. */
static int write_key(struct hf_out *o, enum arch_key key, enum hf_key_type type, infer_error *err)
{
	struct key_found f = o->k.kind->arr(&o->k, key);
	struct infer_str s;
	int64_t v;
	double x;
	int on;

	if (!f.kind)
		return INFER_OK;
	if (f.list && f.n <= ARCH_MAX_LAYERS && type == HF_F32)
		return write_floats(o, key, f.n, err);
	switch (type) {
	case HF_U32:
		TRY(o->k.kind->whole(&o->k, key, 0, &v, err));
		hf_put_u32(o, key, v);
		break;
	case HF_F32:
		TRY(o->k.kind->real(&o->k, key, 0, &x, err));
		hf_put_f32(o, key, x);
		break;
	case HF_BOOL:
		TRY(o->k.kind->flag(&o->k, key, &on, err));
		hf_put_bool(o, key, on);
		break;
	case HF_STR:
		TRY(o->k.kind->str(&o->k, key, &s, err));
		put_str(o, key, s);
		break;
	}
	return INFER_OK;
}

static int write_keys(struct hf_dir *d, infer_error *err)
{
	struct hf_out *o = arena_alloc(&d->brief, 1, sizeof *o);

	if (!o)
		return err_set(err, INFER_ENOMEM, "no memory for the parameters of a model");
	o->d = d;
	o->arch = *d->arch;
	if (hf_arch_is(d, "mistral3") &&
	    json_equals(json_get(d->text_config, "model_type"), "mistral"))
		o->arch.must = "head_dim"; /* Mistral Small has fewer required members */
	o->k = arch_keys_hf(d->text_config, &o->arch);
	TRY(arch_hparam_read(&o->h, &o->k, err));
	d->hparam = &o->h;
	gguf_write_str(d->keys, "general.architecture", d->arch->gguf, strlen(d->arch->gguf));
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *row = &rows[i];
		if (row->only && !hf_arch_is(d, row->only))
			continue;
		if (row->special)
			row->special(o);
		else
			TRY(write_key(o, row->key, row->type, err));
	}
	return hf_complete_keys(o, err);
}

int hf_keys(struct hf_dir *d, infer_error *err)
{
	infer_error why = { 0 };
	int rc, embeds;

	TRY(hf_find_class(d, err));
	rc = write_keys(d, &why);
	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s", why.message);
	if (rc)
		return hf_fail(d, "config.json", rc, err, "%s", why.message);
	TRY(hf_make_rope(d, err));
	TRY(hf_pooling(d, &embeds, err));
	return hf_check_tied(d, embeds, err);
}
