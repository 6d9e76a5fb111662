/* arch/keys_hf_lists.c - check lists and objects of config.json that have only one supported
 * form. */
#include "arch/arch.h"
#include "base/err.h"
#include "base/fmath.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct json *not_null(const struct json *v) { return json_is_null(v) ? NULL : v; }

static int64_t int_of(const struct json *v) { return json_is(v, JSON_INT) ? v->i : 0; }

/* Check per_layer_config: an object with head sizes for each full_attention layer, all of them
 * equal. */
static int check_by_layer(const struct arch_keys *k, infer_error *err)
{
	const struct json *all = not_null(json_get(k->config, "per_layer_config")),
			  *first = json_first(all);
	size_t n = 0, full = 0, i = 0;

	json_each(v, json_get(k->config, "layer_types")) {
		char name[24];
		const struct json *own;
		snprintf(name, sizeof name, "%zu", i++);
		own = json_get(all, name);
		full += json_equals(v, "full_attention");
		n += json_equals(v, "full_attention") && json_is_object(own) &&
		     int_of(json_get(own, "head_dim")) == int_of(json_get(first, "head_dim")) &&
		     int_of(json_get(own, "num_key_value_heads")) ==
		             int_of(json_get(first, "num_key_value_heads")) &&
		     json_count(own) == json_count(first);
	}
	if (json_count(first) != (size_t) !!json_get(first, "head_dim") +
	                                 (size_t) !!json_get(first, "num_key_value_heads"))
		return err_set(err, INFER_EUNSUP, "key per_layer_config: not only sizes of heads");
	return all && (n != full || json_count(all) != n)
	               ? err_set(err, INFER_EUNSUP,
	                         "key per_layer_config: not the same for each full_attention layer")
	               : INFER_OK;
}

/* Check that time_step_limit is 0 to infinity, which JSON cannot write as a number: no limit. */
static int check_limit(const struct arch_keys *k, infer_error *err)
{
	const struct json *v = not_null(json_get(k->config, "time_step_limit")),
			  *least = json_at(v, 0);

	return !v || (json_is_array(v) && json_count(v) == 2 && json_is_number(least) &&
	              json_double(least) == 0 && !json_is_number(json_at(v, 1)))
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP, "key time_step_limit: no limits are supported");
}

/* Check mlp_layer_types: first_k_dense_replace dense layers, then layers with experts. */
static int check_ffn_kinds(const struct arch_keys *k, infer_error *err)
{
	const struct json *dense = not_null(json_get(k->config, "first_k_dense_replace"));
	int64_t i = 0;

	json_each(v, json_get(k->config, "mlp_layer_types")) {
		if (!json_equals(v, i < int_of(dense) ? "dense" : "sparse"))
			return err_set(err, INFER_EUNSUP,
			               "key mlp_layer_types: layer %lld does not fit "
			               "first_k_dense_replace, %lld",
			               (long long)i, (long long)int_of(dense));
		i++;
	}
	return INFER_OK;
}

/* members that must equal another member */
static const struct {
	const char *name, *of;
} repeated[] = {
	{ "experts_per_token", "num_experts_per_tok" },
	{ "sliding_window_size", "sliding_window" },
	{ "block_dim", "hidden_size" },
	{ "conv_dim", "hidden_size" },
	{ "conv_dim_out", "hidden_size" },
	{ "num_heads", "num_attention_heads" },
	{ "block_norm_eps", "norm_eps" },
	{ "theta", "rope_theta" },
	{ "initial_context_length", "original_max_position_embeddings" },
};
static const char context[] = "original_max_position_embeddings";

