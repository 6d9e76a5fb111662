/* tests/unit/arch/test_keys.c - a model has the same parameters as a GGUF file and as a Hugging
 * Face checkpoint: tests/golden/logits/NAME.gguf and tests/golden/hf/config/NAME.json
 * (scripts/golden-hf-config.py); and every row of key_list.h is used. */
#include "../nth.h"
#include "../golden_logits.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/fmath.h"
#include "base/jread.h"

static const struct {
	const char *files, *configs;
} both[] = { { GOLDEN_LOGITS, "tests/golden/hf/config/" },
	     { "tests/golden/encoders/", "tests/golden/encoders/" } };

static uint8_t asked[2][ARCH_KEYS], met[2][ARCH_KEYS]; /* by GGUF, by Hugging Face */
static char text[1 << 14];

/* --- a kind of checkpoint that notes what it is asked for */

static const struct arch_keys_kind *inner;
static int side;

static struct key_found noting(const struct arch_keys *k, enum arch_key key)
{
	struct key_found f = inner->arr(k, key);

	asked[side][key] = 1;
	met[side][key] |= f.kind != KEY_ABSENT;
	return f;
}

static int read_noting(struct arch_hparam *h, struct arch_keys k, int hf, infer_error *err)
{
	struct arch_keys_kind kind = *k.kind;

	inner = k.kind;
	side = hf;
	kind.arr = noting;
	k.kind = &kind;
	return arch_hparam_read(h, &k, err);
}

static int read_gguf(struct arch_hparam *h, int at, const char *name, infer_error *err)
{
	struct infer_str arch;
	char path[256];
	infer_file *f;
	int rc;

	snprintf(path, sizeof path, "%s%s.gguf", both[at].files, name);
	rc = infer_file_open(&f, path, err);
	if (rc)
		return rc;
	rc = infer_meta_str(f, "general.architecture", &arch, NULL, err);
	assert_non_null(arch_find(arch));
	if (!rc)
		rc = read_noting(h, arch_keys_gguf(f, arch_find(arch)), 0, err);
	infer_file_close(&f);
	return rc;
}

/* The text as a config.json. */
static int read_config(struct arch_hparam *h, const char *json, infer_error *err)
{
	const struct json *v, *cls;
	struct arena a;
	int rc;

	arena_init(&a, MEM_ARCH);
	rc = jread(&v, &a, json, strlen(json), "config.json", err);
	if (!rc) {
		cls = json_at(json_get(v, "architectures"), 0);
		const struct arch *arch =
			arch_find_hf((struct infer_str){ json_str(cls), json_bytes(cls) });
		assert_non_null(arch);
		rc = read_noting(h, arch_keys_hf(v, arch), 1, err);
	}
	arena_fini(&a);
	return rc;
}

static const char *slurp(int at, const char *name)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s%s.json", both[at].configs, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	return text;
}

/* --- what is written in two ways and computed alike */

/* The factor of cos and sin that the keys come to. */
static double mscale(const struct arch_hparam *h, const struct arch_rope *p)
{
	double m = p->attn_factor, ratio = (double)h->ctx_train / (double)p->orig_ctx;

	if (p->scaling == SCALING_YARN)
		m *= p->yarn_attn_factor > 0 ? p->yarn_attn_factor : 0.1 * fm_log(p->factor) + 1;
	if (p->scaling == SCALING_LONGROPE && !p->has_attn_factor && ratio > 1)
		m = sqrt(1 + fm_log(ratio) / fm_log((double)p->orig_ctx));
	return m;
}

static void same_real(const char *name, const char *what, double a, double b, double within)
{
	if (!(fabs(a - b) <= within * fabs(a)))
		fail_msg("%s: %s is %.9g in GGUF, %.9g in config.json", name, what, a, b);
}

/* Fail if two structs differ, after the fields that are compared in another way were made equal. */
static void same_rest(const char *name, const char *what, const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			fail_msg("%s: byte %zu of struct %s differs: a field that is not in SAME, "
			         "read from one kind of file alone or differently",
			         name, i, what);
}

/* None is linear by 1. */
static double scaling(const struct arch_rope *p)
{
	return p->scaling == SCALING_NONE && p->factor == 1 ? SCALING_LINEAR : p->scaling;
}

