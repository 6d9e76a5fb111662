/* arch/keys_hf_lists.c - lists and objects of config.json of which one form alone is supported. */
#include "arch/arch.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const struct json *present(const struct json *v) { return json_is_null(v) ? NULL : v; }

static int64_t int_of(const struct json *v) { return json_is(v, JSON_INT) ? v->i : 0; }

/* One object for each layer that sees all, by its number, with sizes of heads; all of them the same. */
static int check_by_layer(const struct arch_keys *k, infer_error *err)
{
	const struct json *all = present(json_get(k->config, "per_layer_config")),
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

/* Steps from 0 to what JSON has no number for: none is cut. */
static int check_limit(const struct arch_keys *k, infer_error *err)
{
	const struct json *v = present(json_get(k->config, "time_step_limit")),
			  *least = json_at(v, 0);

	return !v || (json_is_array(v) && json_count(v) == 2 && json_is_number(least) &&
	              json_double(least) == 0 && !json_is_number(json_at(v, 1)))
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP, "key time_step_limit: no limits are supported");
}

/* Dense layers first, then layers with experts: as many as the number of the dense ones says. */
static int check_ffn_kinds(const struct arch_keys *k, infer_error *err)
{
	const struct json *dense = present(json_get(k->config, "first_k_dense_replace"));
	int64_t i = 0;

	json_each(v, json_get(k->config, "mlp_layer_types")) {
		if (!json_equals(v, i < int_of(dense) ? "dense" : "sparse"))
			return err_set(err, INFER_EUNSUP,
			               "key mlp_layer_types: layer %lld is not what "
			               "first_k_dense_replace says, %lld",
			               (long long)i, (long long)int_of(dense));
		i++;
	}
	return INFER_OK;
}

int arch_keys_hf_lists(const struct arch_keys *k, infer_error *err)
{
	TRY(check_by_layer(k, err));
	TRY(check_ffn_kinds(k, err));
	return check_limit(k, err);
}

/* True if arch.expect has the member, which was compared with its value. */
static int is_expected(const struct arch *a, const struct json *member)
{
	while (!a->expect && a->like)
		a = a->like;
	for (const struct arch_expect *e = a->expect; e && e->key; e++)
		if (strlen(e->key) == member->key_n && !memcmp(e->key, member->key, member->key_n))
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
