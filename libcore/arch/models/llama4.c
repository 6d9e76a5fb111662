/* The text model of Llama 4: three of four layers have RoPE and chunked attention; the fourth has
 * neither, and an attention temperature. Weights of experts multiply their inputs. Meta 2025,
 * https://github.com/meta-llama/llama-models; temperature: Nakanishi 2025, arXiv:2501.19399 */
#include "arch/arch.h"
#include "base/err.h"

extern const struct arch arch_llama;

enum { WITHOUT_NORMS = 128 }; /* number of experts of the one model without norms of heads */

/* GGUF files have no keys for most of this. Window 0: all layers have RoPE and full attention. */
static int own(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t grows = 1, norm = h->n_expert != WITHOUT_NORMS;

	h->expert_gating = GATING_SIGMOID;
	h->expert_norm = 0;
	h->weight_before_ffn = 1;
	h->n_shared_ff = h->n_expert_ff;
	h->window = h->attn_temp_length = 8192;
	h->attn_temp = 0.1f;
	h->attn_temp_from = h->attn_temp_no_rope = 1;
	TRY(arch_key_i32(r, K_CHUNK, &h->window, 0, 1 << 30, err));
	TRY(arch_read_no_rope(h, r, err));
	TRY(arch_key_slides(r, h, 4, ARCH_FULL_LAST, err));
	for (int i = 0; i < h->n_layers; i++)
		h->no_rope[i] &= h->window != 0;
	h->chunked = h->window != 0;
	TRY(arch_key_float(r, K_TEMPERATURE, &h->attn_temp, 0, 1e3, err));
	TRY(arch_key_i32(r, K_TEMPERATURE_LENGTH, &h->attn_temp_length, 1, 1 << 30, err));
	TRY(arch_key_i32(r, K_TEMPERATURE_ON, &grows, 0, 1 << 30, err));
	h->attn_temp = grows ? h->attn_temp : 0;
	TRY(arch_key_i32(r, K_QK_NORM, &norm, 0, 1, err));
	h->qk_norm_after_rope = norm;
	return INFER_OK;
}

/* intermediate_size is that of experts; dense layers have intermediate_size_mlp. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *dense = json_get(k->config, "intermediate_size_mlp"),
			  *own = json_get(k->config, "intermediate_size");

	(void)room;
	if (key != K_EXPERT_FF || *v || !dense || json_is_null(dense) || json_is_null(own))
		return 0;
	*v = own;
	return 1;
}

const struct arch arch_llama4 = {
	.gguf = "llama4",
	.hf = { "Llama4ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_llama4_experts },
	.chunked = 1,
	.rope = { ROPE_PAIRS, ROPE_PAIRS },
	.member = member,
	.must = "head_dim num_key_value_heads rope.rope_theta num_local_experts"
		" intermediate_size_mlp use_qk_norm attention_chunk_size",
	.read = { arch_read_experts_step, own },
};
