/* quant/recipe_read.c - read recipes from YAML. */
#include <infer/kvtype.h>
#include "base/err.h"
#include "quant/recipe.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

#define BPW_LEAST 0.5
#define BPW_MOST 64.0

struct reader {
	infer_recipe *r;
	infer_error *err;
};

/* Return the position of y for messages: "FILE: line 3, column 7", with ": 'TEXT'" if text is not
 * NULL. */
static const char *place(struct reader *d, const struct ytree *y, const char *text)
{
	char s[320];

	snprintf(s, sizeof s, "%s: line %d, column %d%s%.80s%s", d->r->what, y->line, y->column,
	         text ? ": '" : "", text ? text : "", text ? "'" : "");
	return arena_strndup(&d->r->mem, s, strlen(s));
}

static int take_string(struct reader *d, const char **to, const struct ytree *y)
{
	const char *s;

	TRY(ytree_text(&s, y, d->r->what, d->err));
	*to = arena_strndup(&d->r->mem, s, y->n);
	return *to ? INFER_OK : err_nomem(d->err);
}

static int take_sha256(struct reader *d, const char **to, const struct ytree *y)
{
	TRY(take_string(d, to, y));
	if (y->n == 64 && strspn(*to, "0123456789abcdef") == 64)
		return INFER_OK;
	return ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                  "must be a SHA-256 of 64 hexadecimal digits");
}

/* ---- the keys: a table for each map ---- */

struct key {
	const char *name;
	int (*take)(struct reader *d, const struct ytree *y);
};

static int take_map(struct reader *d, const struct ytree *y, const struct key *keys)
{
	TRY(ytree_map(y, d->r->what, d->err));
	for (const struct ytree *m = y->first; m; m = m->next) {
		const struct key *k = keys;

		while (k->name && strcmp(k->name, m->key->at))
			k++;
		if (!k->name)
			return ytree_fail(m->key, d->r->what, d->err, INFER_EFORMAT,
			                  "'%.60s' is not a key here", m->key->at);
		TRY(k->take(d, m));
	}
	return INFER_OK;
}

static int imatrix_file(struct reader *d, const struct ytree *y)
{
	return take_string(d, &d->r->imatrix, y);
}

static int imatrix_sha256(struct reader *d, const struct ytree *y)
{
	d->r->at_imatrix = place(d, y, NULL);
	return take_sha256(d, &d->r->imatrix_sha256, y);
}

static int take_imatrix(struct reader *d, const struct ytree *y)
{
	static const struct key keys[] = { { "file", imatrix_file },
		                           { "sha256", imatrix_sha256 },
		                           { NULL, NULL } };

	TRY(take_map(d, y, keys));
	return d->r->imatrix ? INFER_OK
	                     : ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                                  "imatrix needs the key file");
}

static int target_bytes(struct reader *d, const struct ytree *y)
{
	return ytree_u64(&d->r->max_bytes, y, 1, (uint64_t)1 << 60, d->r->what, d->err);
}

static int target_bpw(struct reader *d, const struct ytree *y)
{
	return ytree_f64(&d->r->bpw, y, BPW_LEAST, BPW_MOST, d->r->what, d->err);
}

static int take_target(struct reader *d, const struct ytree *y)
{
	static const struct key keys[] = { { "max-bytes", target_bytes },
		                           { "bpw", target_bpw },
		                           { NULL, NULL } };

	TRY(take_map(d, y, keys));
	if ((d->r->max_bytes != 0) + (d->r->bpw > 0) == 1)
		return INFER_OK;
	return ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                  "target needs one of the keys max-bytes and bpw");
}

static int text_sha256(struct reader *d, const struct ytree *y)
{
	d->r->at_text = place(d, y, NULL);
	return take_sha256(d, &d->r->text_sha256, y);
}

static int text_window(struct reader *d, const struct ytree *y)
{
	uint64_t v;

	TRY(ytree_u64(&v, y, 4, INT32_MAX, d->r->what, d->err));
	d->r->window = (int32_t)v;
	return INFER_OK;
}

