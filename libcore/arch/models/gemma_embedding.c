/* EmbeddingGemma: Gemma 3 whose rows see each other, and two layers that make the vector of what they
 * have in common.  Schechter Vera+ 2025, arXiv:2509.20354 */
#include "arch/arch.h"

extern const struct arch arch_gemma3;

static int encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int rc = arch_key_slides(r, h, 6, err);

	h->rope[1].base = 10000;
	return rc ? rc : arch_key_encoder(r, h, 0, err);
}

const struct arch arch_gemma_embedding = {
	.gguf = "gemma-embedding",
	.like = &arch_gemma3,
	.tensors = { group_dense },
	.read = { arch_read_gemma, encoder, arch_read_own_base },
};
