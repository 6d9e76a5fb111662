/* tests/unit/arch/test_hparam.c - hyper-parameters: good values are read, each hostile one is
 * refused, and the message names the key. */
#include "../nth.h"
#include "hparam.h"

#include <math.h>

#include "arch/arch.h"

static int case_good(void)
{
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "llama", NULL, 0, &e));
	assert_int_equal(h.n_layers, 4);
	assert_int_equal(h.n_head, 8);
	assert_int_equal(h.n_head_kv, 4);
	assert_int_equal(h.dk, 8);
	assert_int_equal(h.dv, 8);
	assert_int_equal(h.n_rot, 8);
	assert_true(h.eps == 1e-5f);
	assert_true(h.rope[0].base == 10000);
	assert_int_equal(h.rope[0].scaling, SCALING_LINEAR); /* absent: linear by 1 */
	assert_true(h.rope[0].factor == 1);
	assert_int_equal(h.window, 0);
	assert_int_equal(h.n_expert, 0);
	const struct key absent[] = { { "llama.attention.head_count_kv" },
		                      { "llama.rope.dimension_count" } };
	nth_ok(read_with(&h, "llama", absent, 2, &e));
	assert_int_equal(h.n_head_kv, 8);
	assert_int_equal(h.n_rot, 8);
	const struct key arrays[] = {
		{ "llama.attention.head_count_kv", ARR_U32, .more = { 2, 2, 2, 2 }, .n = 4 },
		{ "llama.feed_forward_length", ARR_U32, .more = { 96, 96, 96, 96 }, .n = 4 }
	};
	nth_ok(read_with(&h, "llama", arrays, 2, &e));
	assert_int_equal(h.n_head_kv, 2);
	assert_int_equal(h.n_ff, 96);
	const struct key differ[] = {
		{ "llama.attention.head_count_kv", ARR_U32, .more = { 2, 8, 1, 2 }, .n = 4 },
		{ "llama.feed_forward_length", ARR_U32, .more = { 8, 8, 9, 8 }, .n = 4 }
	};
	nth_ok(read_with(&h, "llama", differ, 2, &e));
	assert_int_equal(h.n_head_kv, 8);
	assert_int_equal(h.kv_heads[2], 1);
	assert_int_equal(h.n_ff, 9);
	assert_int_equal(h.ff[3], 8);
out:
	return rc;
}

