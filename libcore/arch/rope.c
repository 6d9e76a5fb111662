/* arch/rope.c - RoPE frequencies, in double, computed when a model is opened. Su+ 2021,
 * arXiv:2104.09864; linear: Chen+ 2023, arXiv:2306.15595; YaRN: Peng+ 2023, arXiv:2309.00071, eq.
 * 17-24; longrope: Ding+ 2024, arXiv:2402.13753. Llama 3 stores its divisors in the file. */
#include "arch/arch.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>

/* Return the index of the pair that makes beta turns within the original context: YaRN, eq. 19. */
static double pair_of_turns(const struct arch_rope *p, int n_rot, double beta)
{
	return n_rot * fm_log((double)p->orig_ctx / (beta * 6.283185307179586)) /
	       (2 * fm_log(p->base));
}

static void scale_yarn(const struct arch_rope *p, struct backend_rope *r, double *freq)
{
	int n_rot = 2 * r->half;
	double lo = pair_of_turns(p, n_rot, p->beta_fast),
	       hi = pair_of_turns(p, n_rot, p->beta_slow);

	lo = fmax(0, p->exact ? lo : floor(lo));
	hi = fmin(n_rot - 1, p->exact ? hi : ceil(hi));

	for (int i = 0; i < r->half; i++) {
		double t = (i - lo) / fmax(0.001, hi - lo);
		double keep = (1 - fmin(1, fmax(0, t))) * p->ext_factor; /* 1: unchanged */
		freq[i] = freq[i] / p->factor * (1 - keep) + freq[i] * keep;
	}
	if (p->yarn_attn_factor > 0)
		r->mscale *= p->yarn_attn_factor;
	else if (p->factor > 1)
		r->mscale *= 0.1 * fm_log(p->factor) + 1;
}

/* Read divisors from a tensor; all must be positive and finite. */
static int divide_frequencies(const infer_model *m, int slot, int half, double *freq,
                              infer_error *err)
{
	int32_t w = m->global[slot];

	if (w < 0)
		return INFER_OK;
	for (int i = 0; i < half; i++) {
		float f = ((const float *)m->weights[w].at[0])[i];
		if (!(f > 0) || !isfinite(f))
			return err_set(err, INFER_EFORMAT, "tensor %.*s: divisor %d is %g",
			               (int)m->tensors[w]->name.len, m->tensors[w]->name.at, i,
			               (double)f);
		freq[i] /= (double)f;
	}
	return INFER_OK;
}

static int scale_longrope(const infer_model *m, const struct arch_rope *p, int32_t ctx,
                          struct backend_rope *r, double *freq, infer_error *err)
{
	int slot = ctx > p->orig_ctx ? W_ROPE_LONG : W_ROPE_SHORT;
	double ratio = (double)m->h.ctx_train / (double)p->orig_ctx;

	if (m->global[slot] < 0)
		return err_set(
			err, INFER_EFORMAT,
			"tensor rope_factors_%s.weight: missing, with rope.scaling.type longrope",
			slot == W_ROPE_LONG ? "long" : "short");
	if (!p->has_attn_factor && ratio > 1 && p->orig_ctx > 1)
		r->mscale = sqrt(1 + fm_log(ratio) / fm_log((double)p->orig_ctx));
	return divide_frequencies(m, slot, r->half, freq, err);
}

static int make_rope_table(infer_model *m, const struct arch_rope *p, int32_t ctx,
                           struct backend_rope *r, infer_error *err)
{
	int half = (p == m->h.rope ? m->h.n_rot : m->h.swa_heads.n_rot) / 2;
	double *freq = arena_alloc(&m->arena, (size_t)half, sizeof *freq);

	if (!freq)
		return err_set(err, INFER_ENOMEM, "out of memory for %d frequencies", half);
	*r = (struct backend_rope){ .freq = freq, .half = half, .mscale = p->attn_factor };
	for (int i = 0; i < half; i++)
		freq[i] = fm_pow(p->base, -(double)i / half);
	switch (p->scaling) {
	case SCALING_LINEAR:
		for (int i = 0; i < half; i++)
			freq[i] /= p->factor;
		break;
	case SCALING_YARN:
		if (p->base <= 1)
			return err_set(err, INFER_EFORMAT,
			               "key %s.rope.freq_base: %g, with YaRN scaling",
			               m->arch->gguf, p->base);
		scale_yarn(p, r, freq);
		break;
	case SCALING_LONGROPE:
		return scale_longrope(m, p, ctx, r, freq, err);
	}
	if (p->has_divisors && m->global[W_ROPE_FREQS] < 0)
		return err_set(err, INFER_EFORMAT,
		               "tensor %s: missing, with rope_type llama3 or proportional",
		               arch_row(m->arch, W_ROPE_FREQS)->gguf);
	return p == m->h.rope ? divide_frequencies(m, W_ROPE_FREQS, half, freq, err) : INFER_OK;
}

int arch_rope_init(infer_model *m, int32_t ctx, infer_error *err)
{
	m->ctx = ctx ? ctx : m->h.ctx_train;
	for (m->n_ropes = 0; m->n_ropes < m->h.n_ropes; m->n_ropes++)
		TRY(make_rope_table(m, &m->h.rope[m->n_ropes], m->ctx, &m->ropes[m->n_ropes], err));
	return INFER_OK;
}
