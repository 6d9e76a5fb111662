/* Ministral 3: llama with YaRN whose factor of cos and sin is 1, and an attention temperature.
 * Mistral AI 2025, arXiv:2601.08584 */
#include "arch/arch.h"
#include "base/err.h"
#include "base/fmath.h"

extern const struct arch arch_llama;

static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct arch_rope *p = &h->rope[0];
	float all = 0, one = 1;

	TRY(arch_key_float(r, K_YARN_LOG, &all, 0, 1e3, err));
	TRY(arch_key_float(r, K_YARN_MSCALE, &one, 1, 1, err));
	if (all != 0 && p->scaling == SCALING_YARN && p->factor > 1)
		p->attn_factor /= 0.1 * (double)all * fm_log(p->factor) + 1;
	return INFER_OK;
}

const struct arch arch_mistral3 = {
	.gguf = "mistral3",
	.hf = { "Ministral3ForCausalLM" },
	.like = &arch_llama,
	.must = "head_dim num_key_value_heads rope.rope_theta rope.mscale rope.mscale_all_dim"
		" rope.llama_4_scaling_beta",
	.read = { own, arch_read_attn_temp, arch_read_all_slide },
};