static const struct {
	struct key k;
	int code;
	const char *arch;
} bad[] = {
	{ { "llama.block_count", NONE }, INFER_EFORMAT },
	{ { "llama.block_count", U32, 0 }, INFER_EFORMAT },
	{ { "llama.block_count", U32, 2147483648.0 }, INFER_EFORMAT },
	{ { "llama.block_count", U64, 9.3e18 }, INFER_EFORMAT },
	{ { "llama.block_count", I32, -1 }, INFER_EFORMAT },
	{ { "llama.block_count", STR, 0, "four" }, INFER_EFORMAT },
	{ { "llama.context_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.context_length", U32, 4294967295.0 }, INFER_EFORMAT },
	{ { "llama.embedding_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.embedding_length", U32, 1 << 30 }, INFER_EFORMAT },
	{ { "llama.embedding_length", NONE }, INFER_EFORMAT },
	{ { "llama.feed_forward_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.feed_forward_length", U32, 4294967295.0 }, INFER_EFORMAT },
	{ { "llama.feed_forward_length", ARR_U32, .n = 0 }, INFER_EFORMAT },
	{ { "llama.feed_forward_length", ARR_U32, .more = { 8, 8, 9 }, .n = 3 }, INFER_EFORMAT },
	{ { "llama.feed_forward_length", ARR_U32, .more = { 8, 8, 0, 8 }, .n = 4 }, INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", ARR_U32, .more = { 4, 2 }, .n = 2 }, INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", ARR_U32, .more = { 4, 4, 4, 3 }, .n = 4 },
	  INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", ARR_U32, .more = { 4, 4, 4, 0 }, .n = 4 },
	  INFER_EUNSUP },
	{ { "llama.attention.head_count_kv", ARR_U32, .more = { 0, 0, 0, 0 }, .n = 4 },
	  INFER_EFORMAT },
	{ { "llama.attention.head_count", U32, 0 }, INFER_EFORMAT },
	{ { "llama.attention.head_count", U32, 7 }, INFER_EFORMAT }, /* embedding 64 */
	{ { "llama.attention.head_count", U32, 1 << 20 }, INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", U32, 0 }, INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", U32, 3 }, INFER_EFORMAT },
	{ { "llama.attention.head_count_kv", U32, 16 }, INFER_EFORMAT },
	{ { "llama.attention.key_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.attention.key_length", U32, 1 << 20 }, INFER_EFORMAT },
	{ { "llama.attention.value_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.attention.layer_norm_rms_epsilon", F32, 0 }, INFER_EFORMAT },
	{ { "llama.attention.layer_norm_rms_epsilon", F32, -1e-5 }, INFER_EFORMAT },
	{ { "llama.attention.layer_norm_rms_epsilon", F32, NAN }, INFER_EFORMAT },
	{ { "llama.attention.layer_norm_rms_epsilon", F32, INFINITY }, INFER_EFORMAT },
	{ { "llama.attention.layer_norm_rms_epsilon", NONE }, INFER_EFORMAT },
	{ { "llama.attention.scale", F32, -1 }, INFER_EFORMAT },
	{ { "llama.attention.scale", F32, NAN }, INFER_EFORMAT },
	{ { "llama.attention.sliding_window", I32, -4 }, INFER_EFORMAT },
	{ { "llama.rope.dimension_count", U32, 0 }, INFER_EFORMAT },
	{ { "llama.rope.dimension_count", U32, 7 }, INFER_EFORMAT },
	{ { "llama.rope.dimension_count", U32, 10 }, INFER_EFORMAT }, /* heads of 8 */
	{ { "llama.rope.freq_base", F32, 0 }, INFER_EFORMAT },
	{ { "llama.rope.freq_base", F32, NAN }, INFER_EFORMAT },
	{ { "llama.rope.freq_base", F32, INFINITY }, INFER_EFORMAT },
	{ { "llama.rope.scaling.factor", F32, -2 }, INFER_EFORMAT },
	{ { "llama.rope.scaling.type", STR, 0, "dynamic" }, INFER_EUNSUP },
	{ { "llama.rope.scaling.type", U32, 1 }, INFER_EFORMAT },
	{ { "llama.rope.scaling.original_context_length", U32, 0 }, INFER_EFORMAT },
	{ { "llama.rope.scaling.yarn_beta_fast", F32, 0 }, INFER_EFORMAT },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, 0.1 }, INFER_EUNSUP },
	/* of YaRN, which is not asked for */
	{ { "llama.rope.scaling.yarn_ext_factor", F32, 0.5 }, INFER_EUNSUP },
	{ { "llama.rope.scaling.yarn_attn_factor", F32, 1 }, INFER_EUNSUP },
	{ { "llama.rope.scaling.yarn_beta_fast", F32, 16 }, INFER_EUNSUP },
	{ { "llama.rope.scaling.yarn_beta_slow", F32, 2 }, INFER_EUNSUP },
	{ { "llama.rope.scaling.frobnication", F32, 1 }, INFER_EUNSUP },
	{ { "llama.rope.freq_base_swa", F32, 1e6 }, INFER_EUNSUP, "gemma2" }, /* it slides */
	{ { "llama.expert_weights_scale", F32, 2.5 }, INFER_EUNSUP },         /* of none */
	{ { "llama.expert_count", U32, 100000 }, INFER_EFORMAT },
	{ { "llama.expert_used_count", U32, 3 }, INFER_EFORMAT }, /* of none */
	{ { "llama.attention.causal", BOOL, 0 }, INFER_EUNSUP },
	{ { "llama.attn_logit_softcapping", F32, 30 }, INFER_EUNSUP },
	{ { "llama.residual_scale", F32, 0.5 }, INFER_EUNSUP },
	{ { "llama.use_parallel_residual", BOOL, 1 }, INFER_EUNSUP },
	{ { "llama.expert_shared_count", U32, 1 }, INFER_EUNSUP },
	{ { "llama.nextn_predict_layers", U32, 1 }, INFER_EUNSUP },
	{ { "llama.attention.sliding_window", U32, 128 }, INFER_EUNSUP, "qwen3" },
	{ { "llama.residual_scale", F32, NAN }, INFER_EFORMAT, "granite" },
	{ { "llama.logit_scale", F32, 0 }, INFER_EFORMAT, "granite" },
	{ { "llama.attention.sliding_window", U32, 0x7fffffff }, INFER_EFORMAT, "gpt-oss" },
	{ { "llama.expert_shared_feed_forward_length", U32, 0 }, INFER_EFORMAT, "qwen2moe" },
	{ { "llama.expert_shared_feed_forward_length", U32, 1 << 25 }, INFER_EFORMAT, "qwen2moe" },
	{ { "llama.expert_shared_feed_forward_length", I32, -1 }, INFER_EFORMAT, "granitemoe" },
	{ { "llama.expert_shared_count", I32, -1 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.expert_shared_count", U32, 65 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.leading_dense_block_count", U32, 5 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.leading_dense_block_count", I32, -1 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.nextn_predict_layers", U32, 4 }, INFER_EFORMAT, "glm4moe" }, /* all there are */
	{ { "llama.nextn_predict_layers", I32, -1 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.expert_group_count", I32, -1 }, INFER_EFORMAT, "glm4moe" },
	{ { "llama.expert_group_count", U32, 2 }, INFER_EUNSUP, "qwen3moe" },
	{ { "llama.attention.temperature_scale", F32, -1 }, INFER_EFORMAT, "mistral3" },
	{ { "llama.attention.temperature_scale", F32, NAN }, INFER_EFORMAT, "llama4" },
	{ { "llama.attention.temperature_length", U32, 0 }, INFER_EFORMAT, "llama4" },
	{ { "llama.attention.temperature_length", U32, 0x7fffffff }, INFER_EFORMAT, "llama4" },
	{ { "llama.attention.temperature_length", U32, 8 }, INFER_EUNSUP },
	{ { "llama.attention.sliding_window", I32, -1 }, INFER_EFORMAT, "llama4" },
	{ { "llama.interleave_moe_layer_step", U32, 0 }, INFER_EFORMAT, "llama4" },
	{ { "llama.interleave_moe_layer_step", U32, 1025 }, INFER_EFORMAT, "llama4" },
	{ { "llama.interleave_moe_layer_step", U32, 2 }, INFER_EUNSUP },
	{ { "llama.attention.temperature_scale", F32, INFINITY }, INFER_EFORMAT, "mistral3" },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, -1 }, INFER_EFORMAT, "mistral3" },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, NAN }, INFER_EFORMAT, "mistral3" },
	{ { "llama.rope.dimension_sections", ARR_U32, .more = { 2, 2, 2, 2 }, .n = 4 },
	  INFER_EUNSUP,
	  "glm4" },
	{ { "llama.shortconv.l_cache", U32, 3 }, INFER_EUNSUP },
	{ { "llama.shortconv.l_cache", NONE }, INFER_EFORMAT, "lfm2" },
	{ { "llama.shortconv.l_cache", U32, 1 }, INFER_EFORMAT, "lfm2" },
	{ { "llama.shortconv.l_cache", U32, 65 }, INFER_EFORMAT, "lfm2" },
	{ { "llama.expert_gating_func", U32, 0 }, INFER_EFORMAT, "lfm2moe" },
	{ { "llama.expert_gating_func", U32, 3 }, INFER_EUNSUP, "glm4moe" },
	{ { "llama.attention.key_length_swa", U32, 4 }, INFER_EUNSUP },
	{ { "llama.attention.key_length_swa", U32, 4 }, INFER_EUNSUP, "gemma3" },
	{ { "llama.attention.key_length_swa", U32, 0 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.attention.key_length_swa", U32, 1 << 13 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.attention.value_length_swa", I32, -8 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.rope.dimension_count_swa", U32, 10 }, INFER_EFORMAT, "gemma4" }, /* of 8 */
	{ { "llama.rope.dimension_count_swa", U32, 3 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.attention.shared_kv_layers", U32, 1 }, INFER_EUNSUP },
	{ { "llama.attention.shared_kv_layers", U32, 4 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.attention.shared_kv_layers", I32, -1 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.embedding_length_per_layer_input", U32, 8 }, INFER_EUNSUP, "gemma3" },
	{ { "llama.embedding_length_per_layer_input", U32, 1 << 17 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.embedding_length_per_layer_input", I32, -1 }, INFER_EFORMAT, "gemma4" },
	{ { "llama.altup.num_inputs", U32, 4 }, INFER_EUNSUP, "gemma4" },
	{ { "llama.altup.num_inputs", U32, 1 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.altup.num_inputs", U32, 17 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.altup.num_inputs", I32, -1 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.altup.active_idx", U32, 1 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.activation_sparsity_scale", F32, 1.6 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.activation_sparsity_scale", F32, 1.6 }, INFER_EUNSUP, "gemma3" },
	{ { "llama.activation_sparsity_scale", ARR_F32, .more = { 1, 1, 1 }, .n = 3 },
	  INFER_EFORMAT,
	  "gemma3n" },
	{ { "llama.activation_sparsity_scale", ARR_F32, .more = { 1, 1, NAN, 1 }, .n = 4 },
	  INFER_EFORMAT,
	  "gemma3n" },
	{ { "llama.activation_sparsity_scale", ARR_F32, .more = { 1, 1, 2e3, 1 }, .n = 4 },
	  INFER_EFORMAT,
	  "gemma3n" },
	{ { "llama.activation_sparsity_scale", ARR_F32, .more = { INFINITY, 1, 1, 1 }, .n = 4 },
	  INFER_EFORMAT,
	  "gemma3n" },
	{ { "llama.attention.shared_kv_layers", U32, 4 }, INFER_EFORMAT, "gemma3n" },
	{ { "llama.attention.sliding_window_pattern", ARR_BOOL, .more = { 1, 0, 1 }, .n = 3 },
	  INFER_EFORMAT,
	  "gemma3" },
	{ { "llama.attention.causal", BOOL, 1 }, INFER_EUNSUP, "bert" },
	{ { "llama.attention.causal", U32, 0 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.attention.layer_norm_epsilon", NONE }, INFER_EFORMAT, "bert" },
	{ { "llama.attention.layer_norm_epsilon", F32, 0 }, INFER_EFORMAT, "nomic-bert" },
	{ { "llama.attention.layer_norm_epsilon", F32, NAN }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.attention.max_alibi_bias", F32, 8 }, INFER_EUNSUP, "bert" },
	{ { "llama.rope.freq_base", F32, 0 }, INFER_EFORMAT, "nomic-bert" },
	{ { "llama.moe_every_n_layers", U32, 2 }, INFER_EUNSUP, "nomic-bert" },
	{ { "llama.attention.sliding_window", I32, -1 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.attention.sliding_window", STR, 0, "wide" }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.attention.sliding_window_pattern", I32, -3 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.attention.sliding_window_pattern", ARR_BOOL, .more = { 1, 0 }, .n = 2 },
	  INFER_EFORMAT,
	  "modern-bert" },
	{ { "llama.hidden_activation", STR, 0, "gelu_new" }, INFER_EUNSUP, "modern-bert" },
	{ { "llama.hidden_activation", U32, 1 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.classifier.pooling_type", U32, 0 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.classifier.pooling_type", U32, 3 }, INFER_EFORMAT, "modern-bert" },
	{ { "llama.classifier.pooling_type", STR, 0, "cls" }, INFER_EFORMAT, "modern-bert" },
};

static int case_bad(void)
{
	struct arch_hparam h;
	infer_error e;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const char *arch = bad[i].arch ? bad[i].arch : "llama";
		rc = read_with(&h, arch, &bad[i].k, 1, &e);
		if (rc == INFER_ENOMEM)
			return rc;
		if (rc != bad[i].code)
			fail_msg("%zu %s: %s", i, bad[i].k.key, rc ? e.message : "taken");
		if (!strstr(e.message, bad[i].k.key + 5))
			fail_msg("%s: not named in: %s", bad[i].k.key, e.message);
	}
	return INFER_OK;
}

static int case_experts(void)
{
	struct key k[] = { { "llama.expert_count", U32, 4 },
		           { "llama.expert_used_count", U32, 2 },
		           { "llama.expert_gating_func", U32, 2 },
		           { "llama.expert_weights_norm", BOOL, 0 } };
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "llama", k, 4, &e));
	assert_int_equal(h.n_expert_used, 2);
	assert_int_equal(h.n_expert_ff, 172);
	assert_int_equal(h.expert_gating, GATING_SIGMOID);
	assert_int_equal(h.expert_norm, 0);
	k[1].v = 5;
	nth_fails(read_with(&h, "llama", k, 2, &e), INFER_EFORMAT);
	assert_non_null(strstr(e.message, "expert_used_count"));
	nth_fails(read_with(&h, "llama", k, 1, &e), INFER_EFORMAT);
	k[1].v = 2;
	k[2].v = 4;
	nth_fails(read_with(&h, "llama", k, 3, &e), INFER_EUNSUP);
out:
	return rc;
}

static const struct {
	struct key k[2];
	const char *named;
} contradictions[] = {
	{ { { "llama.rope.scaling.type", STR, 0, "none" },
	    { "llama.rope.scaling.factor", F32, 4 } },
	  "rope.scaling.factor" },
	{ { { "llama.rope.scaling.type", STR, 0, "longrope" },
	    { "llama.rope.scaling.factor", F32, 4 } },
	  "rope.scaling.factor" },
	{ { { "llama.rope.scale_linear", F32, 2 }, { "llama.rope.scaling.factor", F32, 4 } },
	  "rope.scale_linear" },
	{ { { "llama.rope.scale_linear", F32, 2 }, { "llama.rope.scaling.factor", F32, 0 } },
	  "rope.scale_linear" },
};

/* Scaling: attn_factor multiplies with every kind, yarn_attn_factor is a number of its own; keys
 * that would be passed over are refused, unless they say what is so without them. */
static int case_scaling(void)
{
	const struct key linear[] = { { "llama.rope.scaling.attn_factor", F32, 1.5 },
		                      { "llama.rope.scale_linear", F32, 4 },
		                      { "llama.rope.scaling.yarn_beta_fast", F32, 32 },
		                      { "llama.rope.scaling.yarn_ext_factor", F32, 1 },
		                      { "llama.rope.freq_base_swa", F32, 10000 } };
	const struct key yarn[] = { { "llama.rope.scaling.type", STR, 0, "yarn" },
		                    { "llama.rope.scaling.factor", F32, 4 },
		                    { "llama.rope.scaling.yarn_attn_factor", F32, 1.25 },
		                    { "llama.rope.scaling.attn_factor", F32, 1.5 },
		                    { "llama.rope.scaling.yarn_beta_fast", F32, 16 } };
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "llama", linear, 5, &e));
	assert_int_equal(h.rope[0].scaling, SCALING_LINEAR);
	assert_true(h.rope[0].attn_factor == 1.5 && h.rope[0].factor == 4);
	nth_ok(read_with(&h, "llama", yarn, 5, &e));
	assert_int_equal(h.rope[0].scaling, SCALING_YARN);
	assert_true(h.rope[0].attn_factor == 1.5 && h.rope[0].yarn_attn_factor == 1.25);
	assert_true(h.rope[0].factor == 4 && h.rope[0].beta_fast == 16);
	for (size_t i = 0; i < sizeof contradictions / sizeof contradictions[0]; i++) {
		nth_fails(read_with(&h, "llama", contradictions[i].k, 2, &e), INFER_EUNSUP);
		assert_non_null(strstr(e.message, contradictions[i].named));
	}
out:
	return rc;
}

/* gemma3: five of six slide, with a table of their own; gemma2: every other one; a pattern in the
 * file wins. */
static int case_windows(void)
{
	const struct key k[] = { { "llama.attention.sliding_window", U32, 32 },
		                 { "llama.block_count", U32, 12 },
		                 { "llama.attention.sliding_window_pattern", U32, 3 } };
	const struct key list[] = { { "llama.attention.sliding_window", U32, 32 },
		                    { "llama.attention.sliding_window_pattern", ARR_BOOL,
		                      .more = { 0, 1, 1, 0 }, .n = 4 } };
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "gemma3", k, 2, &e));
	for (int i = 0; i < 12; i++)
		assert_int_equal(h.windowed[i], i != 5 && i != 11);
	assert_int_equal(h.n_ropes, 2);
	assert_int_equal(h.act, ACT_GELU);
	assert_true(h.embd_scale == 8);
	nth_ok(read_with(&h, "gemma3", k, 3, &e));
	for (int i = 0; i < 12; i++)
		assert_int_equal(h.windowed[i], i % 3 != 2);
	nth_ok(read_with(&h, "gemma3", list, 2, &e));
	for (int i = 0; i < 4; i++)
		assert_int_equal(h.windowed[i], i == 1 || i == 2);
	nth_ok(read_with(&h, "gemma2", k, 2, &e));
	for (int i = 0; i < 12; i++)
		assert_int_equal(h.windowed[i], !(i & 1));
	assert_true(h.attn_cap == 50 && h.logit_cap == 30 && h.n_ropes == 1);
	nth_ok(read_with(&h, "llama", k, 2, &e));
	for (int i = 0; i < 12; i++)
		assert_int_equal(h.windowed[i], 1);
	nth_ok(read_with(&h, "gemma3", NULL, 0, &e));
	assert_int_equal(h.windowed[0] || h.window || h.n_ropes != 1, 0);
out:
	return rc;
}

/* What the newer families say by their name alone. */
static int case_families(void)
{
	const struct key next[] = { { "llama.nextn_predict_layers", U32, 1 },
		                    { "llama.expert_count", U32, 4 },
		                    { "llama.expert_used_count", U32, 2 },
		                    { "llama.expert_shared_count", U32, 3 },
		                    { "llama.leading_dense_block_count", U32, 2 } };
	const struct key slides[] = { { "llama.attention.sliding_window", U32, 8 } };
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "smollm3", NULL, 0, &e));
	for (int i = 0; i < 4; i++)
		assert_int_equal(h.no_rope[i], i == 3);
	nth_ok(read_with(&h, "glm4moe", next, 5, &e));
	assert_int_equal(h.n_layers, 3);
	assert_int_equal(h.n_next, 1);
	assert_int_equal(h.n_shared_ff, 3 * 172);
	assert_int_equal(h.expert_gating, GATING_SIGMOID);
	assert_true(!arch_has_experts(&h, 1) && arch_has_experts(&h, 2));
	nth_fails(read_with(&h, "gpt-oss", next, 1, &e), INFER_EUNSUP);
	nth_ok(read_with(&h, "gpt-oss", NULL, 0, &e));
	assert_true(h.window == 128 && h.windowed[0] && !h.windowed[1] && h.rope[0].exact);
	assert_true(h.act == ACT_SWIGLU && h.act_limit == 7);
	nth_ok(read_with(&h, "olmo2", slides, 1, &e));
	assert_true(h.n_ropes == 2 && h.windowed[2] && !h.windowed[3]);
out:
	return rc;
}

/* what states cannot be */
static const struct {
	struct key k;
	const char *says;
} no_state[] = {
	{ { "llama.ssm.conv_kernel" }, "missing" },
	{ { "llama.ssm.conv_kernel", U32, 0 }, "0 is not in 1 ... 64" },
	{ { "llama.ssm.conv_kernel", U32, 65 }, "65 is not in" },
	{ { "llama.ssm.state_size", U32, 0 }, "0 is not in" },
	{ { "llama.ssm.state_size", U32, 4097 }, "4097 is not in" },
	{ { "llama.ssm.inner_size", U32, 0 }, "0 is not in" },
	{ { "llama.ssm.inner_size", U32, 81 }, "81 is not a multiple of the 4 heads" },
	{ { "llama.ssm.group_count", U32, 3 }, "3 does not divide the 4 heads" },
	{ { "llama.ssm.group_count", U32, 5 }, "5 is not in 1 ... 4" },
	{ { "llama.ssm.group_count", U32, 0 }, "0 is not in" },
	{ { "llama.ssm.time_step_rank", U32, 0 }, "0 is not in" },
	{ { "llama.ssm.time_step_rank", U32, 4097 }, "4097 is not in" },
	{ { "llama.ssm.time_step_rank", STR, 0, "four" }, "ssm.time_step_rank" },
	{ { "llama.full_attention_interval", U32, 0 }, "0 is not in" },
	{ { "llama.attention.recurrent_layers", ARR_BOOL, 0, NULL, { 1, 1, 0 }, 3 },
	  "3 values for 4 layers" },
	{ { "llama.attention.recurrent_layers", ARR_U32, 0, NULL, { 1, 2, 0, 0 }, 4 },
	  "2 is not a flag" },
	{ { "llama.attention.recurrent_layers", BOOL, 1 }, "values for 4 layers" },
};

/* Which layers keep states, how large these are, and what cannot be. */
static int case_states(void)
{
	static const struct key big[] = { { "llama.ssm.state_size", U32, 4096 },
		                          { "llama.ssm.inner_size", U32, 1 << 20 } };
	static const struct key odd[] = {
		{ "llama.attention.recurrent_layers", ARR_BOOL, 0, NULL, { 0, 1, 1, 0, 0 }, 5 },
		{ "llama.nextn_predict_layers", U32, 1 },
		{ "llama.block_count", U32, 5 },
	};
	static const struct key zeros[] = {
		{ "llama.attention.head_count_kv", ARR_U32, .more = { 0, 0, 4, 0 }, .n = 4 },
		{ "llama.rope.scaling.finetuned", BOOL, 0 },
	};
	static const char *const recurrent[] = { "qwen35moe", "granitehybrid" };
	struct arch_hparam h;
	infer_error e;
	int rc;

	nth_ok(read_with(&h, "qwen3next", NULL, 0, &e));
	assert_true(h.recurrent[0] && h.recurrent[2] && !h.recurrent[3] && h.attn_gated);
	assert_true(h.conv_taps == 4 && h.state_dv == 20 && !h.state_tiled);
	assert_int_equal(h.state, 3 * (2 * 2 * 8 + 80) + 4 * 32 * 8);
	nth_ok(read_with(&h, "granitehybrid", zeros, 2, &e));
	assert_true(h.recurrent[0] && !h.recurrent[2] && h.no_rope[2] && h.state_dv == 20);
	nth_ok(read_with(&h, "granitehybrid", NULL, 0, &e));
	assert_true(!h.recurrent[0] && !h.no_rope[0]);
	nth_ok(read_with(&h, "qwen35", odd, 3, &e));
	assert_true(!h.recurrent[0] && h.recurrent[1] && !h.recurrent[3] && h.state_tiled);
	for (size_t i = 0; i < sizeof no_state / sizeof no_state[0]; i++) {
		for (int a = 0; a < 2; a++) {
			if (a && strstr(no_state[i].k.key, "interval"))
				continue; /* it has none */
			rc = read_with(&h, recurrent[a], &no_state[i].k, 1, &e);
			if (rc == INFER_ENOMEM)
				goto out;
			if (rc != INFER_EFORMAT || !strstr(e.message, no_state[i].says) ||
			    !strstr(e.message, no_state[i].k.key + 6))
				fail_msg("%s: %d, %s", no_state[i].k.key, rc, e.message);
		}
	}
	nth_fails(read_with(&h, "granitehybrid", big, 2, &e), INFER_EFORMAT);
	nth_fails(read_with(&h, "qwen3next", big, 2, &e), INFER_EFORMAT);
	assert_non_null(strstr(e.message, "a state of"));
	nth_fails(read_with(&h, "llama", states, 1, &e), INFER_EUNSUP);
	rc = INFER_OK;
out:
	return rc;
}

/* Keys that no architecture here has, or whose effect llama lacks, and the message; NULL: harmless. */
static const struct {
	struct key k;
	const char *says;
} unknown[] = {
	{ { "llama.frobnication", U32, 1 },
	  "key llama.frobnication: not known to architecture llama, value 1" },
	{ { "llama.num_loops", U32, 2 },
	  "key llama.num_loops: not known to architecture llama, value 2" },
	{ { "llama.swiglu_clamp_exp", ARR_F32, 0, NULL, { 7, 7, 0.5, 7, 7 }, 5 },
	  "key llama.swiglu_clamp_exp: not known to architecture llama, value [7,7,0.5,7,...]" },
	{ { "llama.attention.indexer.head_count", U32, 64 },
	  "key llama.attention.indexer.head_count: not known to architecture llama, value 64" },
	{ { "llama.adapters.count", I32, -3 },
	  "key llama.adapters.count: not known to architecture llama, value -3" },
	{ { "llama.hyper_connection.epsilon", F32, 0.25 },
	  "key llama.hyper_connection.epsilon: not known to architecture llama, value 0.25" },
	{ { "llama.skip_loop_final_norm", BOOL, 1 },
	  "key llama.skip_loop_final_norm: not known to architecture llama, value true" },
	{ { "llama.gate", STR, 0, "a\x01 gate" },
	  "key llama.gate: not known to architecture llama, value \"a\\u0001 gate\"" },
	{ { "llama.rope.local.freq_base", F32, 1e4 },
	  "key llama.rope.local.freq_base: not known to architecture llama, value 10000" },
	{ { "llama.attention.recurrent_layers", ARR_BOOL, 0, NULL, { 0, 0, 1, 0 }, 4 },
	  "key llama.attention.recurrent_layers: 1 is not supported" },
	{ { "llama.attention.head_dim", U32, 16 },
	  "key llama.attention.head_dim: 16 is not supported" },
	{ { "llama.attention.head_dim", U32, 8 }, NULL },
	{ { "llama.vocab_size", U32, 512 }, NULL },
	{ { "llama.normalize_embeddings", BOOL, 1 }, NULL },
	{ { "llama.norm_top_k_prob", BOOL, 0 }, NULL }, /* it has no experts */
	{ { "llama.deepstack_mapping", ARR_U32, 0, NULL, { 1, 2, 3, 4 }, 4 }, NULL },
	{ { "llama.attention.recurrent_layers", ARR_BOOL, 0, NULL, { 0, 0, 0, 0 }, 4 }, NULL },
	{ { "llamas.frobnication", U32, 1 }, NULL }, /* of another architecture */
};

static int case_unknown_key(void)
{
	struct arch_hparam h;
	infer_error e;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof unknown / sizeof *unknown && !rc; i++) {
		const char *says = unknown[i].says;
		rc = read_with(&h, "llama", &unknown[i].k, 1, &e);
		if (rc == INFER_ENOMEM)
			return rc;
		/* without memory the message lacks the value */
		if (says ? !rc || !strstr(e.message, unknown[i].k.key) : rc)
			fail_msg("%s: %d, %s", unknown[i].k.key, rc, rc ? e.message : "taken");
		rc = INFER_OK;
	}
	return rc;
}

static void test_unknown_values(void **state)
{
	const struct key experts[] = { { "llama.expert_count", U32, 8 },
		                       { "llama.expert_used_count", U32, 2 },
		                       { "llama.norm_top_k_prob", BOOL, 0 } };
	struct arch_hparam h;
	infer_error e;

	(void)state;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
		if (unknown[i].says) {
			assert_true(read_with(&h, "llama", &unknown[i].k, 1, &e));
			if (strncmp(e.message, unknown[i].says, strlen(unknown[i].says)))
				fail_msg("%s, not %s", e.message, unknown[i].says);
		}
	assert_int_equal(read_with(&h, "llama", experts, 3, &e), INFER_EUNSUP);
	assert_non_null(strstr(e.message, "key llama.norm_top_k_prob: 0"));
	assert_int_equal(read_with(&h, "llama", experts, 2, &e), INFER_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_good),
		nth_case(case_bad),
		nth_case(case_experts),
		nth_case(case_scaling),
		nth_case(case_windows),
		nth_case(case_families),
		nth_case(case_unknown_key),
		nth_case(case_states),
		cmocka_unit_test(test_unknown_values),
	};
	return nth_group(tests);
}
