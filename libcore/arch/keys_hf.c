/* arch/keys_hf.c - keys in config.json of a Hugging Face checkpoint.
 *
 * Most keys are members, with the names of key_list.h.  These are computed, as converters do, so
 * that a model has the same parameters in files of both kinds:
 *   ROPE_DIM      head_dim * partial_rotary_factor
 *   ATTN_SCALE    Gemma: 1 / sqrt(query_pre_attn_scalar)
 *   ROPE_ATTN     attention_factor of longrope;  YARN_ATTN: of yarn
 *   EXPERT_GATING scoring_func as its number in GGUF files
 *   CUTS          the normal quantile of activation_sparsity_pattern
 *   LOW_FACTOR    partial_rotary_factor of "proportional"
 *   WINDOW        absent if use_sliding_window is false
 *   WINDOW_PATTERN, RECURRENT   layer_types as a flag for each layer
 *   STATE_O       linear_value_head_dim or mamba_d_head, times the heads
 *   ROPE_BASE_SWA rope_theta of sliding_attention, if RoPE parameters depend on the kind of layer
 * Conversions that one family needs are in arch/models (arch.member).  llama3 and proportional
 * scaling have no keys here: hf/rope.c makes the tensor W_ROPE_FREQS from their parameters. */
#include "arch/keys.h"
#include "arch/arch.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Return rope_parameters, or rope_scaling in older files; if they depend on the kind of layer,
 * those of `kind`. */
static const struct json *rope_of(const struct arch_keys *k, const char *kind)
{
	const struct json *r = json_get(k->config, "rope_parameters");

	if (!json_is_object(r))
		r = json_get(k->config, "rope_scaling");
	const struct json *own = json_get(r, kind);
	return json_is_object(own) ? own : json_get(r, "full_attention") ? NULL : r;
}

static const struct json *not_null(const struct json *v) { return json_is_null(v) ? NULL : v; }

/* Return the first of names ("a|b") that o has and that is not null. */
static const struct json *first_member(const struct json *o, const char *names)
{
	const struct json *v = NULL;

	for (const char *end; !v && *names; names = end + (*end == '|')) {
		end = strchr(names, '|');
		end = end ? end : names + strlen(names);
		v = not_null(json_getn(o, names, (size_t)(end - names)));
	}
	return v;
}

static int is_rope(const char *names) { return !strncmp(names, "rope.", 5); }

/* Find "rope.a|rope.b" in the RoPE parameters or, as in older files, in config.json itself. */
static const struct json *rope_member(const struct arch_keys *k, const char *names)
{
	const struct json *rope = rope_of(k, "full_attention"), *v = NULL;

	for (; !v && names; names = strchr(names, '|') ? strchr(names, '|') + 1 : NULL) {
		const char *one = names + 5;
		size_t n = strcspn(one, "|");
		v = not_null(json_getn(rope, one, n));
		if (!v)
			v = not_null(json_getn(k->config, one, n));
	}
	return v;
}

const struct json *arch_keys_plain(const struct arch_keys *k, enum arch_key key)
{
	const char *names = arch_key_rows[key].hf;

	if (!names)
		return NULL;
	return is_rope(names) ? rope_member(k, names) : first_member(k->config, names);
}

static int is_type(const struct arch_keys *k, const char *type)
{
	return json_equals(arch_keys_plain(k, K_ROPE_TYPE), type);
}

static int64_t head_dim(const struct arch_keys *k)
{
	const struct json *own = arch_keys_plain(k, K_K_LENGTH), *embd = arch_keys_plain(k, K_EMBD),
			  *heads = arch_keys_plain(k, K_HEADS);

	if (own)
		return json_is(own, JSON_INT) ? own->i : 0;
	return json_is(embd, JSON_INT) && json_is(heads, JSON_INT) && heads->i > 0
	               ? embd->i / heads->i
	               : 0;
}

/* Compute STATE_O: the head size v times the number of heads. */
static const struct json *state_width(const struct arch_keys *k, const struct json *v,
                                      struct json *room)
{
	const struct json *heads = arch_keys_plain(k, K_STATE_HEADS);

	if (!json_is(v, JSON_INT) || !json_is(heads, JSON_INT) || v->i > 1 << 20 ||
	    heads->i > 1 << 20)
		return v;
	*room = arch_json_int(v->i * heads->i);
	return room;
}

