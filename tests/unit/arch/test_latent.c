/* tests/unit/arch/test_latent.c - hyper-parameters of latent attention and of groups of experts: good values are
 * read, each hostile one is refused, and the message names the key. */
#include "../nth.h"
#include "hparam.h"

static const struct {
	struct key k;
	int code;
	const char *names; /* the key that is named, where it is another */
} latent_bad[] = {
	{ { "llama.attention.kv_lora_rank", NONE }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", I32, -8 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", U32, 4294967295.0 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", U32, 4096 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", F32, 8 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.kv_lora_rank", U32, 9 }, INFER_EFORMAT, "attention.key_length" },
	{ { "llama.attention.value_length", U32, 7 }, INFER_EFORMAT, "attention.key_length" },
	{ { "llama.attention.head_count_kv", U32, 8 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.q_lora_rank", I32, -1 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.q_lora_rank", U32, 1 << 20 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.key_length_mla", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.key_length_mla", U32, 1 << 20 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.key_length_mla", U32, 4 }, INFER_EFORMAT, "rope.dimension_count" },
	{ { "llama.attention.value_length_mla", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.value_length_mla", U32, 1 << 20 }, INFER_EFORMAT, NULL },
	{ { "llama.rope.dimension_count", U32, 6 }, INFER_EFORMAT, "attention.key_length" },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, -1 }, INFER_EFORMAT, NULL },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, NAN }, INFER_EFORMAT, NULL },
	{ { "llama.rope.scaling.yarn_log_multiplier", F32, 0.1 }, INFER_EUNSUP, NULL },
	{ { "llama.expert_gating_func", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_gating_func", U32, 3 }, INFER_EUNSUP, NULL },
	{ { "llama.expert_group_count", U32, 3 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_group_count", I32, -1 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_group_count", U32, 4294967295.0 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_group_used_count", U32, 5 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_group_used_count", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.expert_group_used_count", U32, 1 }, INFER_EFORMAT, NULL }, /* 2 experts of 3 */
	{ { "llama.attention.temperature_scale", F32, -0.1 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.temperature_scale", F32, NAN }, INFER_EFORMAT, NULL },
	{ { "llama.attention.temperature_length", U32, 0 }, INFER_EFORMAT, NULL },
	{ { "llama.attention.indexer.top_k", U32, 64 }, INFER_EUNSUP, NULL },
};

static int case_latent(void)
{
	const struct key old[] = { { "llama.attention.key_length_mla" },
		                   { "llama.attention.key_length", U32, 10 },
		                   { "llama.attention.value_length", U32, 6 },
		                   { "llama.attention.head_count_kv", U32, 8 } };
	const struct key grows[] = { { "llama.attention.temperature_scale", F32, 0.5 },
		                     { "llama.rope.scaling.original_context_length", U32, 64 } };
	struct arch_hparam h, g;
	infer_error e;
	int rc;

	nth_ok(read_latent(&h, "mistral4", grows, 2, &e)); /* a group by its two best, by softmax */
	assert_int_equal(h.group_best, 2);
	assert_int_equal(h.expert_gating, GATING_SOFTMAX);
	assert_int_equal(h.expert_norm, 0);
	assert_true(h.attn_temp == 0.5f && h.attn_temp_length == 64 && !h.attn_temp_from);
	nth_ok(read_latent(&h, "deepseek2", NULL, 0, &e));
	assert_int_equal(h.dk, 12);
	assert_int_equal(h.dv, 8);
	assert_int_equal(h.n_head_kv, 1);
	assert_int_equal(h.k_head, 10);
	assert_int_equal(h.v_head, 6);
	assert_int_equal(h.groups_used, 2);
	assert_int_equal(h.group_best, 1);
	assert_true(h.attn_scale == (float)(1 / sqrt(10.0)));
	nth_ok(read_latent(&g, "deepseek2", old, 4, &e)); /* the sizes of the heads alone */
	assert_memory_equal(&g, &h, sizeof g);
	for (size_t i = 0; i < sizeof latent_bad / sizeof *latent_bad; i++) {
		const char *names =
			latent_bad[i].names ? latent_bad[i].names : latent_bad[i].k.key + 6;
		rc = read_latent(&h, "deepseek2", &latent_bad[i].k, 1, &e);
		if (rc == INFER_ENOMEM)
			return rc;
		if (rc != latent_bad[i].code || !strstr(e.message, names))
			fail_msg("%zu %s: %s", i, latent_bad[i].k.key, rc ? e.message : "taken");
	}
	rc = INFER_OK;
out:
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_latent) };

	return nth_group(tests);
}
