/* ModernBERT: a pre-norm encoder; one of three layers has full attention, the others a window and a
 * RoPE base of their own. Warner+ 2024, arXiv:2412.13663 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

static int encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	static const char *const acts[] = { "gelu", "silu", NULL };
	int32_t pooling = 1; /* as K_POOLING: 1 mean, 2 first row */
	int act = 0;

	TRY(arch_key_pick(r, K_ACTIVATION, acts, &act, err));
	h->act = act ? ACT_SILU : ACT_GELU_ERF;
	TRY(arch_key_i32(r, K_HEAD_POOLING, &pooling, 1, 2, err));
	h->head_mean = pooling == 1;
	h->head_gelu = 1;
	h->rope[1].base = 10000;
	TRY(arch_key_slides(r, h, 3, ARCH_FULL_FIRST, err));
	return arch_key_encoder(r, h, 1, err);
}

/* Convert the pooling of the head to its number in GGUF files; by default the first row. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	int mean = json_equals(*v, "mean");

	(void)k;
	if (key != K_HEAD_POOLING || (*v && !mean && !json_equals(*v, "cls")))
		return 0;
	*room = arch_json_int(mean ? 1 : 2);
	*v = room;
	return 1;
}

static const struct arch_expect expect[] = { { "classifier_activation", "gelu" }, { NULL, NULL } };

const struct arch arch_modern_bert = {
	.gguf = "modern-bert",
	.hf = { "ModernBertModel", "ModernBertForSequenceClassification" },
	.like = &arch_llama,
	.layers = "layers.",
	.tensors = { group_encoder, group_modern_bert },
	.member = member,
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.read = { encoder, arch_read_own_base },
	.must = "rope.rope_theta|rope.global_rope_theta local_attention",
	.expect = expect,
};
