/* DeepSeek 2 and 3, and models of their form (Kimi K2, GLM 4.7 Flash, Moonlight): MLA; experts in
 * groups, chosen by softmax, or by sigmoid and a bias; shared experts and leading dense layers.
 * DeepSeek-AI 2024, arXiv:2405.04434; 2024, arXiv:2412.19437 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

/* Router weights are not normalised by default. The default gating is sigmoid if weights are
 * normalised, else softmax. */
static int gating(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t number;

	TRY(arch_read_norm_said(h, r, err));
	number = 1 + h->expert_norm;
	TRY(arch_key_i32(r, K_EXPERT_GATING, &number, 1, 2, err));
	h->expert_gating = number == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	return INFER_OK;
}

/* Return a size that may be added to another, or 0. */
static int64_t size_of(const struct json *v)
{
	return json_is(v, JSON_INT) && v->i > 0 && v->i < 1 << 20 ? v->i : 0;
}

/* Convert members to GGUF keys. These describe MLA in its absorbed form: one KV head; K is the
 * compressed KV with the rotated columns, V without. K_MLA is a whole head (config.json: its
 * unrotated columns), YARN_LOG is mscale_all_dim / 10. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *rank = arch_keys_plain(k, K_KV_LORA),
			  *rot = arch_keys_plain(k, K_ROTATING);
	int64_t rotates = size_of(rot);

	if (key == K_EXPERT_GROUPS || key == K_EXPERT_GROUPS_USED) {
		if (json_equals(arch_keys_plain(k, K_TOP_K_METHOD), "greedy"))
			*v = NULL;
		return 1;
	}
	if (!rank)
		return 0;
	switch (key) {
	case K_HEADS_KV:
		*room = arch_json_int(1);
		break;
	case K_ROPE_DIM:
		*v = rot;
		return rot != NULL;
	case K_K_LENGTH:
		*room = arch_json_int(size_of(rank) + rotates);
		break;
	case K_V_LENGTH:
		*v = rank;
		return 1;
	case K_K_MLA:
		*room = arch_json_int(size_of(*v) + rotates);
		break;
	case K_YARN_LOG:
		*room = arch_json_real(0.1 * (json_is_number(*v) ? json_double(*v) : 0));
		break;
	default:
		return 0;
	}
	if ((key == K_K_MLA && !*v) || (key == K_YARN_LOG && !json_is_number(*v)))
		return 0;
	*v = room;
	return 1;
}

const struct arch arch_deepseek2 = {
	.gguf = "deepseek2",
	.hf = { "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeLiteForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_latent, group_some_pick_bias },
	.rope = { ROPE_PAIRS, ROPE_PAIRS },
	.member = member,
	.must = "kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim n_routed_experts"
		" n_shared_experts moe_intermediate_size norm_topk_prob",
	.read = { arch_read_mla, gating, arch_read_groups, arch_read_shared, arch_read_dense,
	          arch_read_next, arch_read_attn_temp },
};
