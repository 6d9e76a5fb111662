/* arch/hparam.c - read hyper-parameters from keys. Each value has a range. A key that might change
 * the computation in an unknown way is refused by name. */
#include "arch/arch.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct key_found arch_key_look(struct arch_reader *r, enum arch_key key)
{
	r->read[key] = 1;
	return r->keys.kind->arr(&r->keys, key);
}

int arch_key_refuse(const struct arch_reader *r, enum arch_key key, int code, infer_error *err,
                    const char *fmt, ...)
{
	char name[KEY_NAME], why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	r->keys.kind->name(&r->keys, key, name);
	return err_set(err, code, "key %s: %s", name, why);
}

static int read_integer(const struct arch_reader *r, enum arch_key key, uint64_t i, int64_t *v,
                        infer_error *err)
{
	return r->keys.kind->whole(&r->keys, key, i, v, err);
}

int arch_key_i32(struct arch_reader *r, enum arch_key key, int32_t *v, int64_t lo, int64_t hi,
                 infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	int64_t x, one;

	if (!f.kind)
		return INFER_OK;
	if (!f.n)
		return arch_key_refuse(r, key, INFER_EFORMAT, err, "an empty array");
	TRY(read_integer(r, key, 0, &x, err));
	for (uint64_t i = 1; i < f.n; i++) {
		TRY(read_integer(r, key, i, &one, err));
		if (one != x)
			return arch_key_refuse(r, key, INFER_EUNSUP, err,
			                       "differs from layer to layer (%lld, %lld)",
			                       (long long)x, (long long)one);
	}
	if (x < lo || x > hi)
		return arch_key_refuse(r, key, INFER_EFORMAT, err, "%lld is not in %lld ... %lld",
		                       (long long)x, (long long)lo, (long long)hi);
	*v = (int32_t)x;
	return INFER_OK;
}

/* Read a value for each layer, or one for all. *most: in, the default; out, the largest value. */
static int read_layers(struct arch_reader *r, enum arch_key key, const struct arch_hparam *h,
                       int32_t *to, int32_t *most, int64_t lo, int64_t hi, infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	int64_t one = *most;

	if (f.kind && f.list && f.n != (uint64_t)h->n_layers)
		return arch_key_refuse(r, key, INFER_EFORMAT, err, "%llu values for %d layers",
		                       (unsigned long long)f.n, h->n_layers);
	*most = f.kind ? 0 : *most;
	for (int i = 0; i < h->n_layers; i++) {
		if (f.kind)
			TRY(read_integer(r, key, f.list ? (uint64_t)i : 0, &one, err));
		if (f.kind && (one < lo || one > hi))
			return arch_key_refuse(r, key, INFER_EFORMAT, err,
			                       "%lld is not in %lld ... %lld", (long long)one,
			                       (long long)lo, (long long)hi);
		to[i] = (int32_t)one;
		*most = to[i] > *most ? to[i] : *most;
	}
	return INFER_OK;
}

int arch_key_double(struct arch_reader *r, enum arch_key key, double *v, double lo, double hi,
                    infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	double x = 0;

	if (!f.kind)
		return INFER_OK;
	TRY(r->keys.kind->real(&r->keys, key, KEY_SCALAR, &x, err));
	if (!(x >= lo && x <= hi)) /* also refuses NaN */
		return arch_key_refuse(r, key, INFER_EFORMAT, err, "%g is not in %g ... %g", x, lo,
		                       hi);
	*v = x;
	return INFER_OK;
}

int arch_key_float(struct arch_reader *r, enum arch_key key, float *v, double lo, double hi,
                   infer_error *err)
{
	double x = (double)*v;

	TRY(arch_key_double(r, key, &x, lo, hi, err));
	*v = (float)x;
	return INFER_OK;
}

int arch_key_bool(struct arch_reader *r, enum arch_key key, int *v, infer_error *err)
{
	return arch_key_look(r, key).kind ? r->keys.kind->flag(&r->keys, key, v, err) : INFER_OK;
}

int arch_key_pick(struct arch_reader *r, enum arch_key key, const char *const *names, int *v,
                  infer_error *err)
{
	struct infer_str s;

	if (!arch_key_look(r, key).kind)
		return INFER_OK;
	TRY(r->keys.kind->str(&r->keys, key, &s, err));
	for (int i = 0; names[i]; i++)
		if (strlen(names[i]) == s.len && !memcmp(names[i], s.at, s.len)) {
			*v = i;
			return INFER_OK;
		}
	return arch_key_refuse(r, key, INFER_EUNSUP, err, "%.*s is not supported",
	                       (int)(s.len < 64 ? s.len : 64), s.at);
}