static int is_longrope(const struct arch_keys *k)
{
	return is_type(k, "longrope") || is_type(k, "su");
}

/* True if hf/rope.c makes divisors for this kind of scaling. */
static int has_divisors(const struct arch_keys *k)
{
	return is_type(k, "llama3") || is_type(k, "proportional");
}

/* Return the name in layer_types of recurrent layers of the architecture, or NULL. */
static const char *recurrent_kind(const struct arch_keys *k)
{
	return arch_row(k->arch, W_STATE_CONV)   ? "linear_attention"
	       : arch_row(k->arch, W_SHORT_CONV) ? "conv"
	                                         : NULL;
}

static const struct json *expert_gating(const struct json *v, struct json *room)
{
	if (!json_equals(v, "sigmoid") && !json_equals(v, "softmax"))
		return v;
	*room = arch_json_int(json_equals(v, "sigmoid") ? 2 : 1);
	return room;
}

/* Compute ROPE_DIM, the rotated columns of a head. */
static const struct json *rope_dim(const struct arch_keys *k, struct json *room)
{
	const struct json *v =
		is_type(k, "proportional") ? NULL : arch_keys_plain(k, K_PARTIAL_ROTARY);

	if (!json_is_number(v))
		return v;
	const double part = (double)head_dim(k) * json_double(v);
	*room = arch_json_real(part);
	if (part > -1e9 && part < 1e9) /* else out of range */
		*room = arch_json_int((int64_t)part);
	return room;
}

/* Compute ATTN_SCALE. */
static const struct json *attn_scale(const struct arch_keys *k, const struct json *v,
                                     struct json *room)
{
	v = v ? v : arch_keys_plain(k, K_ATTN_SCALAR);
	if (!json_is_number(v) || json_get(k->config, "attention_multiplier"))
		return v;
	*room = arch_json_real(1 / sqrt(json_double(v)));
	return room;
}

/* Return the value of a key, borrowed or computed in *room; NULL: absent. */
static const struct json *get_value(const struct arch_keys *k, enum arch_key key, struct json *room)
{
	const struct json *v = arch_keys_plain(k, key);
	const struct arch *a = k->arch;

	while (!a->member && a->like)
		a = a->like;
	if (a->member && a->member(k, key, &v, room))
		return v;
	switch (key) {
	case K_LOW_FACTOR:
		return is_type(k, "proportional") ? arch_keys_plain(k, K_PARTIAL_ROTARY) : v;
	case K_EXPERT_GATING:
		return expert_gating(v, room);
	case K_ROPE_DIM:
		return rope_dim(k, room);
	case K_ATTN_SCALE:
		return attn_scale(k, v, room);
	case K_ROPE_ATTN:
	case K_YARN_ATTN:
		return is_longrope(k) == (key == K_ROPE_ATTN)
		               ? arch_keys_plain(k, K_ATTENTION_FACTOR)
		               : NULL;
	case K_ROPE_TYPE:
		return is_type(k, "default") || has_divisors(k) ? NULL : v;
	case K_ROPE_FACTOR:
	case K_ROPE_CONTEXT:
		return is_type(k, "llama3") ? NULL : v;
	case K_WINDOW:
		return json_is(json_get(k->config, "use_sliding_window"), JSON_FALSE) ? NULL : v;
	case K_RECURRENT: /* without recurrent layers, layer_types is WINDOW_PATTERN */
		return recurrent_kind(k) ? v : NULL;
	case K_STATE_O:
		return state_width(k, v, room);
	case K_ROPE_BASE_SWA:
		return v ? v : not_null(json_get(rope_of(k, "sliding_attention"), "rope_theta"));
	default:
		return v;
	}
}

/* True if config.json or its RoPE parameters have the first of the names. */
static int has_key(const struct arch_keys *k, const char *names)
{
	char one[KEY_NAME];

	snprintf(one, sizeof one, "%.*s", (int)strcspn(names, "|"), names);
	return (is_rope(one) ? rope_member(k, one) : first_member(k->config, one)) != NULL;
}

