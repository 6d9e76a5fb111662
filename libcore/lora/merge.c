/* lora/merge.c - add an adapter to rows of decoded weights. */
#include "lora/inner.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

/* Decode the half that every row uses to f32 [rank][cols]. */
static int decode_shared(const struct lora_item *item, int32_t mat, float *to, float *column,
                         infer_error *err)
{
	const struct lora_values *v = item->table ? &item->b : &item->a;
	int64_t rank = item->entry.rank, cols = item->entry.ne[0];

	if (!item->table)
		return infer_type_decode(v->type, to, lora_row(v, mat, 0), (size_t)(rank * cols),
		                         err);
	for (int64_t c = 0; c < cols; c++) {
		TRY(infer_type_decode(v->type, column, lora_row(v, mat, c), (size_t)rank, err));
		for (int64_t r = 0; r < rank; r++)
			to[r * cols + c] = column[r];
	}
	return INFER_OK;
}

/* The rows of one call. */
struct rows {
	const infer_lora *l;
	const struct infer_tensor *tensor;
	float factor;
	int32_t mat;
	int64_t from, n;
	float *w;
};

static int check_tensor_shape(const struct rows *q, const struct lora_item *item, infer_error *err)
{
	const struct infer_lora_entry *e = &item->entry;

	if (e->ne[0] == q->tensor->ne[0] && e->ne[1] == q->tensor->ne[1] &&
	    e->n_matrices == q->tensor->ne[2])
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "tensor %s: its shape is not that of the model",
	               e->tensor);
}

static int replace_rows(const struct rows *q, const struct lora_item *item, infer_error *err)
{
	TRY(check_tensor_shape(q, item, err));
	return infer_type_decode(item->a.type, q->w, lora_row(&item->a, q->mat, q->from),
	                         (size_t)(q->n * item->entry.ne[0]), err);
}

/* scratch: f32 [rank][cols], [cols], [rank] */
static int add_rows_of(const struct rows *q, const struct lora_item *item, float *scratch,
                       infer_error *err)
{
	const struct lora_values *v = item->table ? &item->a : &item->b;
	int64_t rank = item->entry.rank, cols = item->entry.ne[0];
	float *sum = scratch + rank * cols, *left = sum + cols;
	float s = q->factor * (float)item->entry.scale;

	TRY(decode_shared(item, q->mat, scratch, left, err));
	for (int64_t i = 0; i < q->n; i++) {
		TRY(infer_type_decode(v->type, left, lora_row(v, q->mat, q->from + i), (size_t)rank,
		                      err));
		memset(sum, 0, (size_t)cols * sizeof *sum);
		for (int64_t r = 0; r < rank; r++)
			q->l->add_scaled(sum, sum, scratch + r * cols, left[r], (int)cols);
		q->l->add_scaled(q->w + i * cols, q->w + i * cols, sum, s, (int)cols);
	}
	return INFER_OK;
}

static int add_product(const struct rows *q, const struct lora_item *item, infer_error *err)
{
	size_t rank = (size_t)item->entry.rank, cols = (size_t)item->entry.ne[0];
	float *scratch;
	int rc;

	TRY(check_tensor_shape(q, item, err));
	scratch = mem_alloc(MEM_ARCH, rank * cols + cols + rank, sizeof *scratch);
	if (!scratch)
		return err_set(err, INFER_ENOMEM, "out of memory for tensor %s of an adapter",
		               item->entry.tensor);
	rc = add_rows_of(q, item, scratch, err);
	mem_free(scratch);
	return rc;
}

/* Add every change of a matrix to the rows, a whole tensor first. */
static int merge_items(struct rows *q, int kind, infer_error *err)
{
	for (int32_t i = 0; i < q->l->info.n_entries; i++) {
		const struct lora_item *item = &q->l->items[i];
		if (item->entry.kind == kind && lora_str_is(q->tensor->name, item->entry.tensor) &&
		    lora_has(&item->a, q->mat))
			TRY(kind == INFER_LORA_WHOLE ? replace_rows(q, item, err)
			                             : add_product(q, item, err));
	}
	return INFER_OK;
}

int infer_lora_merge(const infer_lora *l, float factor, const struct infer_tensor *tensor,
                     int32_t matrix, int64_t from, int64_t n, float *w, infer_error *err)
{
	struct rows q = { l, tensor, factor, matrix, from, n, w };

	if (matrix < 0 || matrix >= tensor->ne[2] || from < 0 || n < 0 || from > tensor->ne[1] ||
	    n > tensor->ne[1] - from)
		return err_set(err, INFER_EINVAL,
		               "tensor %.*s: it has no rows %lld to %lld of matrix %d",
		               (int)(tensor->name.len < 64 ? tensor->name.len : 64),
		               tensor->name.at, (long long)from, (long long)(from + n), matrix);
	if (factor == 0 || !n)
		return INFER_OK;
	TRY(merge_items(&q, INFER_LORA_WHOLE, err));
	return merge_items(&q, INFER_LORA_PAIR, err);
}
