/* arch/read.c - readers of keys that several architectures share. */
#include "arch/arch.h"
#include "base/err.h"

int arch_read_all_slide(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 0, ARCH_FULL_LAST, err);
}

int arch_read_half_slide(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 2, ARCH_FULL_LAST, err);
}

int arch_read_three_slide(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_slides(r, h, 4, ARCH_FULL_LAST, err);
}

int arch_read_most_slide(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->rope[1].base = 10000;
	return arch_key_slides(r, h, 6, ARCH_FULL_LAST, err);
}

int arch_read_own_base(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	if (!h->window)
		return INFER_OK;
	h->n_ropes = 2;
	h->rope[1].attn_factor = 1;
	if (h->rope[1].base == 0)
		h->rope[1].base = h->rope[0].base;
	return arch_key_double(r, K_ROPE_BASE_SWA, &h->rope[1].base, 1, 1e12, err);
}

int arch_read_first_position(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_i32(r, K_FIRST_POSITION, &h->first_position, 0, 1 << 20, err);
}

int arch_read_dense(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_i32(r, K_LEADING_DENSE, &h->n_dense, 0, h->n_layers, err);
}

int arch_read_shared(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t shared = 0;

	TRY(arch_key_i32(r, K_SHARED_EXPERTS, &shared, 0, 64, err));
	h->n_shared_ff = shared * h->n_expert_ff;
	return INFER_OK;
}

int arch_read_groups(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t groups = 1, used, best = h->group_best;

	if (!best)
		best = h->expert_gating == GATING_SIGMOID ? 2 : 1;
	h->group_best = 0;
	TRY(arch_key_i32(r, K_EXPERT_GROUPS, &groups, 0, ARCH_MAX_EXPERTS, err));
	used = groups;
	TRY(arch_key_i32(r, K_EXPERT_GROUPS_USED, &used, 0, groups > 1 ? groups : ARCH_MAX_EXPERTS,
	                 err));
	if (groups < 2 || !h->n_expert)
		return INFER_OK;
	if (h->n_expert % groups || h->n_expert / groups < best)
		return arch_key_refuse(r, K_EXPERT_GROUPS, INFER_EFORMAT, err,
		                       "%d groups of %d experts", groups, h->n_expert);
	if (used < 1 || h->n_expert_used > h->n_expert / groups * used)
		return arch_key_refuse(r, K_EXPERT_GROUPS_USED, INFER_EFORMAT, err,
		                       "%d groups have fewer than %d experts", used,
		                       h->n_expert_used);
	h->groups = groups;
	h->groups_used = used;
	h->group_best = best;
	return INFER_OK;
}

int arch_read_groups_by_two(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->group_best = 2;
	return arch_read_groups(h, r, err);
}

int arch_read_sigmoid(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gating = 2;

	TRY(arch_key_i32(r, K_EXPERT_GATING, &gating, 1, 2, err));
	h->expert_gating = gating == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	return INFER_OK;
}

int arch_read_no_sections(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	(void)h;
	return arch_key_none(r, K_SECTIONS, err);
}

int arch_read_encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t sees = 1;

	TRY(arch_key_i32(r, K_BIDIRECTIONAL, &sees, 1, 1, err));
	return arch_key_encoder(r, h, 0, err);
}

int arch_read_centred_encoder(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_encoder(r, h, 1, err);
}

int arch_read_attn_temp(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->attn_temp_length = (int32_t)h->rope[0].orig_ctx;
	TRY(arch_key_i32(r, K_TEMPERATURE_LENGTH, &h->attn_temp_length, 1, 1 << 30, err));
	return arch_key_float(r, K_TEMPERATURE, &h->attn_temp, 0, 1e3, err);
}

int arch_read_norm_said(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->expert_norm = 0;
	return arch_key_bool(r, K_EXPERT_NORM, &h->expert_norm, err);
}

int arch_read_shared_ff(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	if (!h->n_expert)
		return INFER_OK;
	return arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 1, 1 << 24, err);
}

int arch_read_some_shared_ff(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	return arch_key_i32(r, K_SHARED_EXPERT_FF, &h->n_shared_ff, 0, 1 << 24, err);
}

int arch_read_positions(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int turns = 1;

	arch_key_look(r, K_POSITIONS); /* config.json has the same as position_embedding_type */
	TRY(arch_key_bool(r, K_FINETUNED, &turns, err));
	for (int i = 0; i < h->n_layers; i++)
		h->no_rope[i] = !turns;
	return INFER_OK;
}

int arch_read_gate(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gate = 1;

	h->attn_gated = 1;
	return arch_key_i32(r, K_ATTN_GATE, &gate, 1, 1, err);
}

int arch_read_scales(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	float divisor = 0;

	TRY(arch_key_float(r, K_EMBD_SCALE, &h->embd_scale, 1e-6, 1e6, err));
	TRY(arch_key_float(r, K_RESIDUAL_SCALE, &h->residual_scale, 1e-6, 1e6, err));
	TRY(arch_key_float(r, K_LOGIT_SCALE, &divisor, 1e-6, 1e6, err));
	if (divisor != 0)
		h->logit_scale = 1 / divisor;
	return INFER_OK;
}

int arch_read_no_rope(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	uint8_t rotates[ARCH_MAX_LAYERS];
	int32_t period = 4;

	TRY(arch_key_i32(r, K_STILL_PERIOD, &period, 1, ARCH_MAX_LAYERS, err));
	for (int i = 0; i < h->n_layers; i++)
		rotates[i] = i % period != period - 1;
	if (arch_key_look(r, K_ROTATES).n) /* an empty list is ignored */
		TRY(arch_key_flags(r, K_ROTATES, h, rotates, err));
	for (int i = 0; i < h->n_layers; i++)
		h->no_rope[i] = !rotates[i];
	return INFER_OK;
}
