/* BERT and what keeps to it (BGE, E5, MiniLM, XLM-RoBERTa): rows that see each other, positions and
 * parts of the text with rows of their own, norms behind the branches.  Devlin+ 2018,
 * arXiv:1810.04805; Liu+ 2019, arXiv:1907.11692 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static int encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->act = ACT_GELU_ERF;
	for (int i = 0; i < h->n_layers; i++)
		h->still[i] = 1;
	h->n_ropes = 0;
	return arch_key_encoder(r, h, 1, err);
}

static const struct arch_expect expect[] = { { "hidden_act", "gelu" },
	                                     { "position_embedding_type", "absolute" },
	                                     { NULL, NULL } };

const struct arch arch_bert = {
	.gguf = "bert",
	.hf = { "BertModel", "BertForSequenceClassification", "XLMRobertaModel",
	        "XLMRobertaForSequenceClassification", "RobertaModel",
	        "RobertaForSequenceClassification" },
	.like = &arch_llama,
	.layers = "encoder.layer.",
	.prefix = { "bert.", "roberta." },
	.tensors = { group_encoder, group_no_pre_norms, group_bert },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.read = { encoder, arch_read_first_position },
	.expect = expect,
	.block = arch_post_norm_block,
};
