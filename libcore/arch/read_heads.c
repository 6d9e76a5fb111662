/* arch/read_heads.c - readers of keys that differ by layer, and of those of MLA. */
#include "arch/arch.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>

/* Read the number of KV heads of layers without a window, if it has its own key. */
static int read_full_heads(struct arch_reader *r, struct arch_hparam *h, infer_error *err)
{
	int32_t full = 0;

	TRY(arch_key_i32(r, K_HEADS_KV_FULL, &full, 1, h->n_head, err));
	if (full && h->n_head % full)
		return arch_key_refuse(r, K_HEADS_KV_FULL, INFER_EFORMAT, err,
		                       "%d does not divide the %d heads", full, h->n_head);
	for (int i = 0; i < h->n_layers && full; i++)
		if (!h->windowed[i])
			h->kv_heads[i] = full;
	h->n_head_kv = full > h->n_head_kv ? full : h->n_head_kv;
	return INFER_OK;
}

int arch_read_heads(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct arch_heads *s = &h->swa_heads;

	*s = (struct arch_heads){ h->dk, h->dv, 0 };
	arch_key_look(r, K_BY_LAYER); /* read as K_HEADS_KV_FULL and others */
	TRY(arch_key_i32(r, K_K_LENGTH_SWA, &s->dk, 1, 1 << 12, err));
	TRY(arch_key_i32(r, K_V_LENGTH_SWA, &s->dv, 1, 1 << 12, err));
	if ((int64_t)h->n_head * (s->dk > s->dv ? s->dk : s->dv) > 1 << 20)
		return arch_key_refuse(r, K_K_LENGTH_SWA, INFER_EFORMAT, err,
		                       "%d heads of %d and %d", h->n_head, s->dk, s->dv);
	s->n_rot = s->dk;
	TRY(arch_key_i32(r, K_ROPE_DIM_SWA, &s->n_rot, 2, s->dk, err));
	if (s->n_rot % 2)
		return arch_key_refuse(r, K_ROPE_DIM_SWA, INFER_EFORMAT, err, "%d is odd",
		                       s->n_rot);
	return read_full_heads(r, h, err);
}

int arch_read_shared_kv(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int wide = 0, from;

	TRY(arch_key_i32(r, K_SHARED_KV, &h->shared_kv, 0, h->n_layers - 1, err));
	TRY(arch_key_bool(r, K_WIDE_BORROWERS, &wide, err));
	for (int i = h->n_layers - h->shared_kv; i < h->n_layers; i++) {
		from = arch_kv_layer(h, i);
		if (from < 0 || h->kv_heads[from] != h->kv_heads[i])
			return arch_key_refuse(
				r, K_SHARED_KV, INFER_EFORMAT, err,
				"%d, but no layer has K and V that layer %d could read",
				h->shared_kv, i);
		h->ff[i] *= 1 + wide;
		h->n_ff = h->ff[i] > h->n_ff ? h->ff[i] : h->n_ff;
	}
	return INFER_OK;
}

int arch_read_layer_embd(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(arch_key_i32(r, K_LAYER_EMBD, &h->layer_embd, 0, 1 << 16, err));
	return (int64_t)h->layer_embd * h->n_layers > 1 << 24
	               ? arch_key_refuse(r, K_LAYER_EMBD, INFER_EFORMAT, err, "%d for %d layers",
	                                 h->layer_embd, h->n_layers)
	               : INFER_OK;
}

int arch_read_altup(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t active = 0, scale = 1;

	h->altup_streams = 4;
	TRY(arch_key_i32(r, K_STREAMS, &h->altup_streams, 2, 16, err));
	TRY(arch_key_i32(r, K_STREAM_ACTIVE, &active, 0, 0, err));
	return arch_key_i32(r, K_STREAM_SCALE, &scale, 1, 1, err);
}