static int check_repeated(const struct arch_keys *k, infer_error *err)
{
	const struct json *rope = json_get(k->config, "rope_parameters");

	if (!json_is_object(rope))
		rope = json_get(k->config, "rope_scaling");
	const struct json *top = not_null(json_get(k->config, context)),
			  *inner = not_null(json_get(rope, context));
	if (json_is_number(top) && json_is_number(inner) && json_double(top) != json_double(inner))
		return err_set(err, INFER_EUNSUP, "key %s: not the same in the RoPE parameters",
		               context);
	for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++) {
		const struct json *v = not_null(json_get(k->config, repeated[i].name));
		const struct json *of = not_null(json_get(k->config, repeated[i].of));
		of = of ? of : not_null(json_get(rope, repeated[i].of));
		if (v && (!json_is_number(v) || !json_is_number(of) ||
		          json_double(v) != json_double(of)))
			return err_set(err, INFER_EUNSUP, "key %s: not the same as %s",
			               repeated[i].name, repeated[i].of);
	}
	return INFER_OK;
}

/* Check full_attn_idxs against layer_types. */
static int check_indices(const struct arch_keys *k, infer_error *err)
{
	const struct json *types = json_get(k->config, "layer_types"), *all;
	size_t full = 0;

	all = not_null(json_get(k->config, "full_attn_idxs"));
	json_each(v, types)
		full += json_equals(v, "full_attention");
	json_each(v, all)
		if (!json_is(v, JSON_INT) || v->i < 0 ||
		    !json_equals(json_at(types, (size_t)v->i), "full_attention"))
			full = 0;
	return !all || (json_is_array(all) && full == json_count(all))
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "key full_attn_idxs: must be the full_attention layers of "
	                         "layer_types");
}

static int has_member_name(const struct json *v, const char *name)
{
	return v->key_n == strlen(name) && !memcmp(v->key, name, v->key_n);
}

/* True if a RoPE parameter of sliding layers has the supported value. */
static int is_plain_rope(const struct json *v)
{
	if (has_member_name(v, "rope_type") || has_member_name(v, "type"))
		return json_equals(v, "default");
	if (has_member_name(v, "partial_rotary_factor"))
		return json_is_number(v) && json_double(v) == 1;
	return json_is_null(v) || has_member_name(v, "rope_theta");
}

/* Check RoPE parameters by kind of layer: those of sliding layers may differ in the base only. */
static int check_kinds(const struct arch_keys *k, infer_error *err)
{
	const struct json *rope = not_null(json_get(k->config, "rope_parameters"));
	const struct json *full = json_get(rope, "full_attention"),
			  *slides = json_get(rope, "sliding_attention");

	if (!full && !slides)
		return INFER_OK;
	if (!json_is_object(full) || (not_null(slides) && !json_is_object(slides)))
		return err_set(err, INFER_EFORMAT,
		               "key rope_parameters: must have objects for kinds of layers");
	json_each(v, rope)
		if (v != full && v != slides)
			return err_set(
				err, INFER_EUNSUP,
				"key rope_parameters.%.*s: not supported for a kind of layer",
				(int)(v->key_n < 64 ? v->key_n : 64), v->key);
	json_each(v, slides)
		if (!is_plain_rope(v))
			return err_set(err, INFER_EUNSUP,
			               "key rope_parameters.sliding_attention.%.*s: only another "
			               "rope_theta is supported",
			               (int)(v->key_n < 64 ? v->key_n : 64), v->key);
	return INFER_OK;
}

enum member_type { A_FLAG, A_NUMBER, A_LIST, AN_OBJECT };
static const char *const member_types[] = { "true or false", "a number", "a list", "an object" };

/* required JSON kinds of members that are only read with others, or only compared */
static const struct {
	const char *name;
	enum member_type type;
} typed[] = {
	{ "attention_k_eq_v", A_FLAG },
	{ "enable_moe_block", A_FLAG },
	{ "block_auto_adjust_ff_dim", A_FLAG },
	{ "use_sliding_window", A_FLAG },
	{ "tie_word_embeddings", A_FLAG },
	{ "tie_embedding", A_FLAG },
	{ "partial_rotary_factor", A_NUMBER },
	{ "max_trained_positions", A_NUMBER },
	{ "block_ffn_dim_multiplier", A_NUMBER },
	{ "block_multiple_of", A_NUMBER },
	{ "layer_types", A_LIST },
	{ "mlp_layer_types", A_LIST },
	{ "mlp_only_layers", A_LIST },
	{ "moe_layers", A_LIST },
	{ "rope_parameters", AN_OBJECT },
	{ "rope_scaling", AN_OBJECT },
	{ "id2label", AN_OBJECT },
};

