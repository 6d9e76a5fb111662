/* arch/keys_hf.c - keys out of config.json of a Hugging Face checkpoint.
 *
 * Most are members of the object under the name of key_list.h's column.  Some values are made here from others, as
 * converters make them, so that the same model has the same parameters in either kind of file:
 *   ROPE_DIM      head_dim times partial_rotary_factor;  ATTN_SCALE  of Gemma: 1 / sqrt(query_pre_attn_scalar)
 *   ROPE_ATTN, YARN_ATTN   attention_factor: of longrope, of yarn
 *   EXPERT_GATING scoring_func, as the number that GGUF files have
 *   CUTS          the deviation that so much of a normal distribution is below
 *   LOW_FACTOR    of "proportional", which divides the frequencies beyond a part of them by so much that they stand
 *   WINDOW        absent where use_sliding_window is false
 *   WINDOW_PATTERN, RECURRENT   layer_types: a flag for each
 *   STATE_O       linear_value_head_dim or mamba_d_head times the heads
 *   ROPE_BASE_SWA of rope parameters by kind of layer: rope_theta of the sliding ones
 * What one family alone stores in another form, its row says in arch/models (arch.member).
 * llama3 scales by divisors: its parameters are absent here, and hf/rope.c makes the tensor W_ROPE_FREQS of them. */
#include "arch/keys.h"
#include "arch/arch.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* rope_parameters (newer) or rope_scaling; if they depend on the kind of layer, those of the layers
 * with full attention. */
static const struct json *rope_of(const struct arch_keys *k, const char *kind)
{
	const struct json *r = json_get(k->config, "rope_parameters");

	if (!json_is_object(r))
		r = json_get(k->config, "rope_scaling");
	const struct json *own = json_get(r, kind);
	return json_is_object(own) ? own : json_get(r, "full_attention") ? NULL : r;
}

static const struct json *present(const struct json *v) { return json_is_null(v) ? NULL : v; }

/* The first of names ("a|b") that o has and that is not null. */
static const struct json *member(const struct json *o, const char *names)
{
	const struct json *v = NULL;

	for (const char *end; !v && *names; names = end + (*end == '|')) {
		end = strchr(names, '|');
		end = end ? end : names + strlen(names);
		v = present(json_getn(o, names, (size_t)(end - names)));
	}
	return v;
}

static int is_rope(const char *names) { return !strncmp(names, "rope.", 5); }

/* "rope.a|rope.b": in the rope parameters, or else in the object, as in older files. */
static const struct json *rope_member(const struct arch_keys *k, const char *names)
{
	const struct json *rope = rope_of(k, "full_attention"), *v = NULL;

	for (; !v && names; names = strchr(names, '|') ? strchr(names, '|') + 1 : NULL) {
		const char *one = names + 5;
		size_t n = strcspn(one, "|");
		v = present(json_getn(rope, one, n));
		if (!v)
			v = present(json_getn(k->config, one, n));
	}
	return v;
}

const struct json *arch_keys_plain(const struct arch_keys *k, enum arch_key key)
{
	const char *names = arch_key_rows[key].hf;

	if (!names)
		return NULL;
	return is_rope(names) ? rope_member(k, names) : member(k->config, names);
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

/* As wide as all heads. */
static const struct json *of_states(const struct arch_keys *k, const struct json *v,
                                    struct json *room)
{
	const struct json *heads = arch_keys_plain(k, K_STATE_HEADS);

	if (!json_is(v, JSON_INT) || !json_is(heads, JSON_INT) || v->i > 1 << 20 ||
	    heads->i > 1 << 20)
		return v;
	*room = arch_json_int(v->i * heads->i);
	return room;
}

static int is_long(const struct arch_keys *k) { return is_type(k, "longrope") || is_type(k, "su"); }

/* Whoever opens such a checkpoint makes the tensor of them. */
static int by_divisors(const struct arch_keys *k)
{
	return is_type(k, "llama3") || is_type(k, "proportional");
}

/* Some of its layers may be recurrent; layer_types calls them so. */
static const char *recurs(const struct arch_keys *k)
{
	return arch_row(k->arch, W_STATE_CONV)   ? "linear_attention"
	       : arch_row(k->arch, W_SHORT_CONV) ? "conv"
	                                         : NULL;
}

static const struct json *gating(const struct json *v, struct json *room)
{
	if (!json_equals(v, "sigmoid") && !json_equals(v, "softmax"))
		return v;
	*room = arch_json_int(json_equals(v, "sigmoid") ? 2 : 1);
	return room;
}

/* How much of a head. */
static const struct json *rotating(const struct arch_keys *k, struct json *room)
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

/* What scores are multiplied by. */
static const struct json *scale(const struct arch_keys *k, const struct json *v, struct json *room)
{
	v = v ? v : arch_keys_plain(k, K_ATTN_SCALAR);
	if (!json_is_number(v) || json_get(k->config, "attention_multiplier"))
		return v;
	*room = arch_json_real(1 / sqrt(json_double(v)));
	return room;
}

/* The value of key, borrowed or computed in *room; NULL: absent. */
static const struct json *get(const struct arch_keys *k, enum arch_key key, struct json *room)
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
		return gating(v, room);
	case K_ROPE_DIM:
		return rotating(k, room);
	case K_ATTN_SCALE:
		return scale(k, v, room);
	case K_ROPE_ATTN:
	case K_YARN_ATTN:
		return is_long(k) == (key == K_ROPE_ATTN) ? arch_keys_plain(k, K_ATTENTION_FACTOR)
		                                          : NULL;
	case K_ROPE_TYPE:
		return is_type(k, "default") || by_divisors(k) ? NULL : v;
	case K_ROPE_FACTOR:
	case K_ROPE_CONTEXT:
		return is_type(k, "llama3") ? NULL : v;
	case K_WINDOW:
		return json_is(json_get(k->config, "use_sliding_window"), JSON_FALSE) ? NULL : v;
	case K_RECURRENT: /* of others it says which layers slide */
		return recurs(k) ? v : NULL;
	case K_STATE_O:
		return of_states(k, v, room);
	case K_ROPE_BASE_SWA:
		return v ? v : present(json_get(rope_of(k, "sliding_attention"), "rope_theta"));
	default:
		return v;
	}
}

