/* arch/keys_hf.c - keys out of config.json of a Hugging Face checkpoint.
 *
 * Most are members of the object under the name of key_list.h's column.  Some values are made here from others, as
 * converters make them, so that the same model has the same parameters in either kind of file:
 *   ROPE_DIM      head_dim times partial_rotary_factor;  ATTN_SCALE  of Gemma: 1 / sqrt(query_pre_attn_scalar)
 *   ROPE_ATTN, YARN_ATTN   attention_factor: of longrope, of yarn
 *   EXPERT_FF     of Llama 4: intermediate_size, where dense layers have intermediate_size_mlp
 *   EXPERT_GATING scoring_func, as the number that GGUF files have;  HEAD_POOLING  classifier_pooling, the same
 *   EXPERT_GROUPS, EXPERT_GROUPS_USED   absent where topk_method is greedy
 *   of latent attention (kv_lora_rank), as in its absorbed form: HEADS_KV  1;  ROPE_DIM  qk_rope_head_dim;  K_LENGTH, V_LENGTH
 *                 the latent with and without what rotates;  K_MLA  the whole of a head;  YARN_LOG  a tenth
 *   K_LENGTH, V_LENGTH, K_LENGTH_SWA, V_LENGTH_SWA, HEADS_KV_FULL
 *                 of layers that see all what is theirs, by global_head_dim or per_layer_config; the others have head_dim
 *   EXPERTS       absent where enable_moe_block is false;  CUTS  the deviation that so much of a normal distribution is below
 *   LOW_FACTOR    of "proportional", which divides the frequencies beyond a part of them by so much that they stand
 *   WINDOW        absent where use_sliding_window is false
 *   WINDOW_PATTERN, RECURRENT   layer_types: a flag for each
 *   FF            of block_auto_adjust_ff_dim: two thirds of it, times a factor, up to a multiple
 *   STATE_O       linear_value_head_dim or mamba_d_head times the heads
 *   of Mamba 2: FINETUNED  whether position_embedding_type is rope;  CONTEXT  2^20 where not;  FF  what all rows take, without experts
 *   CONTEXT       of RoBERTa: less the rows of padding before position 0 (FIRST_POSITION); at most max_trained_positions
 *   ROPE_BASE_SWA of rope parameters by kind of layer: rope_theta of the sliding ones
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

static const struct json *plain(const struct arch_keys *k, enum arch_key key)
{
	const char *names = arch_key_rows[key].hf;

	if (!names)
		return NULL;
	return is_rope(names) ? rope_member(k, names) : member(k->config, names);
}

static struct json number(double d) { return (struct json){ .kind = JSON_REAL, .d = d }; }
static struct json integer(int64_t i) { return (struct json){ .kind = JSON_INT, .i = i }; }

static int is_type(const struct arch_keys *k, const char *type)
{
	return json_equals(plain(k, K_ROPE_TYPE), type);
}

/* What layers that see all have of their own; check_by_layer knows that all of them have the same. */
static const struct json *by_layer(const struct arch_keys *k, const char *name)
{
	return present(json_get(json_first(plain(k, K_BY_LAYER)), name));
}

static const struct json *full_head(const struct arch_keys *k)
{
	const struct json *own = plain(k, K_K_LENGTH_SWA);

	return own ? own : by_layer(k, "head_dim");
}

static int64_t head_dim(const struct arch_keys *k)
{
	const struct json *own = plain(k, K_K_LENGTH), *embd = plain(k, K_EMBD),
			  *heads = plain(k, K_HEADS);

	if (own)
		return json_is(own, JSON_INT) ? own->i : 0;
	return json_is(embd, JSON_INT) && json_is(heads, JSON_INT) && heads->i > 0
	               ? embd->i / heads->i
	               : 0;
}

static int64_t int_of(const struct json *v) { return json_is(v, JSON_INT) ? v->i : 0; }

static int mamba_turns(const struct arch_keys *k)
{
	return json_equals(plain(k, K_POSITIONS), "rope");
}