static void same_rope(const char *name, const struct arch_hparam *a, const struct arch_hparam *b,
                      int i)
{
	const struct arch_rope *p = &a->rope[i];
	struct arch_rope q = b->rope[i];

	same_real(name, "rope base", p->base, q.base, 0);
	same_real(name, "rope scaling", scaling(p), scaling(&q), 0);
	/* longrope has a table instead; some writers give its factor all the same */
	if (p->scaling != SCALING_LONGROPE)
		same_real(name, "rope factor", p->factor, q.factor, 0);
	same_real(name, "rope original context", (double)p->orig_ctx, (double)q.orig_ctx, 0);
	same_real(name, "rope mscale", mscale(a, p), mscale(b, &q), 1e-7);
	q.scaling = p->scaling;
	q.factor = p->factor;
	q.attn_factor = p->attn_factor;
	q.yarn_attn_factor = p->yarn_attn_factor;
	q.has_attn_factor = p->has_attn_factor;
	q.has_divisors = p->has_divisors; /* config.json says it, a GGUF file has the tensor */
	same_rest(name, "arch_rope", p, &q, sizeof q);
}

static double attn_scale(const struct arch_hparam *h)
{
	return h->attn_scale != 0 ? (double)h->attn_scale : (double)(1 / sqrtf((float)h->dk));
}

static void same(const char *name, const struct arch_hparam *a, const struct arch_hparam *b)
{
	static struct arch_hparam rest;

#define SAME(f) same_real(name, #f, (double)a->f, (double)b->f, 0)
	SAME(n_layers), SAME(n_embd), SAME(n_head), SAME(n_head_kv), SAME(dk), SAME(dv), SAME(n_ff);
	SAME(n_rot), SAME(ctx_train), SAME(n_expert), SAME(n_expert_used), SAME(n_expert_ff);
	SAME(expert_gating), SAME(expert_norm), SAME(expert_scale), SAME(eps), SAME(embd_scale);
	SAME(residual_scale), SAME(logit_scale), SAME(attn_cap), SAME(logit_cap), SAME(act);
	SAME(window), SAME(n_ropes), SAME(n_shared_ff), SAME(n_dense), SAME(n_next);
	SAME(act_limit), SAME(attn_temp), SAME(attn_temp_length), SAME(attn_temp_from),
		SAME(chunked);
	SAME(attn_temp_no_rope), SAME(qk_norm_after_rope), SAME(weight_before_ffn),
		SAME(experts_step);
	SAME(state), SAME(state_k_heads), SAME(state_heads), SAME(state_dk), SAME(state_dv);
	SAME(conv_taps), SAME(state_tiled), SAME(attn_gated);
	SAME(kv_rank), SAME(q_rank), SAME(k_head), SAME(v_head), SAME(mla_norm_eps);
	SAME(groups), SAME(groups_used), SAME(group_best);
	SAME(bidirectional), SAME(centred), SAME(head_gelu), SAME(head_mean);
#undef SAME
	same_real(name, "scale of scores", attn_scale(a), attn_scale(b), 1e-7);
	for (int i = 0; i < a->n_ropes; i++)
		same_rope(name, a, b, i);
	for (int i = 0; i < a->n_layers; i++) /* made of parts in float32 by the writer */
		same_real(name, "top-k", (double)a->gauss_topk[i], (double)b->gauss_topk[i], 3e-7);
	rest = *b;
	memcpy(rest.gauss_topk, a->gauss_topk, sizeof rest.gauss_topk);
	rest.attn_scale = a->attn_scale;
	rest.first_position = 0; /* GGUF files have no rows before it */
	memcpy(rest.rope, a->rope, sizeof rest.rope);
	same_rest(name, "arch_hparam", a, &rest, sizeof rest);
}

/* --- tests */

static int case_one(int at, const char *name)
{
	static struct arch_hparam gguf, hf;
	infer_error err = { 0 };
	int rc = read_gguf(&gguf, at, name, &err);

	if (!rc)
		rc = read_config(&hf, slurp(at, name), &err);
	if (rc && rc != INFER_ENOMEM)
		fail_msg("%s: %s", name, err.message);
	if (!rc)
		same(name, &gguf, &hf);
	return rc;
}

/* Every config there is; all architectures are among them. */
static void test_same(void **state)
{
	struct dirent *e;
	char name[256];
	int n = 0;

	(void)state;
	for (int at = 0; at < 2; at++) {
		DIR *d = opendir(both[at].configs);
		assert_non_null(d);
		while ((e = readdir(d))) {
			size_t len = strlen(e->d_name);
			if (len < 6 || strcmp(e->d_name + len - 5, ".json") != 0)
				continue;
			snprintf(name, sizeof name, "%.*s", (int)(len - 5), e->d_name);
			assert_int_equal(case_one(at, name), INFER_OK);
			n++;
		}
		closedir(d);
	}
	assert_true(n >= 57);
}

