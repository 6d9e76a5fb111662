/* hf/keys_check.c - check that d->keys give the same parameters as config.json.
 *
 * The converter omits some members that change the model.  If GGUF has a key for such a member, the
 * key is added here if the parameters differ without it.  Any other difference is refused, and the
 * message names the member. */
#include "hf/keys.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/jwrite.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Read the parameters from the keys that have been written. */
static int read_back(struct hf_out *o, struct arch_hparam *h, infer_error *err)
{
	struct arch_keys k;
	infer_file *f = NULL;
	struct buf b;
	int rc;

	buf_init(&b, MEM_FILE);
	rc = gguf_write_head(o->d->keys, &b, err);
	if (!rc)
		rc = infer_file_open_bytes(&f, b.at, b.len, o->d->path, err);
	if (!rc) {
		k = arch_keys_gguf(f, o->d->arch);
		rc = arch_hparam_read(h, &k, err);
	}
	infer_file_close(&f);
	buf_fini(&b);
	return rc;
}

/* Return the attention scale; in h, 0 means 1 / sqrt(head size). */
static float scale_of(const struct arch_hparam *h)
{
	return h->attn_scale != 0 ? h->attn_scale : 1 / sqrtf((float)h->dk);
}

/* Replace a scale of 0 by 1. */
static float factor(float scale) { return scale != 0 ? scale : 1; }

static int is_near(double a, double b) { return fabs(a - b) <= 1e-6 * fabs(a); }

static int count_sliding(const struct arch_hparam *h)
{
	int n = 0;

	for (int i = 0; i < h->n_layers; i++)
		n += h->windowed[i];
	return n;
}

static int all_slide(const struct arch_hparam *h) { return count_sliding(h) == h->n_layers; }

/* Append the keys of parameters in `got` that differ from o->h; returns the number of keys.  A
 * window that is as long as the context has no effect and is left out. */
static int add_keys(struct hf_out *o, const struct arch_hparam *got)
{
	const struct arch_hparam *h = &o->h;
	int n = 0;

	if (got->window != h->window && h->window &&
	    (h->chunked || (!got->window && all_slide(h) && h->window < h->ctx_train)))
		hf_put_u32(o, K_WINDOW, h->window), n++;
	else if (got->window == h->window && h->window &&
	         memcmp(got->windowed, h->windowed, sizeof h->windowed) != 0)
		hf_put_flags(o, K_WINDOW_PATTERN, h->windowed), n++;
	if (!is_near((double)scale_of(h), (double)scale_of(got)))
		hf_put_f32(o, K_ATTN_SCALE, (double)scale_of(h)), n++;
	if (got->expert_norm != h->expert_norm)
		hf_put_bool(o, K_EXPERT_NORM, h->expert_norm), n++;
	if (factor(got->expert_scale) != factor(h->expert_scale))
		hf_put_f32(o, K_EXPERT_SCALE, (double)h->expert_scale), n++;
	if (got->attn_temp != h->attn_temp)
		hf_put_f32(o, K_TEMPERATURE, (double)h->attn_temp), n++;
	if (h->attn_temp != 0 && got->attn_temp_length != h->attn_temp_length)
		hf_put_u32(o, K_TEMPERATURE_LENGTH, h->attn_temp_length), n++;
	return n;
}

/* Return the factor by which RoPE multiplies cos and sin. */
static double factor_of(const struct arch_hparam *h, const struct arch_rope *p)
{
	double m = p->attn_factor, ratio = (double)h->ctx_train / (double)p->orig_ctx;

	if (p->scaling == SCALING_YARN)
		m *= p->yarn_attn_factor > 0 ? p->yarn_attn_factor
		     : p->factor > 1         ? 0.1 * fm_log(p->factor) + 1
		                             : 1;
	if (p->scaling == SCALING_LONGROPE && !p->has_attn_factor && ratio > 1)
		m = sqrt(1 + fm_log(ratio) / fm_log((double)p->orig_ctx));
	return m;
}

