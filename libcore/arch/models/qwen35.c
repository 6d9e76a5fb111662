/* Qwen 3.5 and 3.6: as Qwen 3 Next, its projections tensors of their own, and heads of v in another order in GGUF files; without
 * experts too.  Qwen Team 2026 */
#include "arch/arch.h"

extern const struct arch arch_qwen3next;

static const struct arch_tensor tensors[] = {
	{ W_STATE_QKV,
	  "attn_qkv.weight",
	  { "linear_attn.in_proj_qkv.weight" },
	  { D_EMBD, D_STATE_QKV },
	  ARCH_RECURRENT,
	  T_TILED_V },
	{ W_STATE_GATE,
	  "attn_gate.weight",
	  { "linear_attn.in_proj_z.weight" },
	  { D_EMBD, D_STATE_O },
	  ARCH_RECURRENT,
	  T_TILED },
	{ W_STATE_BETA_DECAY },
	{ W_STATE_BETA,
	  "ssm_beta.weight",
	  { "linear_attn.in_proj_b.weight" },
	  { D_EMBD, D_STATE_HEADS },
	  ARCH_RECURRENT,
	  T_TILED },
	{ W_STATE_DECAY,
	  "ssm_alpha.weight",
	  { "linear_attn.in_proj_a.weight" },
	  { D_EMBD, D_STATE_HEADS },
	  ARCH_RECURRENT,
	  T_TILED },
	{ W_STATE_CONV,
	  "ssm_conv1d.weight",
	  { "linear_attn.conv1d.weight" },
	  { D_TAPS, D_STATE_QKV },
	  ARCH_RECURRENT,
	  T_TILED_V },
	{ W_STATE_DECAY_BIAS,
	  "ssm_dt.bias",
	  { "linear_attn.dt_bias" },
	  { D_STATE_HEADS },
	  ARCH_RECURRENT,
	  T_TILED },
	{ W_STATE_DECAY_RATE,
	  "ssm_a",
	  { "linear_attn.A_log" },
	  { D_STATE_HEADS },
	  ARCH_RECURRENT,
	  T_TILED_NEG_EXP },
	{ W_STATE_OUT,
	  "ssm_out.weight",
	  { "linear_attn.out_proj.weight" },
	  { D_STATE_O, D_EMBD },
	  ARCH_RECURRENT,
	  T_TILED_COLS },
	{ W_END },
};

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->state_tiled = 1;
	return arch_qwen3next.hparam(h, r, err);
}

const struct arch arch_qwen35 = { .gguf = "qwen35",
	                          .hf = { "Qwen3_5ForCausalLM" },
	                          .like = &arch_qwen3next,
	                          .tensors = tensors,
	                          .hparam = hparam };