static int case_memory(void) { return case_one(0, "gemma3"); }

/* After test_same: a row that nobody asks for, and one that no model has, shows here. */
static void test_every_row(void **state)
{
	/* what no public writer of the golden files writes; test_hparam has these */
	static const enum arch_key rare[] = { K_EXPERT_GATING, K_EXPERT_NORM, K_EXPERT_SCALE,
		                              K_ROPE_LINEAR,   K_YARN_EXT,    K_ROPE_DIM_SWA,
		                              K_SWIGLU_GAIN };

	(void)state;
	for (enum arch_key key = 0; key < ARCH_KEYS; key++) {
		const struct key_row *row = &arch_key_rows[key];
		int is_rare = 0;
		for (size_t i = 0; i < sizeof rare / sizeof *rare; i++)
			is_rare |= rare[i] == key;
		if (!row->gguf && !row->hf)
			fail_msg("key_list.h: %s has no name in either column", row->id);
		if (row->rule == KEY_HARMLESS || key == K_ATTN_SCALAR || key == K_ROPE_DIM_SWA)
			continue;
		if (!asked[0][key] || !asked[1][key])
			fail_msg("key_list.h: no architecture reads %s (%s)", row->id,
			         row->gguf ? row->gguf : row->hf);
		if (row->rule == KEY_NEUTRAL && key > K_LOGIT_CAP)
			continue;
		if (row->gguf && !met[0][key] && !is_rare)
			fail_msg("key_list.h: no golden file with a config of its name has %s (%s)",
			         row->id, row->gguf);
		if (row->hf && !met[1][key] && !is_rare)
			fail_msg("key_list.h: no golden config has %s (%s)", row->id, row->hf);
	}
}

/* One spelling a column. */
static void test_no_name_twice(void **state)
{
	(void)state;
	for (int i = 0; i < ARCH_KEYS; i++)
		for (int k = 0; k < i; k++) {
			const struct key_row *a = &arch_key_rows[i], *b = &arch_key_rows[k];
			if (a->gguf && b->gguf && !strcmp(a->gguf, b->gguf))
				fail_msg("key_list.h: %s and %s are both %s", a->id, b->id,
				         a->gguf);
		}
}

/* A config in which one thing is changed: refused, and the key is named. */
#define LLAMA \
	"{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":32,\"num_hidden_layers\":2," \
	"\"num_attention_heads\":4,\"intermediate_size\":64,\"max_position_embeddings\":128," \
	"\"rms_norm_eps\":1e-5"
static const struct {
	const char *json;
	int code;
	const char *says;
} bad[] = {
	{ LLAMA ",\"hidden_act\":\"gelu\"}", INFER_EUNSUP,
	  "key hidden_act: must be silu, not gelu" },
	{ LLAMA ",\"layer_types\":[\"full_attention\",\"mamba\"]}", INFER_EUNSUP,
	  "key layer_types: mamba" },
	{ LLAMA ",\"layer_types\":[\"full_attention\"]}", INFER_EFORMAT, "1 values for 2 layers" },
	{ LLAMA ",\"n_shared_experts\":1}", INFER_EUNSUP,
	  "key n_shared_experts: 1 is not supported" },
	{ LLAMA ",\"use_qk_norm\":true}", INFER_EUNSUP, "key use_qk_norm" },
	{ LLAMA ",\"mlp_only_layers\":[0]}", INFER_EUNSUP, "key mlp_only_layers" },
	{ LLAMA ",\"head_dim\":\"8\"}", INFER_EFORMAT, "key head_dim: not a whole number" },
	{ LLAMA ",\"head_dim\":8.5}", INFER_EFORMAT, "key head_dim: not a whole number" },
	{ LLAMA ",\"head_dim\":0}", INFER_EFORMAT, "key head_dim: 0 is not in 1" },
	{ LLAMA ",\"num_key_value_heads\":3}", INFER_EFORMAT,
	  "key num_key_value_heads: 3 does not divide" },
	{ LLAMA ",\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2.0}}", INFER_EUNSUP,
	  "dynamic is not supported" },
	{ LLAMA ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":\"2\"}}", INFER_EFORMAT,
	  "not a number" },
	{ LLAMA ",\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":2.0,\"mscale\":1.0}}",
	  INFER_EUNSUP, "key mscale: 1 is not supported" },
	{ LLAMA ",\"rope_interleaved\":true}", INFER_EUNSUP,
	  "key rope_interleaved: 1 is not supported" },
	{ LLAMA ",\"rope_parameters\":{\"rope_theta\":\"big\"}}", INFER_EFORMAT,
	  "key rope_theta: not a number" },
	{ "{\"architectures\":[\"LlamaForCausalLM\"]}", INFER_EFORMAT,
	  "key num_hidden_layers: missing" },
	{ "{\"architectures\":[\"Gemma2ForCausalLM\"]}", INFER_EFORMAT, "key head_dim: missing" },
	{ "{\"architectures\":[\"Qwen3MoeForCausalLM\"],\"head_dim\":8}", INFER_EFORMAT,
	  "key norm_topk_prob: missing" },
};