int arch_key_none(struct arch_reader *r, enum arch_key key, infer_error *err)
{
	return arch_key_look(r, key).kind
	               ? arch_key_refuse(r, key, INFER_EUNSUP, err,
	                                 "not supported with architecture %s", r->keys.arch->gguf)
	               : INFER_OK;
}

int arch_read_next(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(arch_key_i32(r, K_NEXTN, &h->n_next, 0, 64, err));
	if (!r->keys.kind->counts_next)
		return INFER_OK;
	if (h->n_next >= h->n_layers)
		return arch_key_refuse(r, K_NEXTN, INFER_EFORMAT, err, "%d of %d layers", h->n_next,
		                       h->n_layers);
	h->n_layers -= h->n_next;
	return INFER_OK;
}

int arch_key_flags(struct arch_reader *r, enum arch_key key, const struct arch_hparam *h,
                   uint8_t *flags, infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	int64_t one;

	if (!f.kind)
		return INFER_OK;
	if (!f.list || (f.n != (uint64_t)h->n_layers && f.n != (uint64_t)(h->n_layers + h->n_next)))
		return arch_key_refuse(r, key, INFER_EFORMAT, err, "%llu values for %d layers",
		                       (unsigned long long)f.n, h->n_layers);
	for (int i = 0; i < h->n_layers; i++) {
		TRY(read_integer(r, key, (uint64_t)i, &one, err));
		if (one != 0 && one != 1)
			return arch_key_refuse(r, key, INFER_EFORMAT, err,
			                       "%lld is not a flag (0 or 1)", (long long)one);
		flags[i] = (uint8_t)one;
	}
	return INFER_OK;
}

/* Read gauss_topk; -inf: the layer has no Gaussian top-k. */
int arch_read_gauss_topk(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct key_found f = arch_key_look(r, K_CUTS);
	double x;

	if (f.kind && (!f.list || f.n != (uint64_t)h->n_layers))
		return arch_key_refuse(r, K_CUTS, INFER_EFORMAT, err, "%llu values for %d layers",
		                       (unsigned long long)f.n, h->n_layers);
	for (int i = 0; f.kind && i < h->n_layers; i++) {
		TRY(r->keys.kind->real(&r->keys, K_CUTS, (uint64_t)i, &x, err));
		if (!(x <= 1e3) || (x < -1e3 && !isinf(x)))
			return arch_key_refuse(r, K_CUTS, INFER_EFORMAT, err,
			                       "%g is not in -1000 ... 1000", x);
		h->has_gauss_topk[i] = !isinf(x);
		h->gauss_topk[i] = h->has_gauss_topk[i] ? (float)x : 0;
	}
	return INFER_OK;
}

int arch_key_slides(struct arch_reader *r, struct arch_hparam *h, int32_t period,
                    enum arch_full full, infer_error *err)
{
	struct key_found f = arch_key_look(r, K_WINDOW_PATTERN);

	TRY(arch_key_i32(r, K_WINDOW, &h->window, 0, 1 << 30, err));
	if (f.list && f.n != (uint64_t)h->n_layers)
		return arch_key_refuse(r, K_WINDOW_PATTERN, INFER_EFORMAT, err,
		                       "%llu values for %d layers", (unsigned long long)f.n,
		                       h->n_layers);
	if (!f.list)
		TRY(arch_key_i32(r, K_WINDOW_PATTERN, &period, 0, ARCH_MAX_LAYERS, err));
	for (int i = 0; i < h->n_layers; i++) {
		int64_t slides = !period || i % period != (full ? 0 : period - 1);
		if (f.list)
			TRY(read_integer(r, K_WINDOW_PATTERN, (uint64_t)i, &slides, err));
		h->windowed[i] = h->window && slides;
	}
	return INFER_OK;
}

const struct arch *arch_key_of(const struct arch_reader *r) { return r->keys.arch; }

int arch_key_must(struct arch_reader *r, enum arch_key key, infer_error *err)
{

	return arch_key_look(r, key).kind ? INFER_OK
	                                  : arch_key_refuse(r, key, INFER_EFORMAT, err, "missing");
}

