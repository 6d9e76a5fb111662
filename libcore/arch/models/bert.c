/* BERT and models of its form (BGE, E5, MiniLM, XLM-RoBERTa): bidirectional attention, tables of
 * positions and segments, post-norm. Devlin+ 2018, arXiv:1810.04805; Liu+ 2019, arXiv:1907.11692 */
#include "arch/arch.h"

extern const struct arch arch_llama;

static int encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->act = ACT_GELU_ERF;
	for (int i = 0; i < h->n_layers; i++)
		h->no_rope[i] = 1;
	h->n_ropes = 0;
	return arch_key_encoder(r, h, 1, err);
}

/* Return the row of position 0. In RoBERTa it is the row after that of the padding token. */
static int64_t first_position(const struct arch_keys *k)
{
	const struct json *type = json_get(k->config, "model_type"),
			  *pad = arch_keys_plain(k, K_FIRST_POSITION);

	if (!json_equals(type, "roberta") && !json_equals(type, "xlm-roberta"))
		return 0;
	if (pad && (!json_is(pad, JSON_INT) || pad->i > 1 << 30 || pad->i < -(1 << 30)))
		return -1;
	return pad ? pad->i + 1 : 2;
}

/* The context is the number of rows from position 0 on, at most the trained ones. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *seen = arch_keys_plain(k, K_SEEN);

	if (key == K_FIRST_POSITION)
		*room = arch_json_int(first_position(k));
	else if (key == K_CONTEXT && json_is(*v, JSON_INT) && (*v)->i >= 0)
		*room = arch_json_int((*v)->i - first_position(k));
	else
		return 0;
	if (key == K_CONTEXT && json_is(seen, JSON_INT) && seen->i < room->i)
		*room = *seen;
	*v = room;
	return 1;
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
	.member = member,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.read = { encoder, arch_read_first_position },
	.expect = expect,
	.block = arch_post_norm_block,
};
