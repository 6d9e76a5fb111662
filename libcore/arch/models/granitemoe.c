/* Granite 3 with experts and a shared one. IBM 2024,
 * https://github.com/ibm-granite/granite-3.0-language-models */
#include "arch/arch.h"

extern const struct arch arch_granite;

const struct arch arch_granitemoe = {
	.gguf = "granitemoe",
	.hf = { "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM" },
	.like = &arch_granite,
	.tensors = { group_granite_experts },
	.read = { arch_read_scales, arch_read_some_shared_ff },
};