/* What a key of Mamba 2 comes to, in *room; NULL: as it is for others. */
static const struct json *mamba(const struct arch_keys *k, enum arch_key key, struct json *room)
{
	const struct json *all = plain(k, K_EXPERTS);

	if (!arch_row(k->arch, W_STATE_SKIP))
		return NULL;
	switch (key) {
	case K_FINETUNED:
		*room = (struct json){ .kind = mamba_turns(k) ? JSON_TRUE : JSON_FALSE };
		return room;
	case K_CONTEXT:
		*room = integer(1 << 20);
		return mamba_turns(k) ? NULL : room;
	case K_FF:
		return json_is(all, JSON_INT) && !all->i ? plain(k, K_SHARED_EXPERT_FF) : NULL;
	default:
		return NULL;
	}
}

/* The same of latent attention. */
static const struct json *latent(const struct arch_keys *k, enum arch_key key, struct json *room)
{
	const struct json *rank = plain(k, K_KV_LORA), *v = plain(k, key);
	int64_t rot = int_of(plain(k, K_ROTATING));

	if (!rank)
		return mamba(k, key, room);
	switch (key) {
	case K_HEADS_KV:
		*room = integer(1);
		return room;
	case K_ROPE_DIM:
		return plain(k, K_ROTATING);
	case K_K_LENGTH:
		*room = integer(int_of(rank) + rot);
		return room;
	case K_V_LENGTH:
		return rank;
	case K_K_MLA:
		*room = integer(int_of(v) + rot);
		return v ? room : NULL;
	case K_YARN_LOG:
		*room = number(0.1 * (json_is_number(v) ? json_double(v) : 0));
		return json_is_number(v) ? room : NULL;
	default:
		return NULL;
	}
}

/* As wide as all heads. */
static const struct json *of_states(const struct arch_keys *k, const struct json *v,
                                    struct json *room)
{
	const struct json *heads = plain(k, K_STATE_HEADS);

	if (!json_is(v, JSON_INT) || !json_is(heads, JSON_INT) || v->i > 1 << 20 ||
	    heads->i > 1 << 20)
		return v;
	*room = integer(v->i * heads->i);
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
	*room = integer(json_equals(v, "sigmoid") ? 2 : 1);
	return room;
}

/* What the config says of layers that see all is about the heads of others. */
static const struct json *of_heads(const struct arch_keys *k, enum arch_key key,
                                   const struct json *v)
{
	if (key == K_HEADS_KV_FULL && plain(k, K_BY_LAYER))
		return by_layer(k, "num_key_value_heads");
	if (key == K_HEADS_KV_FULL)
		return json_is(plain(k, K_K_IS_V), JSON_TRUE) ? v : NULL;
	if (key == K_K_LENGTH || key == K_V_LENGTH)
		return full_head(k) ? full_head(k) : v;
	return full_head(k) ? plain(k, K_K_LENGTH) : NULL;
}

static const struct json *adjusted(const struct arch_keys *k, const struct json *v,
                                   struct json *room)
{
	const struct json *times = plain(k, K_FF_TIMES), *of = plain(k, K_FF_MULTIPLE);
	double ff;

	if (!json_is(plain(k, K_FF_ADJUST), JSON_TRUE) || !json_is(v, JSON_INT) ||
	    !json_is_number(times) || !json_is(of, JSON_INT) || of->i < 1)
		return v;
	ff = floor(json_double(times) * floor(2 * (double)v->i / 3));
	*room = number(ff);
	if (ff >= 0 && ff < 1e9 && of->i < 1 << 30)
		*room = integer(((int64_t)ff + of->i - 1) / of->i * of->i);
	return room;
}

static const struct json *of_experts(const struct arch_keys *k, enum arch_key key,
                                     const struct json *v)
{
	if (json_is(plain(k, K_HAS_EXPERTS), JSON_FALSE))
		return NULL;
	return v || key != K_EXPERT_FF || !member(k->config, "intermediate_size_mlp")
	               ? v
	               : member(k->config, "intermediate_size");
}

