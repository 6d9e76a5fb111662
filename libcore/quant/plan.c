/* quant/plan.c - choose a type for each tensor. */
#include "quant/plan.h"
#include <infer/kvtype.h>
#include "base/cpu.h"
#include "base/err.h"
#include "file/file.h"
#include "kern/kern.h"
#include "quant/adapt.h"
#include "quant/gptq.h"
#include "type/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int quant_how(int *how, const char *isa, infer_error *err)
{
	uint64_t have = cpu_features();

	if (isa)
		TRY(kern_limit(&have, isa, err));
	*how = have & CPU_AVX512F ? 0 : have & CPU_AVX2 ? ENCODE_256 : ENCODE_128;
	return INFER_OK;
}

/* Compare by layer, then by name: the rules of mixes count tensors in that order. */
static int by_layer(const void *a, const void *b)
{
	const struct infer_str *x = &(*(const struct quant_tensor *const *)a)->in->name,
			       *y = &(*(const struct quant_tensor *const *)b)->in->name;
	int i = mix_layer(*x), j = mix_layer(*y);
	size_t n = x->len < y->len ? x->len : y->len;

	if (i != j)
		return i < j ? -1 : 1;
	int order = memcmp(x->at, y->at, n);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* minimum number of rows to measure importances of an expert over, if its type needs them */
enum { LEAST_ROWS = 8 };

static int is_float(int type)
{
	return type == INFER_F32 || type == INFER_F16 || type == INFER_BF16 || type == INFER_F64;
}

/* INFER_EINVAL: the importances of an expert were measured over too few rows to be meaningful. */
static int check_rows(const infer_quant *q, const struct quant_tensor *t, infer_error *err)
{
	uint64_t expert;
	float rows = importance_rows(q->importance, t->in->name, &expert);

	if (t->in->ne[2] == 1 || rows >= LEAST_ROWS)
		return INFER_OK;
	return err_set(err, INFER_EINVAL,
	               "tensor %.*s: the importances of expert %llu are from %g rows, and %s needs "
	               "%d: measure them over more text",
	               (int)t->in->name.len, t->in->name.at, (unsigned long long)expert,
	               (double)rows, infer_type_info(t->type)->name, LEAST_ROWS);
}

/* Set the importances of a tensor: one per column, shared by its matrices or for each. */
static int set_importance(infer_quant *q, struct quant_tensor *t, const struct mix *m, int gptq,
                          infer_error *err)
{
	const struct infer_tensor *in = t->in;
	uint64_t columns = (uint64_t)in->ne[0], all = columns * (uint64_t)(in->ne[2] * in->ne[3]);

	if (q->importance)
		t->importance = importance_get(q->importance, in->name, &t->n_importance);
	if (t->importance && t->n_importance != columns && t->n_importance != all) {
		if (in->name.len != sizeof "token_embd.weight" - 1 ||
		    memcmp(in->name.at, "token_embd.weight", in->name.len))
			return err_set(err, INFER_EFORMAT,
			               "tensor %.*s: %zu importances for %llu columns in %lld "
			               "matrices",
			               (int)in->name.len, in->name.at, t->n_importance,
			               (unsigned long long)columns,
			               (long long)(in->ne[2] * in->ne[3]));
		t->importance = NULL;
	}
	if (!t->importance && !gptq && mix_needs_importance(m, in, t->type)) {
		q->info.needs_importance = 1;
		if (!q->dry)
			return err_set(err, INFER_EINVAL,
			               "tensor %.*s: %s needs importances: give an importance "
			               "matrix that has them (--imatrix)",
			               (int)in->name.len, in->name.at,
			               infer_type_info(t->type)->name);
	}
	if (t->importance && !gptq && !q->dry && mix_needs_importance(m, in, t->type))
		TRY(check_rows(q, t, err));
	if (t->plain)
		t->importance = NULL;
	return INFER_OK;
}

/* Let GPTQ round the tensor if it can, else use the search.  Fails with the rule's code if the rule
 * demands GPTQ, which cannot round the tensor.  rule: may be NULL. */
static int take_gptq(infer_quant *q, struct quant_tensor *t, const struct override_rule *rule,
                     infer_error *err)
{
	int wants = rule && rule->method == METHOD_GPTQ;

	if (gptq_takes(t->type) && q->gptq)
		t->gptq = hessian_find(q->gptq, t->in);
	if (!wants || t->gptq || (q->dry && !q->gptq && gptq_takes(t->type)))
		return INFER_OK;
	if (!gptq_takes(t->type))
		return err_set(err, rule->code,
		               "%s: GPTQ rounds to types of up to 5 bits, not to %s", rule->label,
		               infer_type_info(t->type)->name);
	return err_set(err, rule->code,
	               "%s: GPTQ does not round %.*s, which is not a matrix of a layer",
	               rule->label, (int)t->in->name.len, t->in->name.at);
}

static int choose_type(infer_quant *q, struct quant_tensor *t, struct mix *m,
                       struct overrides *keep, infer_error *err)
{
	const struct infer_tensor *in = t->in;
	const struct override_rule *rule;
	int type, method;

	if (!mix_takes(m, in) || (in->type >= INFER_I8 && in->type <= INFER_I64)) {
		q->info.n_encoded += adapt_changes(t);
		return INFER_OK;
	}
	TRY(mix_choose(&type, m, in, err));
	TRY(override_find(&rule, keep, in->name, err));
	method = rule && rule->method >= 0 ? rule->method : q->recipe->method;
	t->wanted = (uint8_t)(rule ? rule->type : type);
	t->type = (uint8_t)mix_fit(t->wanted, in->ne[0]);
	if (t->type == in->type)
		t->wanted = t->type;
	if (t->type == in->type && !adapt_changes(t))
		return INFER_OK;
	if (!type_get(t->type)->encode)
		return err_set(err, INFER_EINVAL, "tensor %.*s: weights are not written as %s",
		               (int)in->name.len, in->name.at, infer_type_info(t->type)->name);
	t->plain = method == METHOD_RTN ? ENCODE_PLAIN : 0;
	if (method == METHOD_GPTQ)
		TRY(take_gptq(q, t, rule, err));
	TRY(set_importance(q, t, m,
	                   t->gptq || (method == METHOD_GPTQ && !q->gptq && gptq_takes(t->type)),
	                   err));
	q->info.n_gptq += t->gptq != NULL;
	q->info.n_encoded++;
	q->info.n_again += !is_float(in->type);
	q->info.n_fallback += t->type != t->wanted;
	q->info.n_unweighed +=
		q->importance && !t->importance && !t->gptq && !t->plain && !is_float(t->type);
	return INFER_OK;
}

static int choose_types(infer_quant *q, infer_error *err)
{
	struct quant_tensor **order = mem_alloc(MEM_QUANT, q->n, sizeof *order);
	struct overrides *keep = NULL;
	struct mix m;
	int rc = order ? INFER_OK : err_nomem(err);

	if (!rc)
		rc = mix_init(&m, q->name, q->importance || q->recipe->method == METHOD_GPTQ, q->in,
		              err);
	if (!rc)
		m.tied &= !q->is_untied;
	if (!rc)
		rc = override_new(&keep, q->recipe->rules, q->recipe->n, err);
	for (uint64_t i = 0; !rc && i < q->n; i++)
		order[i] = &q->tensors[i];
	if (!rc)
		qsort(order, q->n, sizeof *order, by_layer);
	for (uint64_t i = 0; !rc && i < q->n; i++)
		rc = choose_type(q, order[i], &m, keep, err);
	if (!rc)
		rc = override_check(keep, err);
	override_free(keep);
	mem_free(order);
	return rc;
}

static int add_tensors(infer_quant *q, infer_error *err)
{
	struct infer_file_info info;

	infer_file_info(q->in, &info);
	q->n = info.n_tensors;
	if (!q->n)
		return err_set(err, INFER_EUNSUP, "the model contains no tensor");
	q->tensors = mem_zalloc(MEM_QUANT, q->n, sizeof *q->tensors);
	if (!q->tensors)
		return err_nomem(err);
	for (uint64_t i = 0; i < q->n; i++) {
		const struct infer_tensor *in = infer_file_tensor_at(q->in, i);

		q->tensors[i] = (struct quant_tensor){ .in = in,
			                               .type = (uint8_t)in->type,
			                               .wanted = (uint8_t)in->type,
			                               .error = -1 };
	}
	return INFER_OK;
}

static void set_info(infer_quant *q)
{
	struct infer_quant_info *info = &q->info;

	info->type = q->name ? q->name->name : NULL;
	info->file_type = q->name ? q->name->file_type : -1;
	info->n_tensors = q->n;
	info->method = q->recipe ? method_name(q->recipe->method) : NULL;
	info->core = q->gptq ? q->gptq->core : NULL;
	info->text = q->gptq ? q->gptq->id : NULL;
	for (uint64_t i = 0; i < q->n; i++) {
		struct quant_tensor *t = &q->tensors[i];
		const struct infer_type_info *type = infer_type_info(t->type);

		t->bytes =
			quant_elements(t->in) / (uint64_t)type->block * (uint64_t)type->block_bytes;
		info->n_elements += quant_elements(t->in);
		info->in_bytes += t->in->bytes;
		info->out_bytes += t->bytes;
	}
}

/* Open the importance matrix at `path`, or that of the recipe if path is NULL.  The output's
 * metadata contains its name in the recipe. */
static int open_importance(infer_quant *q, const char *path, infer_error *err)
{
	const infer_recipe *r = q->recipe;
	const char *from = path ? path : r->imatrix;

	q->imatrix = r->imatrix;
	if (!from)
		return INFER_OK;
	if (!q->imatrix) {
		q->own_imatrix = mem_strndup(MEM_QUANT, from, strlen(from));
		if (!q->own_imatrix)
			return err_nomem(err);
		q->imatrix = q->own_imatrix;
	}
	TRY(recipe_file_sha256(q->imatrix_sha256, from, err));
	if (r->imatrix_sha256 && strcmp(r->imatrix_sha256, q->imatrix_sha256))
		return err_set(err, INFER_EFORMAT, "%s: %s has another SHA-256", r->at_imatrix,
		               file_label(from));
	return importance_open(&q->importance, from, err);
}

static int fail_gptq(const struct recipe_gptq *r, const char *what, infer_error *err)
{
	return err_set(err, INFER_EFORMAT, "%s: %s", r->at, what);
}

/* Check that GPTQ has run the text as the recipe demands.  A recipe made on another kind of
 * processor only gives a warning: the bytes may differ. */
static int check_gptq(infer_quant *q, infer_error *err)
{
	const struct infer_gptq_text *t = &q->gptq->text;
	const struct recipe_gptq *r = &q->recipe->gptq;
	struct infer_engine_info e;

	infer_engine_info(t->engine, &e);
	snprintf(q->kv_type, sizeof q->kv_type, e.k_type == e.v_type ? "%s" : "%s,%s",
	         infer_kv_name(e.k_type), infer_kv_name(e.v_type));
	q->read =
		(struct recipe_gptq){ .sha256 = t->sha256,
		                      .files_sha256 = t->files_sha256 ? t->files_sha256 : t->sha256,
		                      .kv_type = q->kv_type,
		                      .act_type = e.act_type == INFER_BF16 ? "bf16" : "f32",
		                      .core = q->gptq->core,
		                      .window = t->window };
	if (r->sha256 && t->sha256 && strcmp(r->sha256, t->sha256))
		return fail_gptq(r, "the text has another SHA-256", err);
	if (r->window && r->window != t->window)
		return fail_gptq(r, "the text has windows of another size", err);
	if (r->kv_type && strcmp(r->kv_type, q->read.kv_type))
		return fail_gptq(r, "the cache has another type", err);
	if (r->act_type && strcmp(r->act_type, q->read.act_type))
		return fail_gptq(r, "activations have another type", err);
	if (r->core && strcmp(r->core, q->read.core) && t->log)
		t->log(t->log_user, INFER_LOG_WARN,
		       "the recipe was made on another kind of processor: the bytes of GPTQ may "
		       "differ");
	return INFER_OK;
}

static int check_method(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	if (!recipe_gptq(q->recipe)) {
		q->gptq = NULL;
		return o->gptq ? err_set(err, INFER_EINVAL, "GPTQ has nothing to do") : INFER_OK;
	}
	if (q->recipe->method == METHOD_GPTQ && !gptq_takes(q->name->base) &&
	    !q->recipe->max_bytes && !(q->recipe->bpw > 0))
		return err_set(err, INFER_EINVAL, "GPTQ rounds to types of up to 5 bits, not to %s",
		               q->name->name);
	if (q->gptq)
		return check_gptq(q, err);
	return o->dry ? INFER_OK : err_set(err, INFER_EINVAL, "GPTQ needs a text");
}

/* Set q->recipe to the given recipe, or make one from the options, and check it. */
static int take_recipe(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	char similar[MIX_SIMILAR];
	infer_recipe r;

	if (o->recipe && (o->type || o->n_keep))
		return err_set(err, INFER_EINVAL,
		               "a recipe cannot be combined with --type or --keep");
	if (o->type && !mix_find(o->type)) {
		mix_similar(similar, o->type);
		return err_set(err, INFER_EINVAL, "'%.60s' is not a type or mix%s", o->type,
		               *similar ? similar : "; the manual of infer-quant lists them");
	}
	if (!o->recipe && o->type) {
		TRY(recipe_make(&q->own_recipe, mix_find(o->type), o->imatrix, o->keep, o->n_keep,
		                err));
		q->own_recipe->method = o->method ? method_find(o->method)
		                        : o->gptq ? METHOD_GPTQ
		                                  : METHOD_SEARCH;
		if (q->own_recipe->method < 0)
			return err_set(err, INFER_EINVAL, "'%.60s' is not a method", o->method);
	}
	q->recipe = o->recipe ? o->recipe : q->own_recipe;
	if (!q->recipe)
		return INFER_OK;
	q->name = q->recipe->name;
	if (!q->name)
		return err_set(err, INFER_EINVAL,
		               "the recipe needs a type for tensors without a pattern");
	TRY(check_method(q, o, err));
	TRY(open_importance(q, o->imatrix, err));
	r = *q->recipe;
	if (q->gptq)
		r.gptq = q->read;
	r.imatrix = q->imatrix;
	r.imatrix_sha256 = q->imatrix ? q->imatrix_sha256 : NULL;
	TRY(recipe_text(&q->text, &r, err));
	return q->text.bad ? err_nomem(err) : INFER_OK;
}

static int plan_tensors(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	q->opts = o;
	q->shard_bytes = o->shard_bytes;
	q->dry = o->dry;
	q->verify = o->verify;
	q->zstd = o->zstd;
	q->gptq = o->gptq;
	TRY(quant_how(&q->how, o->isa, err));
	TRY(take_recipe(q, o, err));
	TRY(add_tensors(q, err));
	TRY(adapt_plan(q, o, err));
	TRY(q->name ? choose_types(q, err) : adapt_types(q, err));
	if (q->gptq && !q->info.n_gptq)
		return err_set(
			err, INFER_EINVAL,
			"GPTQ has nothing to do: no matrix of a layer gets a type of up to 5 "
			"bits");
	set_info(q);
	TRY(quant_heads(q, err));
	q->opts = NULL;
	q->info.n_shards = q->n_shards;
	for (int i = 0; i < q->n_shards; i++)
		q->info.file_bytes += q->shards[i].file_bytes;
	return INFER_OK;
}

int infer_quant_new(infer_quant **out, const infer_file *in, const struct infer_quant_opts *o,
                    infer_error *err)
{
	infer_quant *q = mem_zalloc(MEM_QUANT, 1, sizeof *q);

	*out = NULL;
	if (!q)
		return err_nomem(err);
	q->in = in;
	buf_init(&q->text, MEM_QUANT);
	int rc = plan_tensors(q, o, err);

	if (rc) {
		infer_quant_free(q);
		return rc;
	}
	*out = q;
	return INFER_OK;
}

void infer_quant_free(infer_quant *q)
{
	if (!q)
		return;
	for (int i = 0; i < q->n_shards; i++)
		buf_fini(&q->shards[i].head);
	importance_free(q->importance);
	infer_recipe_free(q->own_recipe);
	mem_free(q->own_imatrix);
	buf_fini(&q->text);
	mem_free(q->shards);
	mem_free(q->tensors);
	mem_free(q);
}

const char *infer_quant_recipe(const infer_quant *q) { return q->text.at; }

void infer_quant_info(const infer_quant *q, struct infer_quant_info *info) { *info = q->info; }

int infer_quant_tensor(const infer_quant *q, uint64_t i, struct infer_quant_tensor *t,
                       infer_error *err)
{
	if (i >= q->n)
		return err_set(err, INFER_EINVAL, "there is no tensor %llu", (unsigned long long)i);
	const struct quant_tensor *from = &q->tensors[i];

	*t = (struct infer_quant_tensor){
		.in = from->in,
		.type = from->type,
		.wanted = from->wanted,
		.shard = from->shard,
		.bytes = from->bytes,
		.weighed = from->importance != NULL || from->gptq,
		.gptq = from->gptq != NULL,
		.plain = from->plain != 0,
		.merged = adapt_changes(from),
		.error = from->error,
	};
	return INFER_OK;
}

const char *infer_quant_name(int i, int *file_type)
{
	const struct mix_name *n = mix_at(i);

	if (n && file_type)
		*file_type = n->file_type;
	return n ? n->name : NULL;
}