/* Read experts_step, or a list of the layers with experts. */
int arch_read_experts_step(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct key_found f = arch_key_look(r, K_MOE_LAYERS);
	int64_t layer;

	h->experts_step = 1;
	TRY(arch_key_i32(r, K_MOE_STEP, &h->experts_step, 1, ARCH_MAX_LAYERS, err));
	if (f.kind && (!f.list || f.n != (uint64_t)(h->n_layers / h->experts_step)))
		return arch_key_refuse(r, K_MOE_LAYERS, INFER_EUNSUP, err,
		                       "%llu of %d layers, but every layer of %d must be listed",
		                       (unsigned long long)f.n, h->n_layers, h->experts_step);
	for (uint64_t i = 0; f.kind && i < f.n; i++) {
		TRY(read_integer(r, K_MOE_LAYERS, i, &layer, err));
		if (layer + 1 != (int64_t)(i + 1) * h->experts_step)
			return arch_key_refuse(r, K_MOE_LAYERS, INFER_EUNSUP, err,
			                       "has %lld, but must list the last of each %d layers",
			                       (long long)layer, h->experts_step);
	}
	return INFER_OK;
}

int arch_key_encoder(struct arch_reader *r, struct arch_hparam *h, int centred, infer_error *err)
{
	static const enum arch_key keys[] = { K_CAUSAL, K_DECODER };

	for (int i = 0; i < 2; i++) {
		int causal = 0;
		TRY(arch_key_bool(r, keys[i], &causal, err));
		if (causal)
			return arch_key_refuse(r, keys[i], INFER_EUNSUP, err,
			                       "an encoder must not be causal");
	}
	h->bidirectional = 1;
	h->centred = centred;
	if (!centred)
		return INFER_OK;
	h->eps = 0;
	return arch_key_float(r, K_LAYER_EPS, &h->eps, 1e-30, 1, err);
}

static int is_too_wide(const struct arch_hparam *h, int32_t dk, int32_t dv)
{
	return (int64_t)h->n_head * (dk > dv ? dk : dv) > 1 << 20;
}

/* Read the KV heads. A list may have 0 for recurrent layers; derive_params checks that. */
static int read_kv_heads(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	h->n_head_kv = h->n_head;
	TRY(read_layers(r, K_HEADS_KV, h, h->kv_heads, &h->n_head_kv,
	                arch_key_look(r, K_HEADS_KV).list ? 0 : 1, h->n_head, err));
	for (int i = 0; i < h->n_layers; i++)
		if (h->kv_heads[i] && h->n_head % h->kv_heads[i])
			return arch_key_refuse(r, K_HEADS_KV, INFER_EFORMAT, err,
			                       "%d does not divide the %d heads", h->kv_heads[i],
			                       h->n_head);
	return h->n_head_kv
	               ? INFER_OK
	               : arch_key_refuse(r, K_HEADS_KV, INFER_EFORMAT, err, "0 in every layer");
}

static int read_sizes(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	static const enum arch_key needed[] = { K_BLOCK_COUNT, K_CONTEXT, K_EMBD, K_HEADS };

	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
		TRY(arch_key_must(r, needed[i], err));
	if (!arch_key_look(r, K_EXPERT_FF).kind)
		TRY(arch_key_must(r, K_FF, err));
	TRY(arch_key_i32(r, K_BLOCK_COUNT, &h->n_layers, 1, ARCH_MAX_LAYERS, err));
	TRY(arch_key_i32(r, K_CONTEXT, &h->ctx_train, 1, 1 << 30, err));
	TRY(arch_key_i32(r, K_EMBD, &h->n_embd, 1, 1 << 20, err));
	TRY(read_layers(r, K_FF, h, h->ff, &h->n_ff, 1, 1 << 24, err));
	TRY(arch_key_i32(r, K_HEADS, &h->n_head, 1, 1 << 12, err));
	TRY(read_kv_heads(h, r, err));
	h->dk = h->dv = h->n_embd / h->n_head;
	TRY(arch_key_i32(r, K_K_LENGTH, &h->dk, 1, 1 << 12, err));
	TRY(arch_key_i32(r, K_V_LENGTH, &h->dv, 1, 1 << 12, err));
	if (h->n_embd % h->n_head && !arch_key_look(r, K_K_LENGTH).kind)
		return arch_key_refuse(r, K_HEADS, INFER_EFORMAT, err,
		                       "%d does not divide the embedding of %d", h->n_head,
		                       h->n_embd);
	if (is_too_wide(h, h->dk, h->dv))
		return arch_key_refuse(r, K_K_LENGTH, INFER_EFORMAT, err, "%d heads of %d and %d",
		                       h->n_head, h->dk, h->dv);
	TRY(arch_key_float(r, K_RMS_EPS, &h->eps, 1e-30, 1, err));
	return arch_key_float(r, K_ATTN_SCALE, &h->attn_scale, 0, 1e6, err);
}