/* True if the object, or its rope parameters, have the first of the names. */
static int has_name(const struct arch_keys *k, const char *names)
{
	char one[KEY_NAME];

	snprintf(one, sizeof one, "%.*s", (int)strcspn(names, "|"), names);
	return (is_rope(one) ? rope_member(k, one) : member(k->config, one)) != NULL;
}

/* The name that the object has, or else the usual one. */
static void name(const struct arch_keys *k, enum arch_key key, char out[KEY_NAME])
{
	const char *hf = arch_key_rows[key].hf, *its = hf;

	if (!hf) {
		snprintf(out, KEY_NAME, "%s", arch_key_rows[key].gguf);
		return;
	}
	while (its && !has_name(k, its))
		its = strchr(its, '|') ? strchr(its, '|') + 1 : NULL;
	its = its ? its : key == K_FF ? "intermediate_size" : hf;
	its += is_rope(its) ? 5 : 0;
	snprintf(out, KEY_NAME, "%.*s", (int)strcspn(its, "|"), its);
}

static enum key_kind kind_of(const struct json *v)
{
	if (json_is_number(v))
		return KEY_NUMBER;
	return json_is_bool(v) ? KEY_FLAG : KEY_TEXT;
}

static const char *sliding(const struct arch *a)
{
	return a->chunked ? "chunked_attention" : "sliding_attention";
}

/* transformers has newer names for some kinds. */
static int is_kind(const struct json *v, const char *kind)
{
	return json_equals(v, kind) ||
	       (!strcmp(kind, "linear_attention") && json_equals(v, "mamba")) ||
	       (!strcmp(kind, "full_attention") && json_equals(v, "attention"));
}

/* The kind of layers that layer_types flags for the key; NULL: it is another key. */
static const char *layers_of(const struct arch_keys *k, enum arch_key key)
{
	return key == K_WINDOW_PATTERN ? sliding(k->arch) : key == K_RECURRENT ? recurs(k) : NULL;
}

static struct key_found arr(const struct arch_keys *k, enum arch_key key)
{
	struct json room;
	const struct json *v = get(k, key, &room);

	if (!v)
		return (struct key_found){ 0 };
	if (!json_is_array(v))
		return (struct key_found){ kind_of(v), 0, 1 };
	return (struct key_found){ layers_of(k, key) ? KEY_FLAG : kind_of(json_first(v)), 1,
		                   json_count(v) };
}

static int wrong(const struct arch_keys *k, enum arch_key key, const char *want, infer_error *err)
{
	char its[KEY_NAME];

	name(k, key, its);
	return err_set(err, INFER_EFORMAT, "key %s: not %s", its, want);
}

/* Element i of a list, or the value itself. */
static const struct json *element(const struct arch_keys *k, enum arch_key key, uint64_t i,
                                  struct json *room)
{
	const struct json *v = get(k, key, room);

	return json_is_array(v) ? json_at(v, (size_t)i) : v;
}

/* A flag of config.json that has a number in GGUF files, or may be a number here too. */
static int is_flag(const struct arch_keys *k, enum arch_key key)
{
	static const enum arch_key flags[] = { K_TEMPERATURE_ON, K_STREAM_SCALE, K_QK_NORM,
		                               K_BIDIRECTIONAL,  K_ATTN_GATE,    K_ROTATES };

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (flags[i] == key)
			return 1;
	return layers_of(k, key) != NULL;
}