/* Return the kind of RoPE scaling.  GGUF files of phi3 have tensors but no key for longrope. */
static int scaling_of(const struct hf_out *o, const struct arch_rope *p)
{
	if (p->scaling == SCALING_LONGROPE && hf_arch_is(o->d, "phi3"))
		return SCALING_LINEAR;
	return p->scaling == SCALING_NONE && p->factor == 1 ? SCALING_LINEAR : p->scaling;
}

/* Return the member of config.json that makes rope[i] of `got` and o->h differ; NULL: none. */
static const char *rope_differs(const struct hf_out *o, const struct arch_hparam *got, int i)
{
	const struct arch_rope *p = &o->h.rope[i], *q = &got->rope[i];

	if (p->base != q->base)
		return "rope_theta";
	if (scaling_of(o, p) != scaling_of(o, q))
		return "rope_type";
	if (p->scaling != SCALING_LONGROPE && p->factor != q->factor)
		return "factor";
	if (p->scaling == SCALING_YARN && p->exact != q->exact)
		return "truncate";
	if (p->scaling == SCALING_YARN &&
	    (p->ext_factor != q->ext_factor || p->beta_fast != q->beta_fast ||
	     p->beta_slow != q->beta_slow))
		return "beta_fast";
	if (p->scaling >= SCALING_YARN && p->orig_ctx != q->orig_ctx)
		return "original_max_position_embeddings";
	if (!is_near(factor_of(&o->h, p), factor_of(got, q)))
		return "attention_factor";
	return NULL;
}

#define FIELD(f, member) \
	{ \
		offsetof(struct arch_hparam, f), sizeof(((struct arch_hparam *)0)->f), member \
	}
static const struct {
	size_t at, n;
	const char *member;
} fields[] = {
	FIELD(n_layers, "num_hidden_layers"),
	FIELD(n_embd, "hidden_size"),
	FIELD(n_head, "num_attention_heads"),
	FIELD(kv_heads, "num_key_value_heads"),
	FIELD(dk, "head_dim"),
	FIELD(dv, "head_dim"),
	FIELD(ff, "intermediate_size"),
	FIELD(n_rot, "partial_rotary_factor"),
	FIELD(ctx_train, "max_position_embeddings"),
	FIELD(n_expert, "num_experts"),
	FIELD(n_expert_used, "num_experts_per_tok"),
	FIELD(n_expert_ff, "moe_intermediate_size"),
	FIELD(expert_gating, "scoring_func"),
	FIELD(expert_norm, "norm_topk_prob"),
	FIELD(expert_scale, "routed_scaling_factor"),
	FIELD(n_shared_ff, "shared_expert_intermediate_size"),
	FIELD(n_dense, "first_k_dense_replace"),
	FIELD(groups, "n_group"),
	FIELD(groups_used, "topk_group"),
	FIELD(kv_rank, "kv_lora_rank"),
	FIELD(q_rank, "q_lora_rank"),
	FIELD(k_head, "qk_nope_head_dim"),
	FIELD(v_head, "v_head_dim"),
	FIELD(act_limit, "swiglu_limit"),
	FIELD(eps, "rms_norm_eps"),
	FIELD(embd_scale, "embedding_multiplier"),
	FIELD(residual_scale, "residual_multiplier"),
	FIELD(logit_scale, "logits_scaling"),
	FIELD(attn_cap, "attn_logit_softcapping"),
	FIELD(logit_cap, "final_logit_softcapping"),
	FIELD(act, "hidden_act"),
	FIELD(chunked, "attention_chunk_size"),
	FIELD(window, "sliding_window"),
	FIELD(windowed, "layer_types"),
	FIELD(swa_heads, "head_dim"),
	FIELD(shared_kv, "num_kv_shared_layers"),
	FIELD(layer_embd, "hidden_size_per_layer_input"),
	FIELD(altup_streams, "altup_num_inputs"),
	FIELD(has_gauss_topk, "activation_sparsity_pattern"),
	FIELD(no_rope, "no_rope_layers"),
	FIELD(recurrent, "layer_types"),
	FIELD(state, "linear_key_head_dim"),
	FIELD(conv_taps, "linear_conv_kernel_dim"),
	FIELD(attn_gated, "attn_output_gate"),
	FIELD(attn_temp, "attn_scale"),
	FIELD(qk_norm_after_rope, "use_qk_norm"),
	FIELD(experts_step, "interleave_moe_layer_step"),
	FIELD(n_ropes, "rope_parameters"),
	FIELD(bidirectional, "is_causal"),
	FIELD(centred, "norm_eps"),
	FIELD(head_mean, "classifier_pooling"),
};

