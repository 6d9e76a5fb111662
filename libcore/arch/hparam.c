/* Hyper-parameters out of metadata: each value has its range, and a key that would change the
 * computation in a way we do not know is refused by name. */
#include "arch/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { MAX_READ = 96, MAX_KEY = 128 };

struct arch_reader {
	const infer_file *file;
	const char *arch;
	const char *read[MAX_READ];
	int n_read; /* keys that were asked for, without the architecture */
};

static void full_key(const struct arch_reader *r, const char *key, char out[MAX_KEY])
{
	snprintf(out, MAX_KEY, "%s.%s", r->arch, key);
}

static const struct infer_meta *look(struct arch_reader *r, const char *key, char out[MAX_KEY])
{
	int i = 0;

	full_key(r, key, out);
	while (i < r->n_read && strcmp(r->read[i], key))
		i++;
	if (i == r->n_read) {
		must(i < MAX_READ);
		r->read[r->n_read++] = key;
	}
	return infer_file_meta(r->file, out);
}

int arch_key_i32(struct arch_reader *r, const char *key, int32_t *v, int64_t lo, int64_t hi,
                 infer_error *err)
{
	char name[MAX_KEY];
	int64_t x, one;

	const struct infer_meta *m = look(r, key, name);
	if (!m)
		return INFER_OK;
	if (m->type == INFER_META_ARR && !m->count)
		return err_set(err, INFER_EFORMAT, "key %s: an empty array", name);
	TRY(infer_meta_elem_i64(r->file, m, 0, &x, err));
	for (uint64_t i = 1; m->type == INFER_META_ARR && i < m->count; i++) {
		TRY(infer_meta_elem_i64(r->file, m, i, &one, err));
		if (one != x)
			return err_set(err, INFER_EUNSUP,
			               "key %s: differs from layer to layer (%lld, %lld)", name,
			               (long long)x, (long long)one);
	}
	if (x < lo || x > hi)
		return err_set(err, INFER_EFORMAT, "key %s: %lld is not in %lld ... %lld", name,
		               (long long)x, (long long)lo, (long long)hi);
	*v = (int32_t)x;
	return INFER_OK;
}

int arch_key_double(struct arch_reader *r, const char *key, double *v, double lo, double hi,
                    infer_error *err)
{
	char name[MAX_KEY];
	double x = 0;

	if (!look(r, key, name))
		return INFER_OK;
	TRY(infer_meta_f64(r->file, name, &x, NULL, err));
	if (!(x >= lo && x <= hi)) /* NaN is not in either */
		return err_set(err, INFER_EFORMAT, "key %s: %g is not in %g ... %g", name, x, lo,
		               hi);
	*v = x;
	return INFER_OK;
}

int arch_key_float(struct arch_reader *r, const char *key, float *v, double lo, double hi,
                   infer_error *err)
{
	double x = (double)*v;

	TRY(arch_key_double(r, key, &x, lo, hi, err));
	*v = (float)x;
	return INFER_OK;
}

static int key_bool(struct arch_reader *r, const char *key, int *v, infer_error *err)
{
	char name[MAX_KEY];

	look(r, key, name);
	return infer_meta_bool(r->file, name, v, NULL, err);
}

int arch_key_slides(struct arch_reader *r, struct arch_hparam *h, int32_t period, infer_error *err)
{
	const char *key = "attention.sliding_window_pattern";
	char name[MAX_KEY];

	TRY(arch_key_i32(r, "attention.sliding_window", &h->window, 0, 1 << 30, err));
	const struct infer_meta *m = look(r, key, name);
	if (m && m->type == INFER_META_ARR && m->count != (uint64_t)h->n_layers)
		return err_set(err, INFER_EFORMAT, "key %s: %llu values for %d layers", name,
		               (unsigned long long)m->count, h->n_layers);
	if (m && m->type != INFER_META_ARR)
		TRY(arch_key_i32(r, key, &period, 0, ARCH_MAX_LAYERS, err));
	for (int i = 0; i < h->n_layers; i++) {
		int64_t slides = !period || i % period != period - 1;
		if (m && m->type == INFER_META_ARR)
			TRY(infer_meta_elem_i64(r->file, m, (uint64_t)i, &slides, err));
		h->windowed[i] = h->window && slides;
	}
	return INFER_OK;
}

