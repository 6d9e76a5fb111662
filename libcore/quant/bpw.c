/* quant/bpw.c - bits-per-weight search: choose the types of all tensors for a size. */
#include "quant/bpw.h"
#include "base/err.h"
#include "base/sha256.h"
#include "type/type.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 512, TRIES = 8 };

/* ---- which tensors ---- */

static int set_override(struct bpw_tensor *t, int type, infer_error *err)
{
	type = mix_fit(type, t->in->ne[0]);
	if (type != t->in->type && !type_get(type)->encode)
		return err_set(err, INFER_EINVAL, "tensor %.*s: weights are not written as %s",
		               (int)t->in->name.len, t->in->name.at, infer_type_info(type)->name);
	t->at[0].type = type;
	t->at[0].bytes = type_row_bytes(type, (int64_t)quant_elements(t->in));
	t->n = 1;
	return INFER_OK;
}

static int add_tensor(struct bpw_search *a, uint64_t index, const struct infer_tensor *in,
                      struct overrides *overrides, infer_error *err)
{
	uint64_t columns = (uint64_t)in->ne[0], all = columns * (uint64_t)(in->ne[2] * in->ne[3]);
	struct bpw_tensor *t = &a->t[a->n];
	const struct override_rule *kept;

	*t = (struct bpw_tensor){ .in = in, .index = index, .group = -1 };
	if (a->importance)
		t->importance = importance_get(a->importance, in->name, &t->n_importance);
	if (t->n_importance != columns && t->n_importance != all)
		t->importance = NULL;
	TRY(override_find(&kept, overrides, in->name, err));
	t->method = kept ? kept->method : -1;
	if (kept)
		TRY(set_override(t, kept->type, err));
	a->n++;
	return INFER_OK;
}

static int list_tensors(struct bpw_search *a, struct overrides *overrides, infer_error *err)
{
	const struct infer_tensor *in;
	struct infer_file_info info;
	struct mix m;

	infer_file_info(a->in, &info);
	TRY(mix_init(&m, mix_find("F16"), 0, a->in, err));
	a->t = mem_alloc(MEM_QUANT, info.n_tensors, sizeof *a->t);
	if (!a->t)
		return err_nomem(err);
	for (uint64_t i = 0; (in = infer_file_tensor_at(a->in, i)); i++)
		if (mix_takes(&m, in) && !(in->type >= INFER_I8 && in->type <= INFER_I64))
			TRY(add_tensor(a, i, in, overrides, err));
	return a->n ? override_check(overrides, err)
	            : err_set(err, INFER_EUNSUP, "the model has no tensor to quantise");
}

/* Return the part of a tensor's name after "blk.N", or the whole name. */
static struct infer_str name_in_layer(struct infer_str name)
{
	const char *dot = mix_layer(name) < 0 ? NULL : memchr(name.at + 4, '.', name.len - 4);

	if (dot)
		name = (struct infer_str){ dot, name.len - (size_t)(dot - name.at) };
	return name;
}

static int same_group(const struct bpw_tensor *a, const struct bpw_tensor *b, int layers)
{
	struct infer_str x = name_in_layer(a->in->name), y = name_in_layer(b->in->name);

	return x.len == y.len && !memcmp(x.at, y.at, x.len) &&
	       mix_layer(a->in->name) / layers == mix_layer(b->in->name) / layers;
}

/* Group the tensors of the same role in runs of `layers` layers; `layers` is the least number that
 * gives at most BPW_GROUPS groups. */
static void make_groups(struct bpw_search *a)
{
	int layers = 1;

	do {
		a->n_groups = 0;
		for (size_t i = 0; i < a->n; i++) {
			size_t j = 0;

			a->t[i].group = -1;
			if (a->t[i].n < 2)
				continue;
			while (j < i && (a->t[j].n < 2 || !same_group(&a->t[j], &a->t[i], layers)))
				j++;
			a->t[i].group = j < i ? a->t[j].group : a->n_groups++;
		}
	} while (a->n_groups > BPW_GROUPS && layers++ < 1 << 12);
}

/* ---- the recipe ---- */

/* Return the mix to write to general.file_type: that of the type of most weights, NULL if none. */
static const struct mix_name *mix_of(const struct bpw_search *a)
{
	uint64_t weights[INFER_TYPE_COUNT] = { 0 };
	const struct mix_name *name, *found = NULL;
	int most = 0;

	for (size_t i = 0; i < a->n; i++)
		weights[a->t[i].at[a->t[i].chosen].type] += quant_elements(a->t[i].in);
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		most = weights[i] > weights[most] ? i : most;
	for (int i = 0; (name = mix_at(i)); i++)
		if (name->base == most && (!found || (name->alone && !found->alone)))
			found = name;
	return found ? found : mix_find("F16");
}

