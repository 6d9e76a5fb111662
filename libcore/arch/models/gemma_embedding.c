/* EmbeddingGemma: a bidirectional Gemma 3, with two dense layers from the mean to the embedding.
 * Schechter Vera+ 2025, arXiv:2509.20354 */
#include "arch/arch.h"

extern const struct arch arch_gemma3;

const struct arch arch_gemma_embedding = {
	.gguf = "gemma-embedding",
	.hf = { "Gemma3TextModel" },
	.like = &arch_gemma3,
	.tensors = { group_dense },
	.must = "head_dim query_pre_attn_scalar sliding_window rope.rope_theta "
		"use_bidirectional_attention",
	.read = { arch_read_gemma, arch_read_most_slide, arch_read_encoder, arch_read_own_base },
};