/* Configs of families that have more, in which one thing is changed: of a mechanism that is not here, or without what its
 * class has another default for. */
#define FAMILY(name) \
	"{\"architectures\":[\"" name "ForCausalLM\"],\"hidden_size\":32,\"num_hidden_layers\":2," \
	"\"num_attention_heads\":4,\"intermediate_size\":64,\"max_position_embeddings\":128," \
	"\"rms_norm_eps\":1e-5,\"head_dim\":8,\"rope_theta\":1e4,\"num_key_value_heads\":4"
#define LLAMA4 \
	FAMILY("Llama4") \
	",\"num_local_experts\":4,\"num_experts_per_tok\":1,\"intermediate_size_mlp\":64," \
	"\"use_qk_norm\":true,\"attention_chunk_size\":16"
#define MINIMAX FAMILY("MiniMaxM2") ",\"num_local_experts\":4,\"num_experts_per_tok\":2"
#define LATENT \
	FAMILY("DeepseekV3") \
	",\"kv_lora_rank\":16,\"qk_nope_head_dim\":8,\"qk_rope_head_dim\":4,\"v_head_dim\":6," \
	"\"n_routed_experts\":4,\"num_experts_per_tok\":2,\"n_shared_experts\":1," \
	"\"moe_intermediate_size\":8,\"norm_topk_prob\":true"
#define ENCODER(name, type) \
	"{\"architectures\":[\"" name "\"],\"model_type\":\"" type "\",\"hidden_size\":32," \
	"\"num_hidden_layers\":2,\"num_attention_heads\":4,\"intermediate_size\":64," \
	"\"max_position_embeddings\":66,\"layer_norm_eps\":1e-5"
#define NOMIC ENCODER("NomicBertModel", "nomic_bert") ",\"rotary_emb_base\":1000"
#define MODERN \
	ENCODER("ModernBertModel", "modernbert") \
	",\"global_rope_theta\":160000.0,\"local_attention\":128"
#define STEPS(limit) \
	FAMILY("GraniteMoeHybrid") \
	",\"num_local_experts\":0,\"shared_intermediate_size\":64,\"mamba_d_head\":8," \
	"\"mamba_n_heads\":8,\"mamba_n_groups\":1,\"mamba_d_state\":4,\"mamba_d_conv\":4," \
	"\"layer_types\":[\"mamba\",\"attention\"],\"time_step_limit\":" limit "}"
#define GEMMA3N(more, cuts) \
	FAMILY("Gemma3n") \
	",\"sliding_window\":8,\"layer_types\":[\"sliding_attention\",\"full_attention\"]," \
	"\"num_kv_shared_layers\":0,\"hidden_size_per_layer_input\":4,\"final_logit_" \
	"softcapping\":30.0," \
	"\"activation_sparsity_pattern\":[" cuts "]" more