static char *exact_pattern(struct arena *mem, struct infer_str name)
{
	char *s = arena_raw(mem, 2 * name.len + 3), *p = s;

	if (!s)
		return NULL;
	*p++ = '^';
	for (size_t i = 0; i < name.len; i++) {
		if (strchr("\\^$.|?*+()[]{}", name.at[i]))
			*p++ = '\\';
		*p++ = name.at[i];
	}
	*p++ = '$';
	*p = 0;
	return s;
}

static int make_recipe(infer_recipe **out, const struct bpw_search *a, infer_error *err)
{
	const infer_recipe *from = a->recipe;
	char hex[65];
	infer_recipe *r;

	TRY(recipe_make(out, mix_of(a), from->imatrix, NULL, 0, err));
	r = *out;
	r->method = from->method;
	recipe_copy_gptq(r, &from->gptq);
	if (from->imatrix_sha256)
		r->imatrix_sha256 = arena_strndup(&r->mem, from->imatrix_sha256, 64);
	r->max_bytes = from->max_bytes;
	r->bpw = from->bpw;
	sha256_name(hex, a->o->text, a->o->text_bytes);
	r->text_sha256 = arena_strndup(&r->mem, hex, 64);
	r->window = a->window;
	r->rules = arena_alloc(&r->mem, a->n, sizeof *r->rules);
	for (size_t i = 0; r->rules && i < a->n; i++) {
		const struct bpw_tensor *t = &a->t[i];

		r->rules[i] =
			(struct override_rule){ .pattern = exact_pattern(&r->mem, t->in->name),
			                        .type = t->at[t->chosen].type,
			                        .method = t->method,
			                        .code = INFER_EINVAL };
		r->rules[i].label = r->rules[i].pattern;
	}
	r->n = a->n;
	if (!r->mem.bad)
		return INFER_OK;
	infer_recipe_free(r);
	*out = NULL;
	return err_nomem(err);
}

/* ---- the size ---- */

/* Set *now to the size that a recipe gives and a->most to its limit, both in bytes: of the file if
 * the target is max_bytes, of the tensors if it is bpw. */
static int count_bytes(uint64_t *now, struct bpw_search *a, const infer_recipe *r, infer_error *err)
{
	const struct infer_quant_opts o = {
		.recipe = r, .imatrix = a->o->imatrix, .shard_bytes = a->o->shard_bytes, .dry = 1
	};
	struct infer_quant_info info;
	infer_quant *q;

	TRY(infer_quant_new(&q, a->in, &o, err));
	infer_quant_info(q, &info);
	infer_quant_free(q);
	a->elements = info.n_elements;
	a->most = a->recipe->max_bytes ? a->recipe->max_bytes
	                               : (uint64_t)(a->recipe->bpw * (double)info.n_elements / 8);
	*now = a->recipe->max_bytes ? info.file_bytes : info.out_bytes;
	return INFER_OK;
}

/* Make the recipe of the current choice, and count its bytes. */
static int try_choice(infer_recipe **out, uint64_t *now, struct bpw_search *a, infer_error *err)
{
	TRY(make_recipe(out, a, err));
	int rc = count_bytes(now, a, *out, err);

	if (rc) {
		infer_recipe_free(*out);
		*out = NULL;
	}
	return rc;
}

static int refuse_size(const struct bpw_search *a, uint64_t least, infer_error *err)
{
	if (a->recipe->max_bytes)
		return err_set(err, INFER_EINVAL,
		               "%llu bytes are too few for the file: it needs at least %llu",
		               (unsigned long long)a->most, (unsigned long long)least);
	return err_set(err, INFER_EINVAL,
	               "%g bits per weight are too few: the model needs at least %.4f",
	               a->recipe->bpw, 8 * (double)least / (double)a->elements);
}

/* Set *rest to all bytes except those of the tensors to choose, computed with their smallest types.
 * INFER_EINVAL: the limit is exceeded even then. */
static int find_rest(uint64_t *rest, struct bpw_search *a, infer_error *err)
{
	infer_recipe *r;
	uint64_t now;

	TRY(try_choice(&r, &now, a, err));
	infer_recipe_free(r);
	if (now > a->most)
		return refuse_size(a, now, err);
	*rest = now - bpw_least(a);
	return INFER_OK;
}

