/* Phi 3 and 4: q, k, v in one tensor, gate and up in another; rotation by halves, longrope.  Abdin+
 * 2024, arXiv:2404.14219 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static const struct arch_tensor tensors[] = {
	{ W_Q, "attn_qkv.weight", { "self_attn.qkv_proj.weight" }, { D_EMBD, D_Q }, ARCH_MUST },
	{ W_K, "attn_qkv.weight", { "self_attn.qkv_proj.weight" }, { D_EMBD, D_KV_K }, ARCH_MUST },
	{ W_V, "attn_qkv.weight", { "self_attn.qkv_proj.weight" }, { D_EMBD, D_KV_V }, ARCH_MUST },
	{ W_GATE, "ffn_up.weight", { "mlp.gate_up_proj.weight" }, { D_EMBD, D_FF }, ARCH_MUST },
	{ W_UP, "ffn_up.weight", { "mlp.gate_up_proj.weight" }, { D_EMBD, D_FF }, ARCH_MUST },
	{ W_END },
};

/* Where there is a window, every layer slides. */
static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 0, err);
}

const struct arch arch_phi3 = { .gguf = "phi3",
	                        .hf = { "Phi3ForCausalLM" },
	                        .like = &arch_llama,
	                        .tensors = tensors,
	                        .rope = { ROPE_HALVES, ROPE_HALVES },
	                        .hparam = hparam };
