/* hf/pack_ct.c - the quantisation config of compressed-tensors: formats, schemes, targets. */
#include "hf/pack_ct.h"
#include "base/err.h"
#include "hf/members.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMES_MAX = 64 };

static const char *const format_names[CT_FORMATS] = {
	"pack-quantized",       "int-quantized",        "float-quantized", "naive-quantized",
	"nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized",
};
#define FORMATS \
	"pack-quantized int-quantized float-quantized naive-quantized nvfp4-pack-quantized " \
	"mxfp4-pack-quantized mxfp8-quantized"

static const struct hf_member config_rows[] = {
	{ "quant_method", MEMBER_STRING, 0, 0, NULL },
	{ "format", MEMBER_STRING, 0, 0, FORMATS " mixed-precision" },
	{ "config_groups", MEMBER_ANY, 0, 0, NULL },
	{ "ignore", MEMBER_LIST, 0, 0, NULL },
	{ "kv_cache_scheme", MEMBER_ANY, 0, 0, NULL },
	{ "quantization_status", MEMBER_STRING, 0, 0, "compressed frozen" },
	{ "global_compression_ratio", MEMBER_ANY, 0, 0, NULL },
	{ "sparsity_config", MEMBER_ANY, 0, 0, NULL },
	{ "transform_config", MEMBER_ANY, 0, 0, NULL },
	{ "moe_sparsity_config", MEMBER_ANY, 0, 0, NULL },
	{ "version", MEMBER_STRING, 0, 0, NULL },
	{ "run_compressed", MEMBER_BOOL, 0, 0, NULL },
	{ "dequantize", MEMBER_BOOL, 0, 0, NULL },
	{ "use_optimized_inference", MEMBER_BOOL, 0, 0, NULL },
};
static const struct hf_member scheme_rows[] = {
	{ "targets", MEMBER_LIST, 0, 0, NULL },
	{ "weights", MEMBER_ANY, 0, 0, NULL },
	{ "input_activations", MEMBER_ANY, 0, 0, NULL },
	{ "output_activations", MEMBER_ANY, 0, 0, NULL },
	{ "format", MEMBER_STRING, 0, 0, FORMATS },
};
static const struct hf_member weight_rows[] = {
	{ "num_bits", MEMBER_WHOLE, 4, 8, NULL },
	{ "type", MEMBER_STRING, 0, 0, "int float" },
	{ "symmetric", MEMBER_BOOL, 0, 0, NULL },
	{ "group_size", MEMBER_WHOLE, -1, 1 << 20, NULL },
	{ "strategy", MEMBER_STRING, 0, 0, "tensor channel group block tensor_group" },
	{ "block_structure", MEMBER_ANY, 0, 0, NULL },
	{ "dynamic", MEMBER_FALSE, 0, 0, NULL },
	{ "actorder", MEMBER_ANY, 0, 0, NULL },
	{ "scale_dtype", MEMBER_STRING, 0, 0, NULL },
	{ "zp_dtype", MEMBER_STRING, 0, 0, NULL },
	{ "observer", MEMBER_STRING, 0, 0, NULL },
	{ "observer_kwargs", MEMBER_ANY, 0, 0, NULL },
};
/* Members of the schemes of activations and KV cache, whose scales are not used. */
static const struct hf_member act_rows[] = {
	{ "num_bits", MEMBER_WHOLE, 4, 16, NULL },
	{ "type", MEMBER_STRING, 0, 0, "int float" },
	{ "symmetric", MEMBER_BOOL, 0, 0, NULL },
	{ "group_size", MEMBER_WHOLE, -1, 1 << 20, NULL },
	{ "strategy", MEMBER_STRING, 0, 0,
	  "tensor channel group block tensor_group token attn_head" },
	{ "block_structure", MEMBER_ANY, 0, 0, NULL },
	{ "dynamic", MEMBER_ANY, 0, 0, NULL },
	{ "actorder", MEMBER_FALSE, 0, 0, NULL },
	{ "scale_dtype", MEMBER_STRING, 0, 0, NULL },
	{ "zp_dtype", MEMBER_STRING, 0, 0, NULL },
	{ "observer", MEMBER_STRING, 0, 0, NULL },
	{ "observer_kwargs", MEMBER_ANY, 0, 0, NULL },
};

/* Place in the config, for messages: a scheme, "config_groups.group_0", and a member of it. */
struct place {
	struct hf_dir *d;
	const char *scheme, *part; /* part NULL: the scheme itself; scheme NULL: the config */
};