static int is_typed(const struct json *v, enum member_type type)
{
	switch (type) {
	case A_FLAG:
		return json_is_bool(v);
	case A_NUMBER:
		return json_is_number(v);
	case A_LIST:
		return json_is_array(v);
	case AN_OBJECT:
		break;
	}
	return json_is_object(v);
}

static int check_types(const struct arch_keys *k, infer_error *err)
{
	for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
		const struct json *v = not_null(json_get(k->config, typed[i].name));
		if (v && !is_typed(v, typed[i].type))
			return err_set(err, INFER_EFORMAT, "key %s: must be %s", typed[i].name,
			               member_types[typed[i].type]);
	}
	const struct json *scalar = not_null(json_get(k->config, "query_pre_attn_scalar"));
	if (scalar && !(json_double(scalar) >= 1e-6 && json_double(scalar) <= 1e9))
		return err_set(err, INFER_EFORMAT,
		               "key query_pre_attn_scalar: must be a number from 1e-6 to 1e9");
	json_each(v, json_get(k->config, "id2label"))
		if (!json_is_string(v))
			return err_set(err, INFER_EFORMAT, "key id2label: must have names");
	return INFER_OK;
}

/* Check topk_method: the way in which experts are chosen. */
static int check_choice(const struct arch_keys *k, infer_error *err)
{
	const struct json *v = not_null(json_get(k->config, "topk_method"));

	return !v || json_equals(v, "greedy") || json_equals(v, "group_limited_greedy") ||
	                       json_equals(v, "noaux_tc")
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP, "key topk_method: %.*s is not supported",
	                         (int)(json_bytes(v) < 64 ? json_bytes(v) : 64), json_str(v));
}

int arch_keys_hf_lists(const struct arch_keys *k, infer_error *err)
{
	TRY(check_types(k, err));
	TRY(check_choice(k, err));
	TRY(check_kinds(k, err));
	TRY(check_repeated(k, err));
	TRY(check_indices(k, err));
	TRY(check_by_layer(k, err));
	TRY(check_ffn_kinds(k, err));
	return check_limit(k, err);
}

/* True if arch.expect has the member, so that check compared it. */
static int is_expected(const struct arch *a, const struct json *member)
{
	while (!a->expect && a->like)
		a = a->like;
	for (const struct arch_expect *e = a->expect; e && e->key; e++)
		if (has_member_name(member, e->key))
			return 1;
	return 0;
}

void arch_keys_hf_see(const struct arch_keys *k, const struct json *member, struct key_seen *seen)
{
	int parts = json_is_array(member) || json_is_object(member);

	if (seen->key == K_ATTN_SCALAR)
		seen->key = K_ATTN_SCALE;
	if (seen->key == ARCH_KEYS && is_expected(k->arch, member))
		seen->key = K_ACTIVATION;

	seen->name = (struct infer_str){ member->key, member->key_n };
	seen->empty = json_is_null(member) || (parts && !json_count(member));
	seen->value = member;
}

void arch_keys_hf_show(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w)
{
	(void)k;
	jw_value(w, NULL, seen->value);
}

/* Newton's method from the left. The distribution is 1/2 + density(x) * sum over i of x^(2i + 1) /
 * (1 * 3 * 5 ... (2i + 1)). */
double arch_keys_quantile(double p)
{
	double x = 0;

	if (p < 0.5)
		return p == 0 ? -INFINITY : -arch_keys_quantile(1 - p);
	for (int step = 0; step < 64 && p < 1; step++) {
		double density = fm_exp(-x * x / 2) / 2.5066282746310002, term = x, sum = x;
		for (int i = 3; i < 400; i += 2)
			sum += term *= x * x / i;
		x += (p - 0.5) / density - sum;
	}
	return p < 1 ? (double)(float)x : NAN;
}
