/* Qwen 3.5 and 3.6 with experts.  Qwen Team 2026 */
#include "arch/arch.h"

extern const struct arch arch_qwen35;

const struct arch arch_qwen35moe = {
	.gguf = "qwen35moe",
	.hf = { "Qwen3_5MoeForCausalLM" },
	.like = &arch_qwen35,
	.tensors = { group_fused_experts },
	.read = { arch_read_next, arch_read_gate, arch_read_shared_ff, arch_read_states },
};