static int read_experts(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	int32_t gating = 1;

	TRY(arch_key_i32(r, K_EXPERTS, &h->n_expert, 0, ARCH_MAX_EXPERTS, err));
	h->n_expert_ff = h->n_ff;
	TRY(arch_key_i32(r, K_EXPERTS_USED, &h->n_expert_used, h->n_expert ? 1 : 0, h->n_expert,
	                 err));
	TRY(arch_key_i32(r, K_EXPERT_FF, &h->n_expert_ff, h->n_expert ? 1 : 0, 1 << 24, err));
	TRY(arch_key_i32(r, K_EXPERT_GATING, &gating, 0, 255, err));
	if (h->n_expert && !h->n_expert_used)
		return arch_key_refuse(r, K_EXPERTS_USED, INFER_EFORMAT, err,
		                       "missing, with %d experts", h->n_expert);
	if (gating > 2)
		return arch_key_refuse(r, K_EXPERT_GATING, INFER_EUNSUP, err, "%d is not supported",
		                       gating);
	h->expert_gating = gating == 2 ? GATING_SIGMOID : GATING_SOFTMAX;
	h->expert_norm = 1;
	TRY(arch_key_bool(r, K_EXPERT_NORM, &h->expert_norm, err));
	TRY(arch_key_float(r, K_EXPERT_SCALE, &h->expert_scale, 0, 1e6, err));
	if (!h->n_expert && h->expert_scale != 0 && h->expert_scale != 1)
		return arch_key_refuse(r, K_EXPERT_SCALE, INFER_EUNSUP, err,
		                       "%g has no effect without experts", (double)h->expert_scale);
	return INFER_OK;
}

static const char *const scalings[] = { "none", "linear", "yarn", "longrope", NULL };