/* Write the name that the file has or, if none, the first one. */
static void key_name(const struct arch_keys *k, enum arch_key key, char out[KEY_NAME])
{
	const char *hf = arch_key_rows[key].hf, *its = hf;

	if (!hf) {
		snprintf(out, KEY_NAME, "%s", arch_key_rows[key].gguf);
		return;
	}
	while (its && !has_key(k, its))
		its = strchr(its, '|') ? strchr(its, '|') + 1 : NULL;
	its = its ? its : key == K_FF ? "intermediate_size" : hf;
	its += is_rope(its) ? 5 : 0;
	snprintf(out, KEY_NAME, "%.*s", (int)strcspn(its, "|"), its);
}

static enum key_kind json_kind(const struct json *v)
{
	if (json_is_number(v))
		return KEY_NUMBER;
	return json_is_bool(v) ? KEY_FLAG : KEY_TEXT;
}

static const char *window_kind(const struct arch *a)
{
	return a->chunked ? "chunked_attention" : "sliding_attention";
}

/* True if an entry of layer_types is of this kind, by its older or newer name. */
static int is_kind(const struct json *v, const char *kind)
{
	return json_equals(v, kind) ||
	       (!strcmp(kind, "linear_attention") && json_equals(v, "mamba")) ||
	       (!strcmp(kind, "full_attention") && json_equals(v, "attention"));
}

/* Return the kind of layer that a key of layer_types flags; NULL: another key. */
static const char *flagged_kind(const struct arch_keys *k, enum arch_key key)
{
	return key == K_WINDOW_PATTERN ? window_kind(k->arch)
	       : key == K_RECURRENT    ? recurrent_kind(k)
	                               : NULL;
}

static struct key_found find_value(const struct arch_keys *k, enum arch_key key)
{
	struct json room;
	const struct json *v = get_value(k, key, &room);

	if (!v)
		return (struct key_found){ 0 };
	if (!json_is_array(v))
		return (struct key_found){ json_kind(v), 0, 1 };
	return (struct key_found){ flagged_kind(k, key) ? KEY_FLAG : json_kind(json_first(v)), 1,
		                   json_count(v) };
}

static int refuse_kind(const struct arch_keys *k, enum arch_key key, const char *want,
                       infer_error *err)
{
	char its[KEY_NAME];

	key_name(k, key, its);
	return err_set(err, INFER_EFORMAT, "key %s: not %s", its, want);
}

/* Return element i of a list, or the value itself. */
static const struct json *get_element(const struct arch_keys *k, enum arch_key key, uint64_t i,
                                      struct json *room)
{
	const struct json *v = get_value(k, key, room);

	return json_is_array(v) ? json_at(v, (size_t)i) : v;
}

/* True if a number in GGUF files may be true or false in config.json. */
static int is_flag(const struct arch_keys *k, enum arch_key key)
{
	static const enum arch_key flags[] = { K_TEMPERATURE_ON, K_STREAM_SCALE, K_QK_NORM,
		                               K_BIDIRECTIONAL,  K_ATTN_GATE,    K_ROTATES };

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (flags[i] == key)
			return 1;
	return flagged_kind(k, key) != NULL;
}

static int read_integer(const struct arch_keys *k, enum arch_key key, uint64_t i, int64_t *out,
                        infer_error *err)
{
	struct json room;
	const struct json *v = get_element(k, key, i, &room);

	if (flagged_kind(k, key) && json_is_string(v)) { /* check_layer_types refuses others */
		*out = is_kind(v, flagged_kind(k, key));
		return INFER_OK;
	}
	if (json_is_bool(v) && is_flag(k, key))
		*out = v->kind == JSON_TRUE;
	else if (json_is(v, JSON_INT))
		*out = v->i;
	else
		return refuse_kind(k, key, "a whole number", err);
	return INFER_OK;
}

static int read_number(const struct arch_keys *k, enum arch_key key, uint64_t i, double *out,
                       infer_error *err)
{
	struct json room;
	const struct json *v = get_element(k, key, i, &room);

	if (!json_is_number(v))
		return refuse_kind(k, key, "a number", err);
	*out = key == K_CUTS ? arch_keys_quantile(json_double(v)) : (double)(float)json_double(v);
	return INFER_OK;
}

static int read_flag(const struct arch_keys *k, enum arch_key key, int *out, infer_error *err)
{
	struct json room;
	const struct json *v = get_value(k, key, &room);

	if (!json_is_bool(v))
		return refuse_kind(k, key, "true or false", err);
	*out = v->kind == JSON_TRUE;
	return INFER_OK;
}

