/* Qwen 3.5 and 3.6, dense: as Qwen 3 Next, with a tensor for each projection, and heads of V in
 * another order in GGUF files. Qwen Team 2026 */
#include "arch/arch.h"

extern const struct arch arch_qwen3next;

const struct arch arch_qwen35 = {
	.gguf = "qwen35",
	.hf = { "Qwen3_5ForCausalLM" },
	.like = &arch_qwen3next,
	.tensors = { group_tiled_delta },
	.read = { arch_read_next, arch_read_gate, arch_read_shared_ff, arch_read_states },
};