static const struct {
	const char *json;
	int code; /* INFER_OK: what the others differ from */
	const char *says;
} foreign[] = {
	{ FAMILY("GptOss") ",\"sliding_window\":8,\"rope_scaling\":{\"truncate\":false}}", INFER_OK,
	  "" },
	{ ENCODER("BertModel", "bert") "}", INFER_OK, "" },
	{ ENCODER("BertModel", "bert") ",\"position_embedding_type\":\"relative_key\"}",
	  INFER_EUNSUP, "key position_embedding_type: must be absolute, not relative_key" },
	{ ENCODER("BertModel", "bert") ",\"hidden_act\":\"gelu_new\"}", INFER_EUNSUP,
	  "key hidden_act: must be gelu, not gelu_new" },
	{ ENCODER("BertModel", "bert") ",\"is_decoder\":true}", INFER_EUNSUP, "key is_decoder" },
	{ ENCODER("BertModel", "bert") ",\"add_cross_attention\":true}", INFER_EUNSUP,
	  "key add_cross_attention" },
	{ ENCODER("XLMRobertaModel", "xlm-roberta") ",\"pad_token_id\":64}", INFER_OK, "" },
	{ ENCODER("XLMRobertaModel", "xlm-roberta") ",\"pad_token_id\":65}", INFER_EFORMAT,
	  "key max_position_embeddings: 0" },
	{ ENCODER("XLMRobertaModel", "xlm-roberta") ",\"pad_token_id\":-3}", INFER_EFORMAT,
	  "key pad_token_id: -2" },
	{ ENCODER("XLMRobertaModel", "xlm-roberta") ",\"lora_adaptations\":[\"separation\"]}",
	  INFER_EFORMAT, "key lora_adaptations" },
	{ NOMIC ",\"reorder_and_upcast_attn\":false,\"summary_use_proj\":true}", INFER_OK, "" },
	{ NOMIC ",\"scale_attn_weights\":true}", INFER_OK, "" },
	{ NOMIC ",\"scale_attn_weights\":false}", INFER_EUNSUP, "key scale_attn_weights" },
	{ ENCODER("NomicBertModel", "nomic_bert") "}", INFER_EFORMAT, "key rope_theta: missing" },
	{ NOMIC ",\"activation_function\":\"gelu\"}", INFER_EUNSUP,
	  "key activation_function: must be swiglu, not gelu" },
	{ NOMIC ",\"prenorm\":true}", INFER_EUNSUP, "key prenorm: 1" },
	{ NOMIC ",\"rotary_emb_fraction\":0.5}", INFER_EUNSUP, "key rotary_emb_fraction: 0.5" },
	{ NOMIC ",\"rotary_emb_interleaved\":true}", INFER_EUNSUP, "key rotary_emb_interleaved" },
	{ NOMIC ",\"rotary_scaling_factor\":2.0}", INFER_EUNSUP, "key rotary_scaling_factor: 2" },
	{ NOMIC ",\"moe_every_n_layers\":2}", INFER_EUNSUP, "2 is not supported" },
	{ NOMIC ",\"causal\":true}", INFER_EUNSUP, "key causal: an encoder must not be causal" },
	{ MODERN "}", INFER_OK, "" },
	{ MODERN ",\"hidden_activation\":\"relu\"}", INFER_EUNSUP,
	  "key hidden_activation: relu is not supported" },
	{ MODERN ",\"classifier_activation\":\"tanh\"}", INFER_EUNSUP,
	  "key classifier_activation: must be gelu, not tanh" },
	{ MODERN ",\"classifier_pooling\":\"max\"}", INFER_EFORMAT, "key classifier_pooling" },
	{ MODERN ",\"global_attn_every_n_layers\":-1}", INFER_EFORMAT, "-1 is not in 0" },
	{ MODERN ",\"layer_types\":[\"full_attention\",\"linear_attention\"]}", INFER_EUNSUP,
	  "key layer_types: linear_attention" },
	{ ENCODER("ModernBertModel", "modernbert") ",\"local_attention\":128}", INFER_EFORMAT,
	  "key rope_theta: missing" },
	{ FAMILY("Llama") ",\"causal\":false}", INFER_EUNSUP, "key causal: 0" },
	{ FAMILY("GptOss") ",\"sliding_window\":8}", INFER_EFORMAT, "key truncate: missing" },
	{ FAMILY("GptOss") ",\"rope_scaling\":{\"truncate\":false}}", INFER_EFORMAT,
	  "key sliding_window: missing" },
	{ FAMILY("GptOss") ",\"sliding_window\":8,\"truncate\":false,\"swiglu_alpha\":2.0}",
	  INFER_EFORMAT, "key swiglu_alpha: 2" },
	{ FAMILY("GptOss") ",\"sliding_window\":8,\"truncate\":false,\"swiglu_limit\":0.0}",
	  INFER_EFORMAT, "key swiglu_limit: 0" },
	{ FAMILY("GptOss") ",\"sliding_window\":8,\"truncate\":0}", INFER_EFORMAT,
	  "key truncate: not true or false" },
	{ FAMILY("Llama") ",\"swiglu_limit\":7.0}", INFER_EUNSUP,
	  "key swiglu_limit: 7 is not supported" },
	{ FAMILY("Llama") ",\"no_rope_layers\":[1,1]}", INFER_EUNSUP, "key no_rope_layers" },
	{ FAMILY("Llama") ",\"rope_scaling\":{\"llama_4_scaling_beta\":0.1}}", INFER_EUNSUP,
	  "key llama_4_scaling_beta" },
	{ FAMILY("SmolLM3") ",\"no_rope_layers\":[1,0]}", INFER_OK, "" },
	{ FAMILY("SmolLM3") ",\"no_rope_layers\":[1,0,1]}", INFER_EFORMAT,
	  "3 values for 2 layers" },
	{ FAMILY("SmolLM3") ",\"no_rope_layers\":[1,2]}", INFER_EFORMAT, "2 is not a flag" },
	{ FAMILY("SmolLM3") ",\"no_rope_layer_interval\":0}", INFER_EFORMAT,
	  "key no_rope_layer_interval: 0" },
	{ FAMILY("Olmo2") ",\"layer_types\":[\"full_attention\",\"linear_attention\"]}",
	  INFER_EUNSUP, "key layer_types: linear_attention" },
	{ FAMILY("Olmo2") ",\"clip_qkv\":8.0}", INFER_EUNSUP, "key clip_qkv: 8" }, /* of OLMo 1 */
	{ FAMILY("Glm4") ",\"partial_rotary_factor\":0.5}", INFER_OK, "" },
	{ FAMILY("Glm4") "}", INFER_EFORMAT, "key partial_rotary_factor: missing" },
	{ FAMILY("Glm4") ",\"partial_rotary_factor\":0.5,\"hidden_act\":\"gelu\"}", INFER_EUNSUP,
	  "key hidden_act: must be silu, not gelu" },
	{ FAMILY("Qwen2Moe") ",\"shared_expert_intermediate_size\":8,\"decoder_sparse_step\":2}",
	  INFER_EUNSUP, "key decoder_sparse_step: 2" },
	{ FAMILY("Qwen2Moe") ",\"shared_expert_intermediate_size\":0}", INFER_EFORMAT,
	  "key shared_expert_intermediate_size: 0" },
	{ FAMILY("Qwen2Moe") ",\"shared_expert_intermediate_size\":8,\"mlp_only_layers\":[1]}",
	  INFER_EUNSUP, "key mlp_only_layers" },
	{ LLAMA4 "}", INFER_OK, "" },
	{ LLAMA4 ",\"moe_layers\":[1],\"interleave_moe_layer_step\":2}", INFER_OK, "" },
	{ LLAMA4 ",\"moe_layers\":[0],\"interleave_moe_layer_step\":2}", INFER_EUNSUP,
	  "key moe_layers: has 0" },
	{ LLAMA4 ",\"moe_layers\":[1]}", INFER_EUNSUP, "key moe_layers: 1 of 2 layers" },
	{ LLAMA4 ",\"interleave_moe_layer_step\":0}", INFER_EFORMAT,
	  "key interleave_moe_layer_step: 0" },
	{ LLAMA4 ",\"no_rope_layers\":[]}", INFER_OK, "" },
	{ LLAMA4 ",\"no_rope_layers\":[2,1]}", INFER_EFORMAT, "key no_rope_layers: 2" },
	{ LLAMA4 ",\"layer_types\":[\"chunked_attention\",\"full_attention\"]}", INFER_OK, "" },
	{ LLAMA4 ",\"layer_types\":[\"sliding_attention\",\"full_attention\"]}", INFER_EUNSUP,
	  "key layer_types: sliding_attention" },
	{ LLAMA4 ",\"floor_scale\":0}", INFER_EFORMAT, "key floor_scale: 0" },
	{ LLAMA4 ",\"attn_scale\":-0.5}", INFER_EFORMAT, "key attn_scale: -0.5" },
	{ FAMILY("Llama4") ",\"num_local_experts\":4,\"num_experts_per_tok\":1}", INFER_EFORMAT,
	  "key intermediate_size_mlp: missing" },
	{ FAMILY("Llama") ",\"attention_chunk_size\":8192}", INFER_EUNSUP,
	  "key attention_chunk_size: 8192" },
	{ FAMILY("Llama") ",\"attn_temperature_tuning\":true}", INFER_EUNSUP,
	  "key attn_temperature_tuning: 1" },
	{ FAMILY("Llama") ",\"layer_types\":[\"chunked_attention\",\"full_attention\"]}",
	  INFER_EUNSUP, "key layer_types: chunked_attention" },
	{ FAMILY("Mixtral") ",\"moe_layers\":[1]}", INFER_EUNSUP, "key moe_layers: 1" },
	{ MINIMAX ",\"rotary_dim\":4}", INFER_OK, "" },
	{ MINIMAX ",\"rotary_dim\":3}", INFER_EFORMAT, "key rotary_dim: 3 is odd" },
	{ MINIMAX ",\"rotary_dim\":10}", INFER_EFORMAT, "key rotary_dim: 10" },
	{ MINIMAX ",\"attn_type_list\":[1,0]}", INFER_EUNSUP, "key attn_type_list: differs" },
	{ MINIMAX ",\"attn_type_list\":[0,0]}", INFER_EFORMAT, "key attn_type_list: 0" },
	{ MINIMAX ",\"use_qk_norm\":false}", INFER_EFORMAT, "key use_qk_norm: 0" },
	{ MINIMAX ",\"qk_norm_type\":\"per_head\"}", INFER_EUNSUP,
	  "key qk_norm_type: must be per_layer, not per_head" },
	{ MINIMAX ",\"shared_intermediate_size\":8}", INFER_EUNSUP,
	  "key shared_intermediate_size: 8" },
	{ LATENT ",\"first_k_dense_replace\":1,\"mlp_layer_types\":[\"dense\",\"sparse\"]}",
	  INFER_OK, "" },
	{ LATENT ",\"first_k_dense_replace\":1,\"mlp_layer_types\":[\"dense\",\"dense\"]}",
	  INFER_EUNSUP, "key mlp_layer_types: layer 1" },
	{ LATENT ",\"mlp_layer_types\":[\"dense\",\"sparse\"]}", INFER_EUNSUP,
	  "key mlp_layer_types: layer 0" },
	{ FAMILY("Llama") ",\"rotary_dim\":4}", INFER_EUNSUP, "key rotary_dim: 4" },
	{ FAMILY("Llama") ",\"attn_type_list\":[0,1]}", INFER_EUNSUP, "key attn_type_list: 0" },
	{ FAMILY("Glm4Moe") ",\"partial_rotary_factor\":0.5,\"norm_topk_prob\":true}",
	  INFER_EFORMAT, "key n_routed_experts: missing" },
	{ FAMILY("Glm4Moe") ",\"partial_rotary_factor\":0.5,\"norm_topk_prob\":true,\"n_routed_"
	                    "experts\":4,\"n_shared_experts\":1,\"first_k_dense_replace\":1,\"num_"
	                    "experts_per_tok\":2,\"n_group\":3}",
	  INFER_EFORMAT, "key n_group: 3" },
	{ FAMILY("Llama") ",\"kv_lora_rank\":16}", INFER_EUNSUP, "key kv_lora_rank: 16" },
	{ FAMILY("DeepseekV3") "}", INFER_EFORMAT, "key kv_lora_rank: missing" },
	{ STEPS("[0.0,{\"__float__\":\"Infinity\"}]"), INFER_OK, "" },
	{ STEPS("null"), INFER_OK, "" },
	{ STEPS("[0.0,0.1]"), INFER_EUNSUP, "key time_step_limit" },
	{ STEPS("[0.001,{\"__float__\":\"Infinity\"}]"), INFER_EUNSUP, "key time_step_limit" },
	{ STEPS("[0.0]"), INFER_EUNSUP, "key time_step_limit" },
	{ STEPS("0.1"), INFER_EUNSUP, "key time_step_limit" },
	{ LATENT "}", INFER_OK, "" },
	{ LATENT ",\"index_topk\":2048}", INFER_EUNSUP, "key index_topk: 2048" },
	{ LATENT ",\"rope_interleave\":false}", INFER_EUNSUP, "key rope_interleave: 0" },
	{ LATENT ",\"moe_layer_freq\":2}", INFER_EUNSUP, "key moe_layer_freq: 2" },
	{ LATENT ",\"scoring_func\":\"sqrtsoftplus\"}", INFER_EFORMAT, "key scoring_func" },
	{ LATENT ",\"topk_group\":3,\"n_group\":2}", INFER_EFORMAT, "key topk_group: 3" },
	{ LATENT ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,\"mscale\":0.7,\"mscale_all_"
	         "dim\":1.0}}",
	  INFER_EFORMAT, "key mscale: 0.7" },
	{ FAMILY("Glm4Moe") ",\"partial_rotary_factor\":0.5,\"norm_topk_prob\":true,\"n_routed_"
	                    "experts\":4,\"n_shared_experts\":1,\"num_experts_per_tok\":2,\"first_"
	                    "k_dense_replace\":3}",
	  INFER_EFORMAT, "key first_k_dense_replace: 3" },
	{ GEMMA3N(",\"altup_lr_multiplier\":1,\"altup_num_inputs\":4", "0.95,0") "}", INFER_OK,
	  "" },
	{ GEMMA3N(",\"altup_num_inputs\":1", "0.95,0") "}", INFER_EFORMAT,
	  "key altup_num_inputs: 1" },
	{ GEMMA3N("", "0.95,0") "}", INFER_EFORMAT, "key altup_num_inputs: missing" },
	{ GEMMA3N(",\"altup_num_inputs\":4", "0.95,1.0") "}", INFER_EFORMAT,
	  "key activation_sparsity_pattern: " },
	{ GEMMA3N(",\"altup_num_inputs\":4", "-0.5,0") "}", INFER_EFORMAT,
	  "key activation_sparsity_pattern: " },
	{ GEMMA3N(",\"altup_num_inputs\":4", "0.95") "}", INFER_EFORMAT,
	  "key activation_sparsity_pattern: 1 values for 2 layers" },
	{ GEMMA3N(",\"altup_num_inputs\":4,\"altup_active_idx\":1", "0,0") "}", INFER_EFORMAT,
	  "key altup_active_idx: 1" },
	{ GEMMA3N(",\"altup_num_inputs\":4,\"altup_correct_scale\":false", "0,0") "}",
	  INFER_EFORMAT, "key altup_correct_scale: 0" },
	{ GEMMA3N(",\"altup_num_inputs\":4,\"hidden_activation\":\"gelu\"", "0,0") "}",
	  INFER_EUNSUP, "key hidden_activation: must be gelu_pytorch_tanh, not gelu" },
	{ FAMILY("Gemma3") ",\"query_pre_attn_scalar\":8,\"sliding_window\":8,"
	                   "\"altup_num_inputs\":4}",
	  INFER_EUNSUP, "key altup_num_inputs: 4" },
	{ FAMILY("Ministral3") ",\"rope_scaling\":{\"mscale\":1.0,\"mscale_all_dim\":1.0}}",
	  INFER_EFORMAT, "key llama_4_scaling_beta: missing" },
	{ FAMILY("Ministral3") ",\"rope_scaling\":{\"mscale\":0.7,\"mscale_all_dim\":1.0,\"llama_4_"
	                       "scaling_beta\":0.1}}",
	  INFER_EFORMAT, "key mscale: 0.7" },
};