static int read_string(const struct arch_keys *k, enum arch_key key, struct infer_str *out,
                       infer_error *err)
{
	struct json room;
	const struct json *v = get_value(k, key, &room);

	if (!json_is_string(v))
		return refuse_kind(k, key, "a string", err);
	*out = (struct infer_str){ json_str(v), json_bytes(v) };
	if (key == K_ROPE_TYPE && json_equals(v, "su")) /* the older name of longrope */
		*out = (struct infer_str){ "longrope", 8 };
	return INFER_OK;
}

/* Return the key with this name; ARCH_KEYS: none. */
static enum arch_key find_config_key(const char *at, size_t n, int rope)
{
	for (enum arch_key key = 0; key < ARCH_KEYS; key++) {
		const char *names = arch_key_rows[key].hf;
		for (; names && *names; names += strcspn(names, "|"), names += *names == '|') {
			const char *one = is_rope(names) ? names + 5 : names;
			if ((!rope || one != names) && strcspn(one, "|") == n &&
			    !memcmp(one, at, n))
				return key;
		}
	}
	return ARCH_KEYS;
}

/* Iterate over the members of config.json, then over its RoPE parameters. */
static int next_key(const struct arch_keys *k, uint64_t *cursor, struct key_seen *seen)
{
	static const char *const kinds[] = { "full_attention", "sliding_attention" };
	uint64_t at = (*cursor)++;

	for (int pass = 0; pass < 3; pass++) {
		const struct json *o = pass ? rope_of(k, kinds[pass - 1]) : k->config;
		if (pass == 2 && o == rope_of(k, kinds[0]))
			break;
		if (at >= json_count(o)) {
			at -= json_count(o);
			continue;
		}
		const struct json *v = json_at(o, (size_t)at);
		seen->key = find_config_key(v->key, v->key_n, pass > 0);
		arch_keys_hf_see(k, v, seen);
		return 1;
	}
	return 0;
}

static int check_layer_types(const struct arch_keys *k, infer_error *err)
{
	json_each(v, json_get(k->config, "layer_types"))
		if (!is_kind(v, "full_attention") && !is_kind(v, window_kind(k->arch)) &&
		    !(recurrent_kind(k) && is_kind(v, recurrent_kind(k))))
			return err_set(
				err, INFER_EUNSUP,
				"key layer_types: %.*s is not supported with architecture %s",
				(int)(json_bytes(v) < 64 ? json_bytes(v) : 64), json_str(v),
				k->arch->gguf);
	return INFER_OK;
}

/* Check members with one supported value (arch.expect), required members (arch.must), lists and
 * layer_types. */
static int check_config(const struct arch_keys *k, infer_error *err)
{
	const struct arch *a = k->arch, *b = k->arch;

	if (!json_is_object(k->config))
		return err_set(err, INFER_EFORMAT, "config.json: not an object");
	while (!a->expect && a->like)
		a = a->like;
	for (const struct arch_expect *e = a->expect; e && e->key; e++) {
		const struct json *v = first_member(k->config, e->key);
		if (v && !json_equals(v, e->value))
			return err_set(err, INFER_EUNSUP, "key %s: must be %s, not %.*s", e->key,
			               e->value, (int)(json_bytes(v) < 64 ? json_bytes(v) : 64),
			               json_str(v));
	}
	while (!b->must && b->like)
		b = b->like;
	for (const char *must = b->must; must; must = *must ? must + 1 : NULL) {
		char one[KEY_NAME];
		size_t n = strcspn(must, " ");
		snprintf(one, sizeof one, "%.*s", (int)n, must);
		if (!(is_rope(one) ? rope_member(k, one) : first_member(k->config, one)))
			return err_set(err, INFER_EFORMAT, "key %.*s: missing",
			               (int)strcspn(one, "|") - (is_rope(one) ? 5 : 0),
			               one + (is_rope(one) ? 5 : 0));
		must += n;
	}
	TRY(arch_keys_hf_lists(k, err));
	return check_layer_types(k, err);
}

static const struct arch_keys_kind hf_keys = { key_name,    find_value,        read_integer,
	                                       read_number, read_flag,         read_string,
	                                       next_key,    arch_keys_hf_show, 0,
	                                       check_config };

struct arch_keys arch_keys_hf(const struct json *config, const struct arch *a)
{
	return (struct arch_keys){ .kind = &hf_keys, .arch = a, .config = config };
}
