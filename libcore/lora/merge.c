/* lora/merge.c - add an adapter to rows of decoded weights. */
#include "lora/inner.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

static const struct lora_item *find_item(const infer_lora *l, struct infer_str name)
{
	for (int32_t i = 0; i < l->info.n_entries; i++)
		if (strlen(l->items[i].entry.tensor) == name.len &&
		    !memcmp(l->items[i].entry.tensor, name.at, name.len))
			return &l->items[i];
	return NULL;
}

/* Return row `row` of matrix `mat`; all matrices share a single one. */
static const void *row_at(const struct lora_values *v, int64_t mat, int64_t row)
{
	return (const unsigned char *)v->at +
	       (size_t)(((v->mats > 1 ? mat : 0) * v->rows + row) * v->cols) *
	               lora_element(v->type);
}

/* Decode the half that every row uses to f32 [rank][cols]. */
static int decode_shared(const struct lora_item *item, int32_t mat, float *to, float *column,
                         infer_error *err)
{
	const struct lora_values *v = item->table ? &item->b : &item->a;
	int64_t rank = item->entry.rank, cols = item->entry.ne[0];

	if (!item->table)
		return infer_type_decode(v->type, to, row_at(v, mat, 0), (size_t)(rank * cols),
		                         err);
	for (int64_t c = 0; c < cols; c++) {
		TRY(infer_type_decode(v->type, column, row_at(v, mat, c), (size_t)rank, err));
		for (int64_t r = 0; r < rank; r++)
			to[r * cols + c] = column[r];
	}
	return INFER_OK;
}

/* The rows of one call. */
struct rows {
	const infer_lora *l;
	const struct lora_item *item;
	float s;
	int32_t mat;
	int64_t from, n;
	float *w;
};

/* scratch: f32 [rank][cols], [cols], [rank] */
static int add_product(const struct rows *q, float *scratch, infer_error *err)
{
	const struct lora_item *item = q->item;
	const struct lora_values *v = item->table ? &item->a : &item->b;
	int64_t rank = item->entry.rank, cols = item->entry.ne[0];
	float *sum = scratch + rank * cols, *left = sum + cols;

	TRY(decode_shared(item, q->mat, scratch, left, err));
	for (int64_t i = 0; i < q->n; i++) {
		TRY(infer_type_decode(v->type, left, row_at(v, q->mat, q->from + i), (size_t)rank,
		                      err));
		memset(sum, 0, (size_t)cols * sizeof *sum);
		for (int64_t r = 0; r < rank; r++)
			q->l->add_scaled(sum, sum, scratch + r * cols, left[r], (int)cols);
		q->l->add_scaled(q->w + i * cols, q->w + i * cols, sum, q->s, (int)cols);
	}
	return INFER_OK;
}

int infer_lora_merge(const infer_lora *l, float factor, const struct infer_tensor *tensor,
                     int32_t matrix, int64_t from, int64_t n, float *w, infer_error *err)
{
	struct rows q = { l, find_item(l, tensor->name), factor, matrix, from, n, w };
	const struct infer_lora_entry *e;
	float *scratch;
	int rc;

	if (matrix < 0 || matrix >= tensor->ne[2] || from < 0 || n < 0 || from > tensor->ne[1] ||
	    n > tensor->ne[1] - from)
		return err_set(err, INFER_EINVAL,
		               "tensor %.*s: it has no rows %lld to %lld of matrix %d",
		               (int)(tensor->name.len < 64 ? tensor->name.len : 64),
		               tensor->name.at, (long long)from, (long long)(from + n), matrix);
	if (!q.item || factor == 0 || !n)
		return INFER_OK;
	e = &q.item->entry;
	if (e->ne[0] != tensor->ne[0] || e->ne[1] != tensor->ne[1] ||
	    e->n_matrices != tensor->ne[2])
		return err_set(err, INFER_EINVAL, "tensor %s: its shape is not that of the model",
		               e->tensor);
	if (e->kind == INFER_LORA_WHOLE)
		return infer_type_decode(q.item->a.type, w, row_at(&q.item->a, matrix, from),
		                         (size_t)(n * e->ne[0]), err);
	q.s = factor * (float)e->scale;
	scratch = mem_alloc(MEM_ARCH,
	                    (size_t)e->rank * (size_t)e->ne[0] + (size_t)e->ne[0] + (size_t)e->rank,
	                    sizeof *scratch);
	if (!scratch)
		return err_set(err, INFER_ENOMEM, "out of memory for tensor %s of an adapter",
		               e->tensor);
	rc = add_product(&q, scratch, err);
	mem_free(scratch);
	return rc;
}