/* RoBERTa has rows for padding, and what is before it, in front of the first position's. */
static int64_t first_position(const struct arch_keys *k)
{
	const struct json *type = member(k->config, "model_type"),
			  *pad = plain(k, K_FIRST_POSITION);

	if (!json_equals(type, "roberta") && !json_equals(type, "xlm-roberta"))
		return 0;
	return pad && !json_is(pad, JSON_INT) ? -1 : pad ? pad->i + 1 : 2;
}

static const struct json *positions(const struct arch_keys *k, const struct json *v,
                                    struct json *room)
{
	const struct json *seen = plain(k, K_SEEN);

	if (!json_is(v, JSON_INT))
		return v;
	*room = integer(v->i - first_position(k));
	if (json_is(seen, JSON_INT) && seen->i < room->i)
		*room = *seen;
	return room;
}

/* How much of a head. */
static const struct json *rotating(const struct arch_keys *k, struct json *room)
{
	const struct json *v = is_type(k, "proportional") ? NULL : plain(k, K_PARTIAL_ROTARY);

	if (!json_is_number(v))
		return v;
	*room = integer((int64_t)((double)head_dim(k) * json_double(v)));
	return room;
}

static const struct json *of_encoders(const struct arch_keys *k, enum arch_key key,
                                      const struct json *v, struct json *room)
{
	int mean = json_equals(v, "mean");

	if (key == K_CONTEXT)
		return positions(k, v, room);
	*room = integer(key == K_FIRST_POSITION ? first_position(k) : mean ? 1 : 2);
	return key == K_FIRST_POSITION || !v || mean || json_equals(v, "cls") ? room : v;
}

/* What scores are multiplied by.  Gemma 3n and 4 have none, whatever query_pre_attn_scalar says. */
static const struct json *scale(const struct arch_keys *k, const struct json *v, struct json *room)
{
	if (!v && strcmp(k->arch->gguf, "gemma3n") != 0 && strcmp(k->arch->gguf, "gemma4") != 0)
		v = plain(k, K_ATTN_SCALAR);
	if (!json_is_number(v) || json_get(k->config, "attention_multiplier"))
		return v;
	*room = number(1 / sqrt(json_double(v)));
	return room;
}

/* The value of key, borrowed or computed in *room; NULL: absent. */
static const struct json *get(const struct arch_keys *k, enum arch_key key, struct json *room)
{
	const struct json *v = plain(k, key), *of = latent(k, key, room);

	if (of)
		return of;
	switch (key) {
	case K_K_LENGTH:
	case K_V_LENGTH:
	case K_K_LENGTH_SWA:
	case K_V_LENGTH_SWA:
	case K_HEADS_KV_FULL:
		return of_heads(k, key, v);
	case K_CONTEXT:
	case K_FIRST_POSITION:
	case K_HEAD_POOLING:
		return of_encoders(k, key, v, room);
	case K_FF:
		return adjusted(k, v, room);
	case K_EXPERTS:
	case K_EXPERTS_USED:
	case K_EXPERT_FF:
		return of_experts(k, key, v);
	case K_BIDIRECTIONAL: /* of text there is nothing to see ahead */
		return json_equals(v, "vision") ? NULL : v;
	case K_LOW_FACTOR:
		return is_type(k, "proportional") ? plain(k, K_PARTIAL_ROTARY) : v;
	case K_EXPERT_GATING:
		return gating(v, room);
	case K_EXPERT_GROUPS:
	case K_EXPERT_GROUPS_USED:
		return json_equals(plain(k, K_TOP_K_METHOD), "greedy") ? NULL : v;
	case K_ROPE_DIM:
		return rotating(k, room);
	case K_ATTN_SCALE:
		return scale(k, v, room);
	case K_ROPE_ATTN:
	case K_YARN_ATTN:
		return is_long(k) == (key == K_ROPE_ATTN) ? plain(k, K_ATTENTION_FACTOR) : NULL;
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
	if (member(k->config, "quantization_config"))
		return err_set(err, INFER_EUNSUP, "key quantization_config: not supported");
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