static void test_foreign(void **state)
{
	static struct arch_hparam h;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		int rc = read_config(&h, foreign[i].json, &err);
		if (rc != foreign[i].code || (rc && !strstr(err.message, foreign[i].says)))
			fail_msg("%s: %d, %s", foreign[i].json, rc, rc ? err.message : "taken");
	}
}

static void test_bad(void **state)
{
	static struct arch_hparam h;
	infer_error err;

	(void)state;
	assert_int_equal(read_config(&h, LLAMA "}", &err), INFER_OK);
	assert_int_equal(h.n_head_kv, 4); /* absent: as many as heads */
	assert_int_equal(h.dk, 8);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int rc = read_config(&h, bad[i].json, &err);
		if (rc != bad[i].code || !strstr(err.message, bad[i].says))
			fail_msg("%s: %d, %s", bad[i].json, rc, rc ? err.message : "taken");
	}
}

/* An unknown member is refused, unless it says nothing. */
static const struct {
	const char *json, *says;
} unknown[] = {
	{ LLAMA ",\"frobnicate\":1}", "key frobnicate: not known to architecture llama, value 1" },
	{ LLAMA ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2,\"gamma\":[1,null]}}",
	  "key gamma: not known to architecture llama, value [1,null]" },
	{ LLAMA ",\"frobnicate\":null,\"gamma\":[],\"delta\":{}}", NULL },
	{ LLAMA ",\"frobnicate\":false}",
	  "key frobnicate: not known to architecture llama, value false" },
};

static void test_unknown(void **state)
{
	static struct arch_hparam h;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		int rc = read_config(&h, unknown[i].json, &err);
		if (rc ? !unknown[i].says || strcmp(err.message, unknown[i].says)
		       : !!unknown[i].says)
			fail_msg("%s: %d, %s", unknown[i].json, rc, rc ? err.message : "taken");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_no_name_twice),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_unknown),
		nth_case(case_memory),
	};
	return nth_group(tests);
}