static int read_scaling_type(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{
	p->scaling = SCALING_LINEAR;
	return arch_key_pick(r, K_ROPE_TYPE, scalings, &p->scaling, err);
}

/* Read rope.scaling.factor or, if it is absent, the older ROPE_LINEAR. Old converters write 0 for
 * 1. */
static int read_factor(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{
	double old = 1;

	p->factor = 1;
	TRY(arch_key_double(r, K_ROPE_LINEAR, &old, 1e-3, 1e6, err));
	TRY(arch_key_double(r, K_ROPE_FACTOR, &p->factor, 0, 1e6, err));
	if (p->factor == 0)
		p->factor = 1;
	if (!arch_key_look(r, K_ROPE_FACTOR).kind)
		p->factor = old;
	if (old != 1 && old != p->factor)
		return arch_key_refuse(r, K_ROPE_LINEAR, INFER_EUNSUP, err,
		                       "%g differs from rope.scaling.factor, %g", old, p->factor);
	return INFER_OK;
}

/* Refuse a key that this kind of scaling does not use, unless its value is neutral. */
static int check_scaling(const struct arch_rope *p, const struct arch_reader *r, infer_error *err)
{
	int yarn = p->scaling == SCALING_YARN;
	const struct {
		enum arch_key key;
		int read;
		double v, ok;
	} keys[] = {
		{ K_ROPE_FACTOR, yarn || p->scaling == SCALING_LINEAR, p->factor, 1 },
		{ K_YARN_EXT, yarn, p->ext_factor, 1 },
		{ K_YARN_ATTN, yarn, p->yarn_attn_factor, 0 },
		{ K_YARN_FAST, yarn, p->beta_fast, 32 },
		{ K_YARN_SLOW, yarn, p->beta_slow, 1 },
	};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!keys[i].read && keys[i].v != keys[i].ok)
			return arch_key_refuse(r, keys[i].key, INFER_EUNSUP, err,
			                       "%g has no effect with scaling %s", keys[i].v,
			                       scalings[p->scaling]);
	return INFER_OK;
}

/* Read the scaling of one RoPE table. yarn_attn_factor replaces the factor that YaRN computes;
 * attn_factor multiplies that of any scaling. */
static int read_scaling(struct arch_rope *p, struct arch_reader *r, infer_error *err)
{

	TRY(read_scaling_type(p, r, err));
	TRY(read_factor(p, r, err));
	p->ext_factor = p->attn_factor = 1;
	p->beta_fast = 32;
	p->beta_slow = 1;
	TRY(arch_key_double(r, K_YARN_EXT, &p->ext_factor, 0, 1, err));
	TRY(arch_key_double(r, K_YARN_FAST, &p->beta_fast, 1e-3, 1e6, err));
	TRY(arch_key_double(r, K_YARN_SLOW, &p->beta_slow, 1e-3, 1e6, err));
	TRY(arch_key_double(r, K_YARN_ATTN, &p->yarn_attn_factor, 1e-3, 1e3, err));
	if (p->scaling == SCALING_YARN) {
		int round = !p->exact;
		TRY(arch_key_bool(r, K_YARN_ROUND, &round, err));
		p->exact = !round;
	}
	p->has_divisors = arch_key_look(r, K_LOW_FACTOR).kind != KEY_ABSENT;
	p->has_attn_factor = arch_key_look(r, K_ROPE_ATTN).kind != KEY_ABSENT;
	TRY(arch_key_double(r, K_ROPE_ATTN, &p->attn_factor, 1e-3, 1e3, err));
	return check_scaling(p, r, err);
}

int arch_key_rotating(struct arch_reader *r, enum arch_key key, struct arch_hparam *h,
                      infer_error *err)
{
	TRY(arch_key_i32(r, key, &h->n_rot, 2, h->dk, err));
	return h->n_rot % 2 ? arch_key_refuse(r, key, INFER_EFORMAT, err, "%d is odd", h->n_rot)
	                    : INFER_OK;
}

static int read_rope(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	struct arch_rope *p = &h->rope[0];

	h->n_rot = h->dk;
	h->n_ropes = 1;
	TRY(arch_key_rotating(r, K_ROPE_DIM, h, err));
	p->base = 10000;
	p->orig_ctx = h->ctx_train;
	TRY(arch_key_double(r, K_ROPE_BASE, &p->base, 1, 1e12, err));
	TRY(read_scaling(p, r, err));
	int32_t orig = h->ctx_train;
	TRY(arch_key_i32(r, K_ROPE_CONTEXT, &orig, 1, 1 << 30, err));
	p->orig_ctx = orig;
	return INFER_OK;
}

/* Complete values that depend on others. */
static int derive_params(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	if (!h->swa_heads.dk)
		h->swa_heads = (struct arch_heads){ h->dk, h->dv, h->n_rot };
	for (int i = 0; i < ARCH_MAX_LAYERS; i++) {
		if (i < h->n_layers && !h->kv_heads[i] && !h->recurrent[i])
			return arch_key_refuse(r, K_HEADS_KV, INFER_EUNSUP, err,
			                       "0 in layer %d, which is not recurrent", i);
		if (i >= h->n_layers || h->recurrent[i])
			h->kv_heads[i] = 0;
		else if (h->kv_rank)
			h->kv_heads[i] = h->n_head_kv;
		h->ff[i] = i < h->n_layers ? h->ff[i] : 0;
	}
	h->n_expert_ff = h->n_expert ? h->n_expert_ff : 0;
	return INFER_OK;
}

int arch_hparam_read(struct arch_hparam *h, const struct arch_keys *keys, infer_error *err)
{
	const struct arch *a = keys->arch;
	struct arch_reader r = { .keys = *keys };

	memset(h, 0, sizeof *h);
	TRY(keys->kind->check(keys, err));
	TRY(read_sizes(h, &r, err));
	TRY(read_experts(h, &r, err));
	TRY(read_rope(h, &r, err));
	for (int i = 0; i < ARCH_MAX_READ && a->read[i]; i++)
		TRY(a->read[i](h, &r, err));
	if (h->eps == 0)
		return arch_key_refuse(&r, h->centred ? K_LAYER_EPS : K_RMS_EPS, INFER_EFORMAT, err,
		                       "missing");
	TRY(derive_params(h, &r, err));
	return arch_check_keys(h, &r, err);
}