/* Fail for an invalid value of `key`. */
static int bad_member(const struct place *p, const char *key, int code, infer_error *err,
                      const char *why)
{
	if (!p->scheme)
		return hf_bad_quant(p->d, code, err, "\"%s\" %s", key, why);
	return hf_bad_quant(p->d, code, err, "config_groups.%.40s%s%s: \"%s\" %s", p->scheme,
	                    p->part ? "." : "", p->part ? p->part : "", key, why);
}

/* Check members as hf_check_members does, with the place of v in messages. */
static int check_object(const struct place *p, const struct json *v, const struct hf_member *rows,
                        size_t n, infer_error *err)
{
	infer_error why = { 0 };
	int rc;

	if (!json_is_object(v))
		return hf_bad_quant(p->d, INFER_EFORMAT, err,
		                    "config_groups.%.40s%s%s must be an object", p->scheme,
		                    p->part ? "." : "", p->part ? p->part : "");
	rc = hf_check_members(p->d, v, rows, n, &why);
	return rc ? err_set(err, rc, "%s (in config_groups.%.40s%s%s)", why.message, p->scheme,
	                    p->part ? "." : "", p->part ? p->part : "")
	          : INFER_OK;
}

static int find_format(const struct json *v)
{
	for (int i = 0; i < CT_FORMATS; i++)
		if (json_equals(v, format_names[i]))
			return i;
	return -1;
}

/* --- weights of a scheme */

static int read_strategy(const struct place *p, const struct json *w, struct ct_scheme *s,
                         infer_error *err)
{
	static const char *const names[] = { "tensor", "channel", "group", "block",
		                             "tensor_group" };
	const struct json *v = json_get(w, "strategy"), *size = json_get(w, "group_size");
	int64_t group = json_is_whole(size) ? size->i : 0;

	s->strategy = group > 0 ? CT_GROUP : group < 0 ? CT_CHANNEL : CT_TENSOR;
	for (int i = 0; i < 5; i++)
		if (json_equals(v, names[i]))
			s->strategy = (enum ct_strategy)i;
	s->high = 1;
	s->wide = group;
	if ((s->strategy == CT_GROUP || s->strategy == CT_TENSOR_GROUP) && group <= 0)
		return bad_member(p, "group_size", INFER_EFORMAT, err,
		                  "must be a positive integer if \"strategy\" is \"group\"");
	if (s->strategy != CT_GROUP && s->strategy != CT_TENSOR_GROUP && group > 0)
		return bad_member(p, "group_size", INFER_EFORMAT, err,
		                  "must be absent unless \"strategy\" is \"group\"");
	return INFER_OK;
}

static int read_block(const struct place *p, const struct json *w, struct ct_scheme *s,
                      infer_error *err)
{
	const struct json *v = json_get(w, "block_structure"), *high = json_at(v, 0),
			  *wide = json_at(v, 1);

	if (json_is_null(v))
		v = NULL;
	if (!v && s->strategy != CT_BLOCK)
		return INFER_OK;
	if (s->strategy != CT_BLOCK)
		return bad_member(p, "block_structure", INFER_EFORMAT, err,
		                  "must be absent unless \"strategy\" is \"block\"");
	if (!json_is_array(v) || json_count(v) != 2 || !json_is(high, JSON_INT) ||
	    !json_is(wide, JSON_INT) || high->i < 1 || wide->i < 1 || high->i > 1 << 20 ||
	    wide->i > 1 << 20)
		return bad_member(p, "block_structure", INFER_EFORMAT, err,
		                  "must be an array of two positive integers");
	s->high = high->i;
	s->wide = wide->i;
	return INFER_OK;
}

static int read_order(const struct place *p, const struct json *w, struct ct_scheme *s,
                      infer_error *err)
{
	const struct json *v = json_get(w, "actorder");

	s->by_order = json_equals(v, "group") || json_equals(v, "dynamic") || json_is(v, JSON_TRUE);
	if (s->by_order && s->strategy != CT_GROUP)
		return bad_member(p, "actorder", INFER_EFORMAT, err,
		                  "is \"group\", but \"strategy\" is not");
	if (s->by_order || !v || json_is_null(v) || json_is(v, JSON_FALSE) ||
	    json_equals(v, "weight") || json_equals(v, "static"))
		return INFER_OK;
	return bad_member(p, "actorder", INFER_EUNSUP, err,
	                  "must be null, \"group\", \"weight\", \"static\" or \"dynamic\"");
}

