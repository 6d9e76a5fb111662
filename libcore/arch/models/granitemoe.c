/* Granite 3 with experts, and with one that every row takes.  IBM 2024,
 * https://github.com/ibm-granite/granite-3.0-language-models */
#include "arch/arch.h"

extern const struct arch arch_granite;

static const struct arch_tensor tensors[] = {
	{ W_ROUTER,
	  "ffn_gate_inp.weight",
	  { "block_sparse_moe.router.layer.weight" },
	  { D_EMBD, D_EXPERTS },
	  ARCH_MUST },
	{ W_GATE_EXPS,
	  "ffn_gate_exps.weight",
	  { "block_sparse_moe.input_linear.weight" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST },
	{ W_UP_EXPS,
	  "ffn_up_exps.weight",
	  { "block_sparse_moe.input_linear.weight" },
	  { D_EMBD, D_EXPERT_FF, D_EXPERTS },
	  ARCH_MUST },
	{ W_DOWN_EXPS,
	  "ffn_down_exps.weight",
	  { "block_sparse_moe.output_linear.weight" },
	  { D_EXPERT_FF, D_EMBD, D_EXPERTS },
	  ARCH_MUST },
	{ W_GATE_SHARED,
	  "ffn_gate_shexp.weight",
	  { "shared_mlp.input_linear.weight" },
	  { D_EMBD, D_SHARED_FF },
	  ARCH_SHARED },
	{ W_UP_SHARED,
	  "ffn_up_shexp.weight",
	  { "shared_mlp.input_linear.weight" },
	  { D_EMBD, D_SHARED_FF },
	  ARCH_SHARED },
	{ W_DOWN_SHARED,
	  "ffn_down_shexp.weight",
	  { "shared_mlp.output_linear.weight" },
	  { D_SHARED_FF, D_EMBD },
	  ARCH_SHARED },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int rc = arch_granite.hparam(h, r, err);

	return rc ? rc : arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 0, 1 << 24, err);
}

const struct arch arch_granitemoe = { .gguf = "granitemoe",
	                              .hf = { "GraniteMoeForCausalLM",
	                                      "GraniteMoeSharedForCausalLM" },
	                              .like = &arch_granite,
	                              .tensors = tensors,
	                              .hparam = hparam };