/* A key that must be there. */
static int must_have(struct arch_reader *r, const char *key, infer_error *err)
{
	char name[MAX_KEY];

	return look(r, key, name) ? INFER_OK : err_set(err, INFER_EFORMAT, "key %s: missing", name);
}

static int read_sizes(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	static const char *const needed[] = {
		"block_count",         "context_length",       "embedding_length",
		"feed_forward_length", "attention.head_count", "attention.layer_norm_rms_epsilon"
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		TRY(must_have(r, needed[i], err));
	TRY(arch_key_i32(r, "block_count", &h->n_layers, 1, ARCH_MAX_LAYERS, err));
	TRY(arch_key_i32(r, "context_length", &h->ctx_train, 1, 1 << 30, err));
	TRY(arch_key_i32(r, "embedding_length", &h->n_embd, 1, 1 << 20, err));
	TRY(arch_key_i32(r, "feed_forward_length", &h->n_ff, 1, 1 << 24, err));
	TRY(arch_key_i32(r, "attention.head_count", &h->n_head, 1, 1 << 12, err));
	h->n_head_kv = h->n_head;
	TRY(arch_key_i32(r, "attention.head_count_kv", &h->n_head_kv, 1, h->n_head, err));
	if (h->n_head % h->n_head_kv)
		return err_set(err, INFER_EFORMAT,
		               "key %s.attention.head_count_kv: %d does not divide the %d heads",
		               r->arch, h->n_head_kv, h->n_head);
	h->dk = h->dv = h->n_embd / h->n_head;
	TRY(arch_key_i32(r, "attention.key_length", &h->dk, 1, 1 << 12, err));
	TRY(arch_key_i32(r, "attention.value_length", &h->dv, 1, 1 << 12, err));
	char name[MAX_KEY];
	if (h->n_embd % h->n_head && !look(r, "attention.key_length", name))
		return err_set(
			err, INFER_EFORMAT,
			"key %s.attention.head_count: %d does not divide the embedding of %d",
			r->arch, h->n_head, h->n_embd);
	if ((int64_t)h->n_head * (h->dk > h->dv ? h->dk : h->dv) > 1 << 20)
		return err_set(err, INFER_EFORMAT,
		               "key %s.attention.key_length: %d heads of %d and %d", r->arch,
		               h->n_head, h->dk, h->dv);
	TRY(arch_key_float(r, "attention.layer_norm_rms_epsilon", &h->eps, 1e-30, 1, err));
	return arch_key_float(r, "attention.scale", &h->attn_scale, 0, 1e6, err);
}

static int read_experts(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gating = 1;

	TRY(arch_key_i32(r, "expert_count", &h->n_expert, 0, ARCH_MAX_EXPERTS, err));
	h->n_expert_ff = h->n_ff;
	TRY(arch_key_i32(r, "expert_used_count", &h->n_expert_used, h->n_expert ? 1 : 0,
	                 h->n_expert, err));
	TRY(arch_key_i32(r, "expert_feed_forward_length", &h->n_expert_ff, h->n_expert ? 1 : 0,
	                 1 << 24, err));
	TRY(arch_key_i32(r, "expert_gating_func", &gating, 0, 255, err));
	if (h->n_expert && !h->n_expert_used)
		return err_set(err, INFER_EFORMAT,
		               "key %s.expert_used_count: missing, with %d experts", r->arch,
		               h->n_expert);
	if (gating > 2)
		return err_set(err, INFER_EUNSUP, "key %s.expert_gating_func: %d is not supported",
		               r->arch, gating);
	h->expert_gating = gating == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	h->expert_norm = 1;
	TRY(key_bool(r, "expert_weights_norm", &h->expert_norm, err));
	TRY(arch_key_float(r, "expert_weights_scale", &h->expert_scale, 0, 1e6, err));
	if (!h->n_expert && h->expert_scale != 0 && h->expert_scale != 1)
		return err_set(err, INFER_EUNSUP,
		               "key %s.expert_weights_scale: %g has no effect without experts",
		               r->arch, (double)h->expert_scale);
	return INFER_OK;
}

static const char *const scalings[] = { "none", "linear", "yarn", "longrope" };

/* The converter of phi3 writes the factors of longrope and no type: tensors of factors say it. */
static int read_scaling_type(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{
	struct infer_str s = { "linear", 6 };
	char name[MAX_KEY];

	look(r, "rope.scaling.type", name);
	TRY(infer_meta_str(r->file, name, &s, NULL, err));
	p->scaling = -1;
	for (int i = 0; i < 4; i++)
		if (strlen(scalings[i]) == s.len && !memcmp(scalings[i], s.at, s.len))
			p->scaling = i;
	if (p->scaling < 0)
		return err_set(err, INFER_EUNSUP, "key %s: %.*s is not supported", name,
		               (int)(s.len < 64 ? s.len : 64), s.at);
	if (p->scaling == SCALING_LINEAR &&
	    (infer_file_tensor(r->file, "rope_factors_long.weight") ||
	     infer_file_tensor(r->file, "rope_factors_short.weight")))
		p->scaling = SCALING_LONGROPE;
	return INFER_OK;
}

/* The newer key wins over the older; 0 is what old converters write for 1. */
static int read_factor(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{
	double old = 1;
	char name[MAX_KEY];

	p->factor = 1;
	TRY(arch_key_double(r, "rope.scale_linear", &old, 1e-3, 1e6, err));
	TRY(arch_key_double(r, "rope.scaling.factor", &p->factor, 0, 1e6, err));
	if (p->factor == 0)
		p->factor = 1;
	if (!look(r, "rope.scaling.factor", name))
		p->factor = old;
	if (old != 1 && old != p->factor)
		return err_set(err, INFER_EUNSUP,
		               "key %s.rope.scale_linear: %g has no effect beside "
		               "rope.scaling.factor %g",
		               r->arch, old, p->factor);
	return INFER_OK;
}

/* A key that the kind of scaling does not read is fine at the value that changes nothing. */
static int check_scaling(const struct arch_rope *p, const struct arch_reader *r, infer_error *err)
{
	int yarn = p->scaling == SCALING_YARN;
	const struct {
		const char *key;
		int read;
		double v, ok;
	} keys[] = {
		{ "factor", yarn || p->scaling == SCALING_LINEAR, p->factor, 1 },
		{ "yarn_ext_factor", yarn, p->ext_factor, 1 },
		{ "yarn_attn_factor", yarn, p->yarn_attn_factor, 0 },
		{ "yarn_beta_fast", yarn, p->beta_fast, 32 },
		{ "yarn_beta_slow", yarn, p->beta_slow, 1 },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!keys[i].read && keys[i].v != keys[i].ok)
			return err_set(err, INFER_EUNSUP,
			               "key %s.rope.scaling.%s: %g has no effect with scaling %s",
			               r->arch, keys[i].key, keys[i].v, scalings[p->scaling]);
	return INFER_OK;
}

/* yarn_attn_factor is the whole factor of YaRN, in place of what follows from the context;
 * attn_factor multiplies whatever the kind of scaling makes. */
static int read_scaling(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{
	char name[MAX_KEY];

	TRY(read_scaling_type(p, r, err));
	TRY(read_factor(p, r, err));
	p->ext_factor = p->attn_factor = 1;
	p->beta_fast = 32;
	p->beta_slow = 1;
	TRY(arch_key_double(r, "rope.scaling.yarn_ext_factor", &p->ext_factor, 0, 1, err));
	TRY(arch_key_double(r, "rope.scaling.yarn_beta_fast", &p->beta_fast, 1e-3, 1e6, err));
	TRY(arch_key_double(r, "rope.scaling.yarn_beta_slow", &p->beta_slow, 1e-3, 1e6, err));
	TRY(arch_key_double(r, "rope.scaling.yarn_attn_factor", &p->yarn_attn_factor, 1e-3, 1e3,
	                    err));
	p->has_attn_factor = look(r, "rope.scaling.attn_factor", name) != NULL;
	TRY(arch_key_double(r, "rope.scaling.attn_factor", &p->attn_factor, 1e-3, 1e3, err));
	return check_scaling(p, r, err);
}

static int read_rope(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct arch_rope *p = &h->rope[0];

	h->n_rot = h->dk;
	h->n_ropes = 1;
	TRY(arch_key_i32(r, "rope.dimension_count", &h->n_rot, 2, h->dk, err));
	if (h->n_rot % 2)
		return err_set(err, INFER_EFORMAT, "key %s.rope.dimension_count: %d is odd",
		               r->arch, h->n_rot);
	p->base = 10000;
	p->orig_ctx = h->ctx_train;
	TRY(arch_key_double(r, "rope.freq_base", &p->base, 1, 1e12, err));
	TRY(read_scaling(p, r, err));
	int32_t orig = h->ctx_train;
	TRY(arch_key_i32(r, "rope.scaling.original_context_length", &orig, 1, 1 << 30, err));
	p->orig_ctx = orig;
	return INFER_OK;
}

/* Keys that change what is computed: fine at the values that say "not used", else refused.  n: how
 * many such values. */
static const struct {
	const char *key;
	double ok[2];
} neutral[] = {
	{ "use_parallel_residual", { 0, 0 } },
	{ "attention.causal", { 1, 1 } },
	{ "attention.clamp_kqv", { 0, 0 } },
	{ "attention.max_alibi_bias", { 0, 0 } },
	{ "attn_logit_softcapping", { 0, 0 } },
	{ "final_logit_softcapping", { 0, 0 } },
	{ "router_logit_softcapping", { 0, 0 } },
	{ "expert_shared_count", { 0, 0 } },
	{ "expert_shared_feed_forward_length", { 0, 0 } },
	{ "expert_chunk_feed_forward_length", { 0, 0 } },
	{ "expert_group_count", { 0, 1 } },
	{ "expert_group_used_count", { 0, 1 } },
	{ "expert_group_scale", { 0, 1 } },
	{ "experts_per_group", { 0, 0 } },
	{ "moe_every_n_layers", { 0, 1 } },
	{ "moe_latent_size", { 0, 0 } },
	{ "interleave_moe_layer_step", { 0, 1 } },
	{ "leading_dense_block_count", { 0, 0 } },
	{ "nextn_predict_layers", { 0, 0 } },
	{ "attention.sliding_window", { 0, 0 } },
	{ "attention.q_lora_rank", { 0, 0 } },
	{ "attention.kv_lora_rank", { 0, 0 } },
	{ "attention.shared_kv_layers", { 0, 0 } },
	{ "attention.temperature_scale", { 0, 0 } },
	{ "attention.temperature_length", { 0, 0 } },
	{ "attention.output_scale", { 0, 1 } },
	{ "attention.value_scale", { 0, 1 } },
	{ "attention.relative_buckets_count", { 0, 0 } },
	{ "embedding_scale", { 0, 1 } },
	{ "residual_scale", { 0, 1 } },
	{ "logit_scale", { 0, 1 } },
	{ "embedding_length_per_layer_input", { 0, 0 } },
	{ "embedding_length_out", { 0, 0 } },
	{ "full_attention_interval", { 0, 1 } },
	{ "rope.scaling.alpha", { 0, 0 } },
	{ "rope.scaling.yarn_log_multiplier", { 0, 0 } },
	{ "swin_norm", { 0, 0 } },
	{ "ssm.conv_kernel", { 0, 0 } },
	{ "ssm.state_size", { 0, 0 } },
	{ "ssm.inner_size", { 0, 0 } },
};

/* Keys that change nothing here, and why. */
static const char *const harmless[] = {
	"vocab_size",                   /* token_embd has as many rows */
	"tensor_data_layout",           /* the converter's note on the rows of q and k */
	"pooling_type",                 /* of embeddings */
	"attention.layer_norm_epsilon", /* no norm here takes a mean away */
	"rope.scaling.finetuned",       /* how the model was trained */
	"rope.dimension_sections",      /* text stands at one position in all of them */
};

static int check_neutral(struct arch_reader *r, infer_error *err)
{
	char name[MAX_KEY];

	for (size_t i = 0; i < sizeof(neutral) / sizeof(neutral[0]); i++) {
		int known = 0;
		for (int k = 0; k < r->n_read; k++)
			known |= !strcmp(r->read[k], neutral[i].key);
		const struct infer_meta *m = known ? NULL : look(r, neutral[i].key, name);
		double x;
		int flag;
		if (!m || (m->type == INFER_META_ARR && !m->count))
			continue;
		if (m->type == INFER_META_BOOL) {
			TRY(infer_meta_bool(r->file, name, &flag, NULL, err));
			x = flag;
		} else {
			TRY(infer_meta_elem_f64(r->file, m, 0, &x, err));
		}
		if (x != neutral[i].ok[0] && x != neutral[i].ok[1])
			return err_set(err, INFER_EUNSUP,
			               "key %s: %g is not supported with architecture %s", name, x,
			               r->arch);
	}
	return INFER_OK;
}

static int is(struct infer_str s, const char *name)
{
	return strlen(name) == s.len && !memcmp(name, s.at, s.len);
}

/* Of windowed layers, where none is. */
static int is_idle(const struct arch_hparam *h, struct infer_str key)
{
	return !h->window && (is(key, "rope.freq_base_swa") || is(key, "rope.dimension_count_swa"));
}

/* A key of the architecture that nobody here has heard of gets a warning; one that would turn the
 * positions, an error. */
static int check_unknown(const struct arch_hparam *h, const struct arch_reader *r,
                         infer_log_fn *log, void *user, infer_error *err)
{
	size_t n = strlen(r->arch);
	const struct infer_meta *m;
	char line[256];

	for (uint64_t i = 0; (m = infer_file_meta_at(r->file, i)); i++) {
		if (m->key.len <= n || memcmp(m->key.at, r->arch, n) || m->key.at[n] != '.')
			continue;
		struct infer_str key = { m->key.at + n + 1, m->key.len - n - 1 };
		int known = is_idle(h, key);
		for (int k = 0; k < r->n_read && !known; k++)
			known = is(key, r->read[k]);
		for (size_t k = 0; k < sizeof(harmless) / sizeof(harmless[0]) && !known; k++)
			known = is(key, harmless[k]);
		if (known)
			continue;
		snprintf(line, sizeof(line),
		         "key %.*s is not known to architecture %s and has no effect",
		         (int)(m->key.len < 128 ? m->key.len : 128), m->key.at, r->arch);
		if (key.len > 5 && !memcmp(key.at, "rope.", 5))
			return err_set(err, INFER_EUNSUP, "%s", line);
		if (log)
			log(user, INFER_LOG_WARN, line);
	}
	return INFER_OK;
}

int arch_hparam_read(struct arch_hparam *h, const struct arch *a, const infer_file *f,
                     infer_log_fn *log, void *log_user, infer_error *err)
{
	struct arch_reader r = { .file = f, .arch = a->gguf };

	memset(h, 0, sizeof(*h));
	TRY(read_sizes(h, &r, err));
	TRY(read_experts(h, &r, err));
	TRY(read_rope(h, &r, err));
	if (a->hparam)
		TRY(a->hparam(h, &r, err));
	TRY(check_neutral(&r, err));
	return check_unknown(h, &r, log, log_user, err);
}
