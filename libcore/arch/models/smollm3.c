/* SmolLM 3: llama in which every fourth layer rotates nothing.  Hugging Face 2025,
 * https://huggingface.co/blog/smollm3 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	uint8_t rotates[ARCH_MAX_LAYERS];
	int32_t period = 4;

	TRY(arch_key_i32(r, K_STILL_PERIOD, &period, 1, ARCH_MAX_LAYERS, err));
	for (int i = 0; i < h->n_layers; i++)
		rotates[i] = i % period != period - 1;
	TRY(arch_key_flags(r, K_ROTATES, h, rotates, err));
	for (int i = 0; i < h->n_layers; i++)
		h->still[i] = !rotates[i];
	return INFER_OK;
}

const struct arch arch_smollm3 = {
	.gguf = "smollm3",
	.hf = { "SmolLM3ForCausalLM" },
	.like = &arch_llama,
	.must = "num_key_value_heads rope.rope_theta",
	.read = { own, arch_read_all_slide },
};
