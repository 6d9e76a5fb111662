/* hf/rope.c - RoPE frequency divisors, which GGUF files store as tensors: llama3 and proportional
 * scaling in rope_freqs, longrope in rope_factors_long and rope_factors_short. */
#include "base/err.h"
#include "base/fmath.h"
#include "hf/keys.h"

#include <math.h>

/* Return the RoPE parameters of the full-attention layers. */
static const struct json *rope_of(const struct hf_dir *d)
{
	const struct json *r = json_get(d->text_config, "rope_parameters");

	if (!json_is_object(r))
		r = json_get(d->text_config, "rope_scaling");
	return json_is_object(json_get(r, "full_attention")) ? json_get(r, "full_attention") : r;
}

static int is_type(const struct json *rope, const char *type)
{
	return json_equals(json_get(rope, "rope_type"), type) ||
	       (!json_get(rope, "rope_type") && json_equals(json_get(rope, "type"), type));
}

/* Read a positive number from the RoPE parameters, or else from config.json. */
static int read_positive(const struct hf_dir *d, const char *name, double *v, infer_error *err)
{
	const struct json *o = json_get(rope_of(d), name);

	o = o ? o : json_get(d->text_config, name);
	*v = json_double(o);
	return json_is_number(o) && *v > 0 ? INFER_OK
	                                   : hf_fail(d, "config.json", INFER_EFORMAT, err,
	                                             "key %s: must be a number above 0", name);
}

/* Write the divisors of Llama 3 scaling: 1 for short wavelengths, `factor` for long ones,
 * interpolated between.  Computed in float32, as the converter does. */
static int put_llama3_divisors(const struct hf_dir *d, float *out, int64_t n, infer_error *err)
{
	double factor, low, high, context;
	const float base = (float)d->hparam->rope[0].base;

	TRY(read_positive(d, "factor", &factor, err));
	TRY(read_positive(d, "low_freq_factor", &low, err));
	TRY(read_positive(d, "high_freq_factor", &high, err));
	TRY(read_positive(d, "original_max_position_embeddings", &context, err));
	for (int64_t i = 0; i < n; i++) {
		const float power = (float)(2 * i) / (float)(2 * n);
		const float freq = 1 / (float)fm_pow((double)base, (double)power);
		const float wave = (float)6.283185307179586 / freq;
		const float part = ((float)context / wave - (float)low) / (float)(high - low);
		if ((double)wave < context / high)
			out[i] = 1;
		else if ((double)wave > context / low)
			out[i] = (float)factor;
		else
			out[i] = 1 / ((1 - part) / (float)factor + part);
	}
	return INFER_OK;
}

/* Write the divisors of proportional scaling (Gemma 4): only a part of the frequencies rotates; the
 * other divisors are 1e30. */
static int put_proportional_divisors(const struct hf_dir *d, float *out, int64_t n,
                                     infer_error *err)
{
	double part;

	TRY(read_positive(d, "partial_rotary_factor", &part, err));
	for (int64_t i = 0; i < n; i++)
		out[i] = i < (int64_t)((double)(2 * n) * part / 2) ? 1 : 1e30f;
	return INFER_OK;
}

static int put_longrope_divisors(const struct hf_dir *d, const char *name, float *out, int64_t n,
                                 infer_error *err)
{
	const struct json *list = json_get(rope_of(d), name);
	int64_t i = 0;

	if (!json_is_array(list) || json_count(list) != (size_t)n)
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "key %s: must be a list of %lld numbers", name, (long long)n);
	json_each(v, list) {
		if (!json_is_number(v) || !(json_double(v) > 0 && json_double(v) <= 1e12))
			return hf_fail(d, "config.json", INFER_EFORMAT, err,
			               "key %s: number %lld must be above 0, and at most 1e12",
			               name, (long long)i);
		out[i++] = (float)json_double(v);
	}
	return INFER_OK;
}

static int add_rope_tensor(struct hf_dir *d, int slot, const char *name, infer_error *err)
{
	int64_t n = d->hparam->n_rot / 2;
	float *out;

	if (!arch_row(d->arch, slot))
		return hf_fail(d, "config.json", INFER_EUNSUP, err,
		               "key rope_type: not supported with architecture %s", d->arch->gguf);
	out = arena_alloc(&d->arena, (size_t)n, sizeof *out);
	if (!out)
		return err_set(err, INFER_ENOMEM, "%s: no memory for its frequencies", d->path);
	d->made[d->n_made++] = (struct hf_made){ name, out, n };
	if (slot == W_ROPE_LONG)
		return put_longrope_divisors(d, "long_factor", out, n, err);
	if (slot == W_ROPE_SHORT)
		return put_longrope_divisors(d, "short_factor", out, n, err);
	return is_type(rope_of(d), "llama3") ? put_llama3_divisors(d, out, n, err)
	                                     : put_proportional_divisors(d, out, n, err);
}

int hf_make_rope(struct hf_dir *d, infer_error *err)
{
	const struct json *rope = rope_of(d);

	if (is_type(rope, "llama3") || is_type(rope, "proportional"))
		return add_rope_tensor(d, W_ROPE_FREQS, "rope_freqs.weight", err);
	if (!is_type(rope, "longrope") && !is_type(rope, "su"))
		return INFER_OK;
	TRY(add_rope_tensor(d, W_ROPE_LONG, "rope_factors_long.weight", err));
	return add_rope_tensor(d, W_ROPE_SHORT, "rope_factors_short.weight", err);
}