static int take_calibration(struct reader *d, const struct ytree *y)
{
	static const struct key keys[] = { { "sha256", text_sha256 },
		                           { "window", text_window },
		                           { NULL, NULL } };

	TRY(take_map(d, y, keys));
	return d->r->text_sha256 ? INFER_OK
	                         : ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                                      "calibration needs the key sha256");
}

static int take_version(struct reader *d, const struct ytree *y)
{
	uint64_t v;

	TRY(ytree_u64(&v, y, 1, INT32_MAX, d->r->what, d->err));
	if (v == RECIPE_VERSION)
		return INFER_OK;
	return ytree_fail(y, d->r->what, d->err, INFER_EUNSUP,
	                  "version %llu of recipes is not supported", (unsigned long long)v);
}

static int take_type(struct reader *d, const struct ytree *y)
{
	char similar[MIX_SIMILAR];
	const char *s;

	TRY(ytree_text(&s, y, d->r->what, d->err));
	d->r->name = mix_find(s);
	if (d->r->name)
		return INFER_OK;
	mix_similar(similar, s);
	return ytree_fail(y, d->r->what, d->err, INFER_EFORMAT, "'%.60s' is not a type or mix%s", s,
	                  similar);
}

static int read_method(struct reader *d, const struct ytree *y, int *method)
{
	const char *s;

	TRY(ytree_text(&s, y, d->r->what, d->err));
	*method = method_find(s);
	return *method >= 0 ? INFER_OK
	                    : ytree_fail(y, d->r->what, d->err, INFER_EUNSUP,
	                                 "'%.60s' is not a method", s);
}

static int take_method(struct reader *d, const struct ytree *y)
{
	return read_method(d, y, &d->r->method);
}

/* ---- the text of GPTQ ---- */

static int gptq_sha256(struct reader *d, const struct ytree *y)
{
	d->r->gptq.at = place(d, y, NULL);
	return take_sha256(d, &d->r->gptq.sha256, y);
}

static int gptq_window(struct reader *d, const struct ytree *y)
{
	uint64_t v;

	TRY(ytree_u64(&v, y, 4, INT32_MAX, d->r->what, d->err));
	d->r->gptq.window = (int32_t)v;
	return INFER_OK;
}

/* Return the end of the cache type's name at s; NULL: there is no such name. */
static const char *kv_end(const char *s)
{
	const struct infer_kv_type *t;

	for (int i = 0; (t = infer_kv_type(i)); i++) {
		size_t n = strlen(t->name);

		if (!strncmp(s, t->name, n) && (!s[n] || s[n] == ','))
			return s + n;
	}
	return NULL;
}

static int gptq_kv_type(struct reader *d, const struct ytree *y)
{
	TRY(take_string(d, &d->r->gptq.kv_type, y));
	const char *end = kv_end(d->r->gptq.kv_type);

	if (end && *end)
		end = kv_end(end + 1);
	if (end && !*end)
		return INFER_OK;
	return ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                  "'%.60s' is not a type of the cache", d->r->gptq.kv_type);
}

static int gptq_act_type(struct reader *d, const struct ytree *y)
{
	TRY(take_string(d, &d->r->gptq.act_type, y));
	if (!strcmp(d->r->gptq.act_type, "f32") || !strcmp(d->r->gptq.act_type, "bf16"))
		return INFER_OK;
	return ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                  "'%.60s' is not a type of activations", d->r->gptq.act_type);
}

static int gptq_core(struct reader *d, const struct ytree *y)
{
	return take_string(d, &d->r->gptq.core, y);
}

static int take_gptq(struct reader *d, const struct ytree *y)
{
	static const struct key keys[] = {
		{ "sha256", gptq_sha256 },   { "window", gptq_window },
		{ "kv-type", gptq_kv_type }, { "act-type", gptq_act_type },
		{ "core", gptq_core },       { NULL, NULL }
	};

	TRY(take_map(d, y, keys));
	return d->r->gptq.sha256 ? INFER_OK
	                         : ytree_fail(y, d->r->what, d->err, INFER_EFORMAT,
	                                      "gptq needs the key sha256");
}