/* Read k_head and v_head. In older files they are K_LENGTH and V_LENGTH. */
static int read_mla_heads(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int absorbed = arch_key_look(r, K_K_MLA).kind != KEY_ABSENT;

	h->k_head = h->dk;
	h->v_head = h->dv;
	TRY(arch_key_i32(r, K_K_MLA, &h->k_head, 1, 1 << 12, err));
	TRY(arch_key_i32(r, K_V_MLA, &h->v_head, 1, 1 << 12, err));
	if (h->n_rot >= h->k_head)
		return arch_key_refuse(r, K_ROPE_DIM, INFER_EFORMAT, err, "%d in heads of %d",
		                       h->n_rot, h->k_head);
	if (absorbed && (h->dk != h->kv_rank + h->n_rot || h->dv != h->kv_rank))
		return arch_key_refuse(
			r, K_K_LENGTH, INFER_EFORMAT, err,
			"%d and %d do not fit a compressed KV of %d with %d rotated columns", h->dk,
			h->dv, h->kv_rank, h->n_rot);
	if (h->n_head_kv != (absorbed ? 1 : h->n_head))
		return arch_key_refuse(r, K_HEADS_KV, INFER_EFORMAT, err,
		                       "%d does not fit MLA with %d heads", h->n_head_kv,
		                       h->n_head);
	return INFER_OK;
}

/* Compute the attention scale. It includes YaRN's factor squared, for all columns of a head, so cos
 * and sin do not. YARN_LOG is mscale_all_dim / 10. */
static int read_mla_scale(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct arch_rope *p = &h->rope[0];
	double all = 0, own = 0, grow;

	TRY(arch_key_double(r, K_YARN_LOG, &all, 0, 1e3, err));
	own = 10 * all;
	TRY(arch_key_double(r, K_YARN_MSCALE, &own, all != 0 ? own - 1e-4 : 0,
	                    all != 0 ? own + 1e-4 : 1e4, err));
	if (all != 0 && (p->scaling != SCALING_YARN || p->yarn_attn_factor > 0))
		return arch_key_refuse(r, K_YARN_LOG, INFER_EUNSUP, err,
		                       "%g needs YaRN without an attention factor of its own", all);
	grow = p->factor > 1 ? all * fm_log(p->factor) + 1 : 1;
	if (all != 0 && p->factor > 1)
		p->attn_factor /= 0.1 * fm_log(p->factor) + 1;
	if (h->attn_scale == 0)
		h->attn_scale = (float)(grow * grow / sqrt((double)h->k_head));
	return INFER_OK;
}

int arch_read_mla(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(arch_key_i32(r, K_KV_LORA, &h->kv_rank, 1, (1 << 12) - h->n_rot, err));
	if (!h->kv_rank)
		return arch_key_refuse(r, K_KV_LORA, INFER_EFORMAT, err, "missing");
	TRY(arch_key_i32(r, K_Q_LORA, &h->q_rank, 0, 1 << 16, err));
	TRY(read_mla_heads(h, r, err));
	h->mla_norm_eps = 1e-6f; /* as in transformers; the config is ignored */
	h->dk = h->kv_rank + h->n_rot;
	h->dv = h->kv_rank;
	h->n_head_kv = 1;
	if ((int64_t)h->n_head * h->dk > 1 << 20)
		return arch_key_refuse(r, K_KV_LORA, INFER_EFORMAT, err, "%d for %d heads",
		                       h->kv_rank, h->n_head);
	return read_mla_scale(h, r, err);
}

/* Recurrent layers: those with 0 KV heads, or those that config.json lists. */
int arch_read_unattending(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	arch_key_look(r, K_WINDOW_PATTERN); /* config.json has both in layer_types */
	for (int i = 0; i < h->n_layers; i++)
		h->recurrent[i] = !h->kv_heads[i];
	return arch_key_flags(r, K_RECURRENT, h, h->recurrent, err);
}

int arch_read_short_conv(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	if (!arch_key_look(r, K_SHORT_CONV).kind)
		return arch_key_refuse(r, K_SHORT_CONV, INFER_EFORMAT, err, "missing");
	arch_key_look(r, K_FF_ADJUST); /* read with K_FF */
	TRY(arch_key_i32(r, K_SHORT_CONV, &h->conv_taps, 2, 64, err));
	h->state = (int32_t)(((int64_t)(h->conv_taps - 1) * h->n_embd + 15) / 16 * 16);
	return arch_read_unattending(h, r, err);
}
