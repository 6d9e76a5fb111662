/* Granite 4: most layers are Mamba 2, the others attend without rotation; with experts and one that every row takes, or dense.
 * IBM 2025, https://huggingface.co/ibm-granite/granite-4.0-h-small; Dao+ 2024, arXiv:2405.21060 */
#include "arch/arch.h"

extern const struct arch arch_granitemoe;

const struct arch arch_granitehybrid = {
	.gguf = "granitehybrid",
	.hf = { "GraniteMoeHybridForCausalLM" },
	.like = &arch_granitemoe,
	.tensors = { group_ssd, group_shared_mlp },
	.must = "num_key_value_heads layer_types num_local_experts shared_intermediate_size "
		"mamba_d_head",
	.read = { arch_read_scales, arch_read_some_shared_ff, arch_read_ssd, arch_read_positions },
};