/* Choose the types.  Repeats with a smaller size until the file fits, because `rest` depends a
 * little on the choice. */
static int choose_types(infer_recipe **out, struct bpw_search *a, uint64_t rest, infer_error *err)
{
	uint64_t now;

	for (int i = 0; i < TRIES; i++) {
		if (a->most < rest + bpw_least(a))
			return refuse_size(a, rest + bpw_least(a), err);
		TRY(bpw_fit(a, a->most - rest, err));
		TRY(try_choice(out, &now, a, err));
		if (now <= a->most)
			return INFER_OK;
		infer_recipe_free(*out);
		*out = NULL;
		rest += now - a->most;
	}
	return err_set(err, INFER_EUNSUP, "found no choice of types that fits into %llu bytes",
	               (unsigned long long)a->most);
}

/* ---- the search ---- */

static int read_target(struct bpw_search *a, infer_error *err)
{
	const struct infer_bpw_opts *o = a->o;
	char hex[65];

	if (!o->recipe) {
		TRY(recipe_make(&a->made, NULL, o->imatrix, o->keep, o->n_keep, err));
		a->made->method = o->method ? method_find(o->method) : METHOD_SEARCH;
		if (a->made->method < 0)
			return err_set(err, INFER_EINVAL, "'%.60s' is not a method", o->method);
		a->made->max_bytes = o->max_bytes;
		a->made->bpw = o->bpw;
	}
	a->recipe = o->recipe ? o->recipe : a->made;
	if (a->recipe->name || (a->recipe->max_bytes != 0) + (a->recipe->bpw > 0) != 1)
		return err_set(err, INFER_EINVAL,
		               "the search needs one size, max_bytes or bpw, and no type");
	sha256_name(hex, o->text, o->text_bytes);
	if (a->recipe->text_sha256 && strcmp(hex, a->recipe->text_sha256))
		return err_set(err, INFER_EFORMAT, "%s: the text has another SHA-256",
		               a->recipe->at_text);
	return INFER_OK;
}

static int open_importance(struct bpw_search *a, infer_error *err)
{
	const char *from = a->o->imatrix ? a->o->imatrix : a->recipe->imatrix;
	char hex[65];

	if (!from)
		return INFER_OK;
	TRY(recipe_file_sha256(hex, from, err));
	if (a->recipe->imatrix_sha256 && strcmp(a->recipe->imatrix_sha256, hex))
		return err_set(err, INFER_EFORMAT, "%s: %s has another SHA-256",
		               a->recipe->at_imatrix, from);
	return importance_open(&a->importance, from, err);
}

static int prepare_search(struct bpw_search *a, infer_error *err)
{
	const struct infer_engine_opts *e = &a->o->engine;
	struct overrides *overrides = NULL;
	int rc;

	TRY(read_target(a, err));
	a->window = e->ctx ? e->ctx : a->recipe->window ? a->recipe->window : WINDOW;
	TRY(open_importance(a, err));
	TRY(quant_how(&a->how, e->isa, err));
	TRY(pool_new(&a->pool, e->threads ? e->threads : 1, err));
	rc = override_new(&overrides, a->recipe->rules, a->recipe->n, err);
	if (!rc)
		rc = list_tensors(a, overrides, err);
	override_free(overrides);
	return rc;
}

static int run_search(infer_recipe **out, struct bpw_search *a, struct bpw_probe **probe,
                      infer_error *err)
{
	uint64_t rest = 0;

	TRY(prepare_search(a, err));
	TRY(bpw_probe_open(probe, a, err));
	TRY(bpw_errors(a, err));
	TRY(find_rest(&rest, a, err));
	make_groups(a);
	TRY(bpw_probe(*probe, 8 * (double)a->most / (double)a->elements, err));
	return choose_types(out, a, rest, err);
}

int infer_bpw_search(infer_recipe **out, const infer_file *in, const struct infer_bpw_opts *o,
                     infer_error *err)
{
	struct bpw_search a = { .in = in, .o = o };
	struct bpw_probe *probe = NULL;

	*out = NULL;
	int rc = run_search(out, &a, &probe, err);

	bpw_probe_close(probe);
	pool_free(a.pool);
	importance_free(a.importance);
	infer_recipe_free(a.made);
	mem_free(a.t);
	return rc;
}
