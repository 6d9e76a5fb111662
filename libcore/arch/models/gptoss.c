/* gpt-oss: experts with biases and a clamped SwiGLU, a sink in each head's softmax, every other layer slides.  OpenAI 2025,
 * arXiv:2508.10925 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_SINKS, "attn_sinks.weight", { "self_attn.sinks" }, { D_HEADS }, ARCH_MUST },
	{ W_FFN_NORM,
	  "post_attention_norm.weight",
	  { "post_attention_layernorm.weight" },
	  { D_EMBD },
	  ARCH_MUST },
	{ W_ROUTER,
	  "ffn_gate_inp.weight",
	  { "mlp.router.weight" },
	  { D_EMBD, D_EXPERTS },
	  ARCH_MUST },
	{ W_ROUTER_BIAS, "ffn_gate_inp.bias", { "mlp.router.bias" }, { D_EXPERTS }, ARCH_MUST },
	{ W_GATE_EXPS,
	  "ffn_gate_exps.weight",
	  { "mlp.experts.gate_up_proj" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST,
	  T_EVEN },
	{ W_UP_EXPS,
	  "ffn_up_exps.weight",
	  { "mlp.experts.gate_up_proj" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST,
	  T_ODD },
	{ W_DOWN_EXPS,
	  "ffn_down_exps.weight",
	  { "mlp.experts.down_proj" },
	  { D_EXPERT_FF, D_EMBD, D_EXPERTS },
	  ARCH_MUST,
	  T_TURN },
	{ W_GATE_EXPS_BIAS,
	  "ffn_gate_exps.bias",
	  { "mlp.experts.gate_up_proj_bias" },
	  { D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST,
	  T_EVEN },
	{ W_UP_EXPS_BIAS,
	  "ffn_up_exps.bias",
	  { "mlp.experts.gate_up_proj_bias" },
	  { D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST,
	  T_ODD },
	{ W_DOWN_EXPS_BIAS,
	  "ffn_down_exps.bias",
	  { "mlp.experts.down_proj_bias" },
	  { D_EMBD, D_EXPERTS },
	  ARCH_MUST },
	{ W_END },
};

/* GGUF files have no key for the limit, nor for the bounds of YaRN's ramp, which this family does not round. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	float gain = 1.702f;
	int round = 0, rc;

	h->act = ACT_SWIGLU;
	h->act_limit = 7;
	h->window = 128;
	rc = arch_key_float(r, K_SWIGLU_LIMIT, &h->act_limit, 1e-3, 1e6, err);
	if (!rc)
		rc = arch_key_float(r, K_SWIGLU_GAIN, &gain, 1.7019, 1.7021, err);
	if (!rc)
		rc = arch_key_bool(r, K_YARN_ROUND, &round, err);
	h->rope[0].exact = !round;
	return rc ? rc : arch_key_slides(r, h, 2, err);
}

static const char *const must[] = { "head_dim",       "num_key_value_heads", "rope.rope_theta",
	                            "sliding_window", "rope.truncate",       NULL };

const struct arch arch_gptoss = { .gguf = "gpt-oss",
	                          .hf = { "GptOssForCausalLM" },
	                          .like = &arch_llama,
	                          .tensors = tensors,
	                          .rope = { ROPE_HALVES, ROPE_HALVES },
	                          .must = must,
	                          .hparam = hparam };
