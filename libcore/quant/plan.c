/* quant/plan.c - a type for each tensor. */
#include "quant/plan.h"
#include "base/err.h"
#include "quant/keep.h"
#include "type/type.h"

#include <stdlib.h>
#include <string.h>

/* The rules count tensors in the order of layers, and of names within one. */
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

static int is_float(int type)
{
	return type == INFER_F32 || type == INFER_F16 || type == INFER_BF16 || type == INFER_F64;
}

/* The importances of a tensor: as many as it has columns, or that for each matrix. */
static int weigh(infer_quant *q, struct quant_tensor *t, const struct mix *m, infer_error *err)
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
	if (!t->importance && mix_needs_importance(m, in, t->type)) {
		q->info.needs_importance = 1;
		if (!q->dry)
			return err_set(err, INFER_EINVAL,
			               "tensor %.*s: %s without importances is of no use: give "
			               "an importance matrix that has it",
			               (int)in->name.len, in->name.at,
			               infer_type_info(t->type)->name);
	}
	return INFER_OK;
}

static int choose(infer_quant *q, struct quant_tensor *t, struct mix *m, struct keep *keep,
                  infer_error *err)
{
	const struct infer_tensor *in = t->in;
	int type, kept;

	if (!mix_takes(m, in) || (in->type >= INFER_I8 && in->type <= INFER_I64))
		return INFER_OK;
	TRY(mix_choose(&type, m, in, err));
	TRY(keep_find(&kept, keep, in->name, err));
	t->wanted = (uint8_t)(kept >= 0 ? kept : type);
	t->type = (uint8_t)mix_fit(t->wanted, in->ne[0]);
	if (t->type == in->type) {
		t->wanted = t->type;
		return INFER_OK;
	}
	if (!type_get(t->type)->encode)
		return err_set(err, INFER_EINVAL, "tensor %.*s: weights are not written as %s",
		               (int)in->name.len, in->name.at, infer_type_info(t->type)->name);
	TRY(weigh(q, t, m, err));
	q->info.n_encoded++;
	q->info.n_again += !is_float(in->type);
	q->info.n_fallback += t->type != t->wanted;
	q->info.n_unweighed += q->importance && !t->importance && !is_float(t->type);
	return INFER_OK;
}

static int choose_all(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	struct quant_tensor **order = mem_alloc(MEM_QUANT, q->n, sizeof *order);
	struct keep *keep = NULL;
	struct mix m;
	int rc = order ? INFER_OK : err_set(err, INFER_ENOMEM, "no memory for the tensors");

	if (!rc)
		rc = mix_init(&m, q->name, q->importance != NULL, q->in, err);
	if (!rc)
		rc = keep_new(&keep, o->keep, o->n_keep, err);
	for (uint64_t i = 0; !rc && i < q->n; i++)
		order[i] = &q->tensors[i];
	if (!rc)
		qsort(order, q->n, sizeof *order, by_layer);
	for (uint64_t i = 0; !rc && i < q->n; i++)
		rc = choose(q, order[i], &m, keep, err);
	if (!rc)
		rc = keep_check(keep, err);
	keep_free(keep);
	mem_free(order);
	return rc;
}

static int add_tensors(infer_quant *q, infer_error *err)
{
	struct infer_file_info info;

	infer_file_info(q->in, &info);
	q->n = info.n_tensors;
	if (!q->n)
		return err_set(err, INFER_EUNSUP, "there is no tensor in it");
	q->tensors = mem_zalloc(MEM_QUANT, q->n, sizeof *q->tensors);
	if (!q->tensors)
		return err_set(err, INFER_ENOMEM, "no memory for the tensors");
	for (uint64_t i = 0; i < q->n; i++) {
		const struct infer_tensor *in = infer_file_tensor_at(q->in, i);

		q->tensors[i] = (struct quant_tensor){ .in = in,
			                               .type = (uint8_t)in->type,
			                               .wanted = (uint8_t)in->type,
			                               .error = -1 };
	}
	return INFER_OK;
}

static void sum(infer_quant *q)
{
	struct infer_quant_info *info = &q->info;

	info->type = q->name ? q->name->name : NULL;
	info->file_type = q->name ? q->name->file_type : -1;
	info->n_tensors = q->n;
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

static int plan(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	q->shard_bytes = o->shard_bytes;
	q->dry = o->dry;
	q->verify = o->verify;
	q->zstd = o->zstd;
	if (o->type) {
		q->name = mix_find(o->type);
		if (!q->name)
			return err_set(err, INFER_EINVAL, "no type or mix is called '%.60s'",
			               o->type);
		if (o->imatrix)
			TRY(importance_open(&q->importance, o->imatrix, err));
		if (o->imatrix &&
		    !(q->imatrix = mem_strndup(MEM_QUANT, o->imatrix, strlen(o->imatrix))))
			return err_set(err, INFER_ENOMEM, "no memory for a path");
	}
	TRY(add_tensors(q, err));
	if (q->name)
		TRY(choose_all(q, o, err));
	sum(q);
	TRY(quant_heads(q, err));
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
		return err_set(err, INFER_ENOMEM, "no memory to plan");
	q->in = in;
	int rc = plan(q, o, err);

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
	mem_free((char *)(size_t)q->imatrix);
	mem_free(q->shards);
	mem_free(q->tensors);
	mem_free(q);
}

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
		.weighed = from->importance != NULL,
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