/* ---- tensors ---- */

/* Read a type, or a map with a type and a method. */
static int take_rule(struct reader *d, struct override_rule *rule, const struct ytree *y)
{
	infer_recipe *r = d->r;
	const struct ytree *at = y;
	const char *type;

	if (y->kind == YTREE_MAP) {
		const struct ytree *method = ytree_get(y, "method");

		at = ytree_get(y, "type");
		for (const struct ytree *m = y->first; m; m = m->next)
			if (m != at && m != method)
				return ytree_fail(m->key, r->what, d->err, INFER_EFORMAT,
				                  "'%.60s' is not a key here", m->key->at);
		if (!at)
			return ytree_fail(y, r->what, d->err, INFER_EFORMAT,
			                  "a tensor needs the key type");
		if (method)
			TRY(read_method(d, method, &rule->method));
	}
	TRY(ytree_text(&type, at, r->what, d->err));
	rule->type = mix_type(type);
	return rule->type >= 0 ? INFER_OK
	                       : ytree_fail(at, r->what, d->err, INFER_EFORMAT,
	                                    "'%.60s' is not a type", type);
}

static int take_tensors(struct reader *d, const struct ytree *y)
{
	infer_recipe *r = d->r;

	TRY(ytree_map(y, r->what, d->err));
	r->rules = arena_alloc(&r->mem, y->n, sizeof *r->rules);
	for (const struct ytree *m = y->first; r->rules && m; m = m->next) {
		struct override_rule *rule = &r->rules[r->n++];

		TRY(take_string(d, &rule->pattern, m->key));
		rule->code = INFER_EFORMAT;
		rule->method = -1;
		TRY(take_rule(d, rule, m));
		rule->label = place(d, m->key, rule->pattern);
	}
	return r->mem.bad ? err_nomem(d->err) : INFER_OK;
}

static int take_root(struct reader *d, const struct ytree *y)
{
	static const struct key keys[] = { { "infer-recipe", take_version },
		                           { "type", take_type },
		                           { "method", take_method },
		                           { "imatrix", take_imatrix },
		                           { "target", take_target },
		                           { "calibration", take_calibration },
		                           { "tensors", take_tensors },
		                           { "gptq", take_gptq },
		                           { NULL, NULL } };
	infer_recipe *r = d->r;

	TRY(take_map(d, y, keys));
	if (!ytree_get(y, "infer-recipe"))
		return ytree_fail(y, r->what, d->err, INFER_EFORMAT,
		                  "not a recipe: it needs the key infer-recipe, its version");
	if (!r->name && !r->max_bytes && !(r->bpw > 0))
		return ytree_fail(y, r->what, d->err, INFER_EFORMAT,
		                  "a recipe needs the key type or target");
	return r->mem.bad ? err_nomem(d->err) : INFER_OK;
}

int infer_recipe_read(infer_recipe **out, const char *text, size_t bytes, const char *name,
                      infer_error *err)
{
	struct ytree *root = NULL;
	struct reader d = { .err = err };
	struct arena tree;
	int rc;

	TRY(recipe_make(out, NULL, NULL, NULL, 0, err));
	arena_init(&tree, MEM_QUANT);
	d.r = *out;
	d.r->what = arena_strndup(&d.r->mem, name, strlen(name));
	rc = d.r->what ? ytree_read(&root, &tree, text, bytes, name, err) : err_nomem(err);
	if (!rc && !root)
		rc = err_set(err, INFER_EFORMAT, "%s: line 1, column 1: the recipe is empty", name);
	if (!rc)
		rc = take_root(&d, root);
	arena_fini(&tree);
	if (rc) {
		infer_recipe_free(*out);
		*out = NULL;
	}
	return rc;
}
