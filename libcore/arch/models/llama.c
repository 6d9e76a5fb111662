/* The base row: LLaMA and models of its form (Mistral, Mixtral, SmolLM, TinyLlama, Yi ...).
 * Touvron+ 2023, arXiv:2302.13971; Jiang+ 2024, arXiv:2401.04088 (experts) */
#include "arch/arch.h"

static const struct arch_expect expect[] = { { "hidden_act", "silu" },
	                                     { "normalization_function", "rmsnorm" },
	                                     { NULL, NULL } };

const struct arch arch_llama = {
	.gguf = "llama",
	.hf = { "LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM" },
	.layers = "model.layers.",
	.prefix = { "model." },
	.tensors = { group_base },
	.rope = { ROPE_PAIRS, ROPE_HALVES },
	.read = { arch_read_all_slide }, /* Mistral 7B v0.1 */
	.expect = expect,
	.block = arch_block,
};
