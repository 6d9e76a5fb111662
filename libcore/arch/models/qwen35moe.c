/* Qwen 3.5 and 3.6 with experts.  Qwen Team 2026 */
#include "arch/arch.h"

extern const struct arch arch_qwen35;

static const struct arch_tensor tensors[] = {
	{ W_GATE_EXPS,
	  "ffn_gate_exps.weight",
	  { "mlp.experts.gate_up_proj" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_EXPERTS },
	{ W_UP_EXPS,
	  "ffn_up_exps.weight",
	  { "mlp.experts.gate_up_proj" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_EXPERTS },
	{ W_DOWN_EXPS,
	  "ffn_down_exps.weight",
	  { "mlp.experts.down_proj" },
	  { D_EXPERT_FF, D_EMBD, D_EXPERTS },
	  ARCH_EXPERTS },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_qwen35.hparam(h, r, err);
}

const struct arch arch_qwen35moe = { .gguf = "qwen35moe",
	                             .hf = { "Qwen3_5MoeForCausalLM" },
	                             .like = &arch_qwen35,
	                             .tensors = tensors,
	                             .hparam = hparam };