static int whole(const struct arch_keys *k, enum arch_key key, uint64_t i, int64_t *out,
                 infer_error *err)
{
	struct json room;
	const struct json *v = element(k, key, i, &room);

	if (layers_of(k, key) && json_is_string(v)) { /* arch_keys_kind.check knows all kinds */
		*out = is_kind(v, layers_of(k, key));
		return INFER_OK;
	}
	if (json_is_bool(v) && is_flag(k, key))
		*out = v->kind == JSON_TRUE;
	else if (json_is(v, JSON_INT))
		*out = v->i;
	else
		return wrong(k, key, "a whole number", err);
	return INFER_OK;
}

static int real(const struct arch_keys *k, enum arch_key key, uint64_t i, double *out,
                infer_error *err)
{
	struct json room;
	const struct json *v = element(k, key, i, &room);

	if (!json_is_number(v))
		return wrong(k, key, "a number", err);
	*out = key == K_CUTS ? arch_keys_quantile(json_double(v)) : (double)(float)json_double(v);
	return INFER_OK;
}

static int flag(const struct arch_keys *k, enum arch_key key, int *out, infer_error *err)
{
	struct json room;
	const struct json *v = get(k, key, &room);

	if (!json_is_bool(v))
		return wrong(k, key, "true or false", err);
	*out = v->kind == JSON_TRUE;
	return INFER_OK;
}

static int str(const struct arch_keys *k, enum arch_key key, struct infer_str *out,
               infer_error *err)
{
	struct json room;
	const struct json *v = get(k, key, &room);

	if (!json_is_string(v))
		return wrong(k, key, "a string", err);
	*out = (struct infer_str){ json_str(v), json_bytes(v) };
	if (key == K_ROPE_TYPE && json_equals(v, "su")) /* the former name of longrope */
		*out = (struct infer_str){ "longrope", 8 };
	return INFER_OK;
}

/* The row with this name; ARCH_KEYS: none. */
static enum arch_key row_of(const char *at, size_t n, int rope)
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

/* Check the members of the object, then those of its rope parameters. */
static int next(const struct arch_keys *k, uint64_t *cursor, struct key_seen *seen)
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
		seen->key = row_of(v->key, v->key_n, pass > 0);
		arch_keys_hf_see(k, v, seen);
		return 1;
	}
	return 0;
}

static int check_layers(const struct arch_keys *k, infer_error *err)
{
	json_each(v, json_get(k->config, "layer_types"))
		if (!is_kind(v, "full_attention") && !is_kind(v, sliding(k->arch)) &&
		    !(recurs(k) && is_kind(v, recurs(k))))
			return err_set(
				err, INFER_EUNSUP,
				"key layer_types: %.*s is not supported with architecture %s",
				(int)(json_bytes(v) < 64 ? json_bytes(v) : 64), json_str(v),
				k->arch->gguf);
	return INFER_OK;
}

/* Members for which the architecture supports only one value, as in the nearest row; and members
 * that its class requires. */
static int check(const struct arch_keys *k, infer_error *err)
{
	const struct arch *a = k->arch, *b = k->arch;

	if (!json_is_object(k->config))
		return err_set(err, INFER_EFORMAT, "config.json: not an object");
	while (!a->expect && a->like)
		a = a->like;
	for (const struct arch_expect *e = a->expect; e && e->key; e++) {
		const struct json *v = member(k->config, e->key);
		if (v && !json_equals(v, e->value))
			return err_set(err, INFER_EUNSUP, "key %s: %.*s where %s is wanted", e->key,
			               (int)(json_bytes(v) < 64 ? json_bytes(v) : 64), json_str(v),
			               e->value);
	}
	while (!b->must && b->like)
		b = b->like;
	for (const char *must = b->must; must; must = *must ? must + 1 : NULL) {
		char one[KEY_NAME];
		size_t n = strcspn(must, " ");
		snprintf(one, sizeof one, "%.*s", (int)n, must);
		if (!(is_rope(one) ? rope_member(k, one) : member(k->config, one)))
			return err_set(err, INFER_EFORMAT, "key %.*s: missing",
			               (int)strcspn(one, "|") - (is_rope(one) ? 5 : 0),
			               one + (is_rope(one) ? 5 : 0));
		must += n;
	}
	TRY(arch_keys_hf_lists(k, err));
	return check_layers(k, err);
}

static const struct arch_keys_kind hf_keys = { name, arr,  whole, real,
	                                       flag, str,  next,  arch_keys_hf_show,
	                                       0,    check };

struct arch_keys arch_keys_hf(const struct json *config, const struct arch *a)
{
	return (struct arch_keys){ .kind = &hf_keys, .arch = a, .config = config };
}
