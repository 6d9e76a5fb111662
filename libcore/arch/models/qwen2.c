/* Qwen 2 and 2.5: llama with RoPE by halves, and biases on Q, K, V if the file has them. Yang+
 * 2024, arXiv:2407.10671 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_qwen2 = {
	.gguf = "qwen2",
	.hf = { "Qwen2ForCausalLM" },
	.like = &arch_llama,
	.rope = { ROPE_HALVES, ROPE_HALVES },
};
