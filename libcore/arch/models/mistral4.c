/* Mistral 4: MLA with an attention temperature; experts chosen by softmax, the score of a group is
 * that of its two best. Mistral AI 2026,
 * https://huggingface.co/mistralai/Mistral-Small-4-119B-2603 */
#include "arch/arch.h"

extern const struct arch arch_deepseek2;

const struct arch arch_mistral4 = {
	.gguf = "mistral4",
	.hf = { "Mistral4ForCausalLM" },
	.like = &arch_deepseek2,
	.tensors = { group_joined_experts },
	.must = "kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim n_routed_experts"
		" n_shared_experts moe_intermediate_size norm_topk_prob rope.rope_theta"
		" rope.llama_4_scaling_beta",
	.read = { arch_read_mla, arch_read_norm_said, arch_read_groups_by_two, arch_read_shared,
	          arch_read_dense, arch_read_attn_temp },
};