/* Fail unless the format supports the weights of the scheme. */
static int check_format(const struct place *p, const struct ct_scheme *s, infer_error *err)
{
	static const struct {
		int is_float, bits, strategies;
		int64_t group; /* 0: any group size */
	} rows[CT_FORMATS] = {
		[CT_PACK] = { 0, 0, 1 << CT_TENSOR | 1 << CT_CHANNEL | 1 << CT_GROUP, 0 },
		[CT_INT] = { 0, 0, 1 << CT_TENSOR | 1 << CT_CHANNEL | 1 << CT_GROUP, 0 },
		[CT_FLOAT] = { 1, 8,
		               1 << CT_TENSOR | 1 << CT_CHANNEL | 1 << CT_GROUP | 1 << CT_BLOCK,
		               0 },
		[CT_NVFP4] = { 1, 4, 1 << CT_TENSOR_GROUP, 16 },
		[CT_MXFP4] = { 1, 4, 1 << CT_GROUP, 32 },
		[CT_MXFP8] = { 1, 8, 1 << CT_GROUP, 32 },
	};
	enum ct_format f = s->format != CT_NAIVE ? s->format : s->is_float ? CT_FLOAT : CT_INT;
	const char *name = format_names[s->format];

	if (s->is_float != rows[f].is_float)
		return hf_bad_quant(p->d, INFER_EFORMAT, err,
		                    "config_groups.%.40s.weights: \"type\" must be \"%s\" for "
		                    "\"format\" %s",
		                    p->scheme, rows[f].is_float ? "float" : "int", name);
	if ((s->bits != 4 && s->bits != 8) || (rows[f].bits && s->bits != rows[f].bits))
		return hf_bad_quant(p->d, INFER_EUNSUP, err,
		                    "config_groups.%.40s.weights: \"num_bits\" is %d: must be %s "
		                    "for \"format\" %s",
		                    p->scheme, s->bits,
		                    rows[f].bits == 4   ? "4"
		                    : rows[f].bits == 8 ? "8"
		                                        : "4 or 8",
		                    name);
	if (!(rows[f].strategies >> s->strategy & 1))
		return hf_bad_quant(p->d, INFER_EUNSUP, err,
		                    "config_groups.%.40s.weights: \"strategy\" is not supported "
		                    "for \"format\" %s",
		                    p->scheme, name);
	if (rows[f].group && s->wide != rows[f].group)
		return hf_bad_quant(p->d, INFER_EUNSUP, err,
		                    "config_groups.%.40s.weights: \"group_size\" is %lld: must be "
		                    "%lld for \"format\" %s",
		                    p->scheme, (long long)s->wide, (long long)rows[f].group, name);
	return INFER_OK;
}

static int read_weights(const struct place *p, const struct json *w, struct ct_scheme *s,
                        infer_error *err)
{
	const struct json *bits = json_get(w, "num_bits");

	TRY(check_object(p, w, weight_rows, sizeof weight_rows / sizeof *weight_rows, err));
	s->bits = json_is_whole(bits) ? (int)bits->i : 8;
	s->is_float = json_equals(json_get(w, "type"), "float");
	s->symmetric = !json_is(json_get(w, "symmetric"), JSON_FALSE);
	TRY(read_strategy(p, w, s, err));
	TRY(read_block(p, w, s, err));
	TRY(read_order(p, w, s, err));
	TRY(check_format(p, s, err));
	if (!s->symmetric && s->is_float)
		return bad_member(p, "symmetric", INFER_EUNSUP, err,
		                  "must be true if \"type\" is \"float\"");
	if (!s->symmetric && s->strategy == CT_TENSOR)
		return bad_member(p, "symmetric", INFER_EUNSUP, err,
		                  "must be true if \"strategy\" is \"tensor\"");
	if (s->by_order && s->format != CT_PACK)
		return bad_member(p, "actorder", INFER_EUNSUP, err,
		                  "is \"group\": supported for \"format\" pack-quantized only");
	return INFER_OK;
}

/* --- schemes */

static int note_activations(const struct place *p, const struct json *v, infer_error *err)
{
	const struct json *bits = json_get(v, "num_bits");

	return hf_note(p->d, err,
	               "config_groups.%.40s: %s of %d bits are quantised as --act-type says",
	               p->scheme, p->part, json_is_whole(bits) ? (int)bits->i : 8);
}

static int read_scheme(const struct json *v, const struct json *format, struct hf_dir *d,
                       struct ct_scheme *s, infer_error *err)
{
	struct place p = { d, s->name, NULL };
	const struct json *own = json_get(v, "format"), *in = json_get(v, "input_activations"),
			  *out = json_get(v, "output_activations");
	int f = find_format(json_is_string(own) ? own : format);

