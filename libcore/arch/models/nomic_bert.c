/* Nomic Embed: BERT with RoPE and a gated FFN, with few biases. Nussbaum+ 2024, arXiv:2402.01613 */
#include "arch/arch.h"

extern const struct arch arch_bert;

static const struct arch_expect expect[] = { { "hidden_act", "silu" },
	                                     { "activation_function", "swiglu" },
	                                     { NULL, NULL } };

const struct arch arch_nomic_bert = {
	.gguf = "nomic-bert",
	.hf = { "NomicBertModel" },
	.like = &arch_bert,
	.layers = "encoder.layers.",
	.tensors = { group_nomic_bert },
	.read = { arch_read_centred_encoder },
	.must = "rope.rope_theta|rope.rotary_emb_base",
	.expect = expect,
};
