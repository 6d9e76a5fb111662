/* arch/read_states.c - readers of keys about recurrent layers and their states. */
#include "arch/arch.h"
#include "base/err.h"

/* Read which layers are recurrent: a flag a layer, or all but every period-th. */
static int read_recurrent(struct arch_reader *r, struct arch_hparam *h, infer_error *err)
{
	int32_t period = 4;

	arch_key_look(r, K_WINDOW_PATTERN); /* config.json has both in layer_types */
	TRY(arch_key_i32(r, K_FULL_INTERVAL, &period, 1, ARCH_MAX_LAYERS, err));
	for (int i = 0; i < h->n_layers; i++)
		h->recurrent[i] = i % period != period - 1;
	return arch_key_flags(r, K_RECURRENT, h, h->recurrent, err);
}

static int read_state(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	static const enum arch_key needed[] = { K_STATE_CONV, K_STATE_DK, K_STATE_O,
		                                K_STATE_K_HEADS, K_STATE_HEADS };
	int32_t out = 0;
	int64_t floats;

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		TRY(arch_key_must(r, needed[i], err));
	TRY(arch_key_i32(r, K_STATE_CONV, &h->conv_taps, 1, 64, err));
	TRY(arch_key_i32(r, K_STATE_DK, &h->state_dk, 1, 1 << 12, err));
	TRY(arch_key_i32(r, K_STATE_HEADS, &h->state_heads, 1, 1 << 12, err));
	TRY(arch_key_i32(r, K_STATE_K_HEADS, &h->state_k_heads, 1, h->state_heads, err));
	TRY(arch_key_i32(r, K_STATE_O, &out, 1, 1 << 20, err));
	if (h->state_heads % h->state_k_heads)
		return arch_key_refuse(r, K_STATE_K_HEADS, INFER_EFORMAT, err,
		                       "%d does not divide the %d heads", h->state_k_heads,
		                       h->state_heads);
	if (out % h->state_heads)
		return arch_key_refuse(r, K_STATE_O, INFER_EFORMAT, err,
		                       "%d is not a multiple of the %d heads", out, h->state_heads);
	h->state_dv = out / h->state_heads;
	const struct arch_tensor *gate = arch_row(arch_key_of(r), W_STATE_GATE);
	h->state_tiled = gate && gate->how == T_TILED;
	floats = (int64_t)(h->conv_taps - 1) * (2 * (int64_t)h->state_k_heads * h->state_dk + out);
	floats = (floats + 15) / 16 * 16 +
	         (int64_t)h->state_heads * ((h->state_dv + 15) / 16 * 16) * h->state_dk;
	if (floats > 1 << 28)
		return arch_key_refuse(r, K_STATE_DK, INFER_EFORMAT, err,
		                       "a state of %lld floats a layer is too large",
		                       (long long)floats);
	h->state = (int32_t)floats;
	return INFER_OK;
}

int arch_read_states(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(read_state(h, r, err));
	return read_recurrent(r, h, err);
}

int arch_read_ssd(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	arch_key_look(r, K_STEP_LIMIT); /* keys_hf_lists.c checks that there is none */
	TRY(read_state(h, r, err));
	return arch_read_unattending(h, r, err);
}