/* Copy to `got` parameters whose values differ without effect. */
static void copy_equivalents(const struct hf_out *o, struct arch_hparam *got)
{
	const struct arch_hparam *h = &o->h;

	got->attn_scale = h->attn_scale;
	if (factor(got->expert_scale) == factor(h->expert_scale))
		got->expert_scale = h->expert_scale;
	if (!got->window && h->window >= h->ctx_train && all_slide(h)) {
		got->window = h->window;
		memcpy(got->windowed, h->windowed, sizeof got->windowed);
	}
	if (!got->window && !count_sliding(h)) {
		got->window = h->window;
		got->n_ropes = h->n_ropes;
	}
	if (h->attn_temp == 0)
		got->attn_temp_length = h->attn_temp_length;
	memcpy(got->rope, h->rope, sizeof got->rope);
	memcpy(got->gauss_topk, h->gauss_topk, sizeof got->gauss_topk); /* from the same list */
	got->first_position = h->first_position; /* tensors.c drops the rows before it */
	got->n_next = h->n_next;                 /* layers that are not run */
}

static int refuse_difference(const struct hf_out *o, const char *member, infer_error *err)
{
	const struct json *v = json_get(o->d->text_config, member);
	const struct json *rope = json_get(o->d->text_config, "rope_parameters");
	enum { VALUE = 80 };
	struct jwrite w;
	struct buf b;

	if (!v)
		v = json_get(json_is_object(rope) ? rope
		                                  : json_get(o->d->text_config, "rope_scaling"),
		             member);
	if (!v)
		return err_set(
			err, INFER_EUNSUP,
			"key %s: what it means for architecture %s has no key in a GGUF file",
			member, o->d->arch->gguf);
	buf_init(&b, MEM_FILE);
	jw_init(&w, &b);
	jw_value(&w, NULL, v);
	err_set(err, INFER_EUNSUP, "key %s: %.*s is not supported with architecture %s", member,
	        (int)(b.len < VALUE ? b.len : VALUE), b.bad ? "" : b.at, o->d->arch->gguf);
	buf_fini(&b);
	return INFER_EUNSUP;
}

int hf_complete_keys(struct hf_out *o, infer_error *err)
{
	struct arch_hparam *got = arena_alloc(&o->d->brief, 1, sizeof *got);
	const char *p = (const char *)&o->h, *q = (const char *)got, *rope = NULL;

	if (!got)
		return err_set(err, INFER_ENOMEM, "no memory for the parameters of a model");
	/* rows of q and k can be reordered in pairs only over whole heads */
	if (arch_rope_mode(o->d->arch, ARCH_GGUF) != arch_rope_mode(o->d->arch, ARCH_HF) &&
	    o->h.n_rot != o->h.dk)
		return refuse_difference(o, "partial_rotary_factor", err);
	TRY(read_back(o, got, err));
	if (add_keys(o, got))
		TRY(read_back(o, got, err));
	for (int i = 0; i < o->h.n_ropes && i < got->n_ropes && !rope; i++)
		rope = rope_differs(o, got, i);
	if (rope)
		return refuse_difference(o, rope, err);
	if (!is_near((double)scale_of(&o->h), (double)scale_of(got)))
		return refuse_difference(o, "query_pre_attn_scalar", err);
	copy_equivalents(o, got);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (memcmp(p + fields[i].at, q + fields[i].at, fields[i].n) != 0)
			return refuse_difference(o, fields[i].member, err);
	if (memcmp(p, q, sizeof *got) != 0)
		return err_set(err, INFER_EUNSUP,
		               "architecture %s: a member has no key in a GGUF file",
		               o->d->arch->gguf);
	return INFER_OK;
}