	TRY(check_object(&p, v, scheme_rows, sizeof scheme_rows / sizeof *scheme_rows, err));
	if (!json_count(json_get(v, "targets")))
		return bad_member(&p, "targets", INFER_EFORMAT, err, "must not be empty");
	if (f < 0)
		return bad_member(&p, "format", INFER_EUNSUP, err,
		                  "must be there if that of all is mixed-precision or absent");
	s->format = (enum ct_format)f;
	if (out && !json_is_null(out))
		return bad_member(&p, "output_activations", INFER_EUNSUP, err, "must be null");
	p.part = "input_activations";
	if (in && !json_is_null(in)) {
		TRY(check_object(&p, in, act_rows, sizeof act_rows / sizeof *act_rows, err));
		TRY(note_activations(&p, in, err));
	}
	p.part = "weights";
	return read_weights(&p, json_get(v, "weights"), s, err);
}

/* Add a list of targets; scheme -1: the list "ignore". */
static void add_targets(struct ct *c, const struct json *list, int scheme)
{
	json_each(v, list) {
		int pattern = v->n >= 3 && !memcmp(v->s, "re:", 3);
		struct ct_target *t =
			pattern ? &c->patterns[c->n_patterns++] : &c->names[c->n_names++];

		t->name = (struct infer_str){ v->s + 3 * pattern, v->n - 3u * (unsigned)pattern };
		t->scheme = scheme;
	}
}

static int read_schemes(struct hf_dir *d, const struct json *q, struct ct *c, infer_error *err)
{
	const struct json *groups = json_get(q, "config_groups"), *ignore = json_get(q, "ignore");
	size_t n = json_count(groups), targets = json_count(ignore);
	struct ct_scheme *s;

	if (!json_is_object(groups) || !n || n > SCHEMES_MAX)
		return hf_bad_quant(d, INFER_EFORMAT, err,
		                    "\"config_groups\" must be an object of 1 ... %d members",
		                    SCHEMES_MAX);
	c->schemes = s = arena_alloc(&d->arena, n, sizeof *s);
	json_each(v, groups)
		targets += json_count(json_get(v, "targets"));
	c->names = arena_alloc(&d->brief, targets + 1, sizeof *c->names);
	c->patterns = arena_alloc(&d->brief, targets + 1, sizeof *c->patterns);
	if (!s || !c->names || !c->patterns)
		return hf_nomem(d, err);
	json_each(v, groups) {
		struct ct_scheme *at = &s[c->n_schemes];
		char quoted[FILE_QUOTE];
		file_quote(quoted, v->key, v->key_n);
		at->name = arena_strndup(&d->arena, quoted, strlen(quoted));
		if (!at->name)
			return hf_nomem(d, err);
		TRY(read_scheme(v, json_get(q, "format"), d, at, err));
		add_targets(c, json_get(v, "targets"), c->n_schemes++);
	}
	add_targets(c, ignore, -1);
	return hf_ct_targets(d, c, err);
}

/* --- the rest of the config */

/* True if the object v has no setting that has an effect. */
static int is_empty(const struct json *v)
{
	return !v || json_is_null(v) || (json_is_object(v) && !json_count(v));
}

static int check_rest(struct hf_dir *d, const struct json *q, infer_error *err)
{
	const struct place p = { d, NULL, NULL };
	const struct json *sparse = json_get(q, "sparsity_config"),
			  *cache = json_get(q, "kv_cache_scheme");

	if (!is_empty(sparse) && !json_equals(json_get(sparse, "format"), "dense"))
		return bad_member(&p, "sparsity_config", INFER_EUNSUP, err,
		                  "must be null or of format \"dense\": sparse weights are not "
		                  "supported");
	if (!is_empty(json_get(q, "transform_config")))
		return bad_member(&p, "transform_config", INFER_EUNSUP, err,
		                  "must be null: transforms of weights are not supported");
	if (!is_empty(json_get(q, "moe_sparsity_config")))
		return bad_member(&p, "moe_sparsity_config", INFER_EUNSUP, err,
		                  "must be null: pruned experts are not supported");
	if (is_empty(cache))
		return INFER_OK;
	if (!json_is_object(cache))
		return bad_member(&p, "kv_cache_scheme", INFER_EFORMAT, err,
		                  "must be an object or null");
	TRY(HF_CHECK_MEMBERS(d, cache, act_rows, err));
	return hf_note(d, err, "kv_cache_scheme is not used: --kv-type chooses the cache's type");
}

int hf_ct_config(struct hf_dir *d, const struct json *q, const void **own, infer_error *err)
{
	struct ct *c = arena_alloc(&d->arena, 1, sizeof *c);

	if (!c)
		return hf_nomem(d, err);
	*own = c;
	TRY(HF_CHECK_MEMBERS(d, q, config_rows, err));
	TRY(check_rest(d, q, err));
	return read_schemes(d, q, c, err);
}
