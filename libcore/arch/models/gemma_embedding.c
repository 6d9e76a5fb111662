/* EmbeddingGemma: Gemma 3 whose rows see each other, and two layers that make the vector of what they
 * have in common.  Schechter Vera+ 2025, arXiv:2509.20354 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_gemma3;

static int encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t sees = 1;

	h->rope[1].base = 10000;
	TRY(arch_key_slides(r, h, 6, ARCH_FULL_LAST, err));
	TRY(arch_key_i32(r, K_BIDIRECTIONAL, &sees, 1, 1, err));
	return arch_key_encoder(r, h, 0, err);
}

const struct arch arch_gemma_embedding = {
	.gguf = "gemma-embedding",
	.hf = { "Gemma3TextModel" },
	.like = &arch_gemma3,
	.tensors = { group_dense },
	.must = "head_dim query_pre_attn_scalar sliding_window rope.rope_theta "
		"use_bidirectional_attention",
	.read = { arch_read_gemma, encoder, arch_read_own_base },
};
