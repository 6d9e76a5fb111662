/* LFM 2: most layers multiply, convolve a few rows and multiply again; the others attend.  Liquid AI 2025, arXiv:2511.23404 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_lfm2 = {
	.gguf = "lfm2",
	.hf = { "Lfm2ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_lfm2 },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "num_key_value_heads layer_types rope.rope_theta conv_L_cache "
		"block_auto_adjust_ff_dim "
		"block_ffn_dim_multiplier block_multiple_of",
	.read = { arch_read_short_conv },
};
