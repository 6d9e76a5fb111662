/* gpt-oss: experts with biases and a clamped SwiGLU, attention sinks, a window in every other
 * layer. OpenAI 2025, arXiv:2508.10925 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

/* GGUF files have no key for the SwiGLU limit, and none for YaRN's rounding: this family does not
 * round. */
static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	float gain = 1.702f;
	int round = 0;

	h->act = ACT_SWIGLU;
	h->act_limit = 7;
	h->window = 128;
	TRY(arch_key_float(r, K_SWIGLU_LIMIT, &h->act_limit, 1e-3, 1e6, err));
	TRY(arch_key_float(r, K_SWIGLU_GAIN, &gain, 1.7019, 1.7021, err));
	TRY(arch_key_bool(r, K_YARN_ROUND, &round, err));
	h->rope[0].exact = !round;
	return INFER_OK;
}

const struct arch arch_gptoss = {
	.gguf = "gpt-oss",
	.hf = { "GptOssForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_sinks, group_ffn_norm_named_post, group_gptoss_experts },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.must = "head_dim num_key_value_heads rope.rope_theta sliding_window rope.truncate",
	.read = { own, arch_read_half_slide },
};
