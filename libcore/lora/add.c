/* lora/add.c - turn changes of the file's tensors into changes of the model's weights. */
#include "lora/inner.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static int is_float(int type)
{
	return type == INFER_F32 || type == INFER_F16 || type == INFER_BF16;
}

int lora_settle(infer_lora *l, struct lora_values *v, struct infer_str from, infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(v->type);
	int64_t n = v->cols * v->rows * v->mats;
	size_t size = is_float(v->type) ? lora_element(v->type) : sizeof(float);
	void *copy;

	if (type->file_only || (v->type >= INFER_I8 && v->type <= INFER_I64))
		return lora_fail(l, from, INFER_EUNSUP, err, "type %s is not supported",
		                 type->name);
	if (is_float(v->type) && (uintptr_t)v->at % size == 0)
		return INFER_OK;
	copy = arena_raw(&l->arena, (size_t)n * size);
	if (!copy)
		return lora_nomem(l, err);
	if (is_float(v->type))
		memcpy(copy, v->at, (size_t)n * size);
	else
		TRY(infer_type_decode(v->type, copy, v->at, (size_t)n, err));
	v->type = is_float(v->type) ? v->type : INFER_F32;
	v->at = copy;
	return INFER_OK;
}

/* Return a copy of n elements at `from`, `step` elements apart; NULL: out of memory. */
static void copy_strided(unsigned char *to, const unsigned char *from, int64_t n, int64_t step,
                         size_t size)
{
	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * size, from + (size_t)(i * step) * size, size);
}

/* Transpose rows [first, first + rows) of v.  NULL: out of memory. */
static void *transpose(infer_lora *l, const struct lora_values *v, int64_t first, int64_t rows)
{
	size_t size = lora_element(v->type);
	unsigned char *to = arena_raw(&l->arena, (size_t)(rows * v->cols) * size);

	for (int64_t c = 0; to && c < v->cols; c++)
		copy_strided(to + (size_t)(c * rows) * size,
		             lora_row(v, 0, first) + (size_t)c * size, rows, v->cols, size);
	return to;
}

/* Permute the columns of A as the act-order of the weight permutes its input. */
static int order_columns(infer_lora *l, const struct lora_part *p, struct lora_values *a,
                         infer_error *err)
{
	int32_t order = l->m->order[p->weight];
	size_t size = lora_element(a->type);
	int64_t n = a->rows * a->mats;
	unsigned char *to;
	const int32_t *at;

	if (!order)
		return INFER_OK;
	at = l->m->weights[order - 1].at[0];
	to = arena_raw(&l->arena, (size_t)(n * a->cols) * size);
	if (!to)
		return lora_nomem(l, err);
	for (int64_t r = 0; r < n; r++)
		for (int64_t c = 0; c < a->cols; c++)
			memcpy(to + (size_t)(r * a->cols + c) * size,
			       (const unsigned char *)a->at + (size_t)(r * a->cols + at[c]) * size,
			       size);
	a->at = to;
	return INFER_OK;
}

/* --- pairs */

/* Return the deltas of a weight for products or for selected rows, allocated by the first call. */
static struct backend_delta *deltas_of(infer_lora *l, int32_t weight, int table)
{
	struct backend_change *c = table ? &l->table[weight] : &l->product[weight];

	if (!c->deltas)
		c->deltas =
			arena_alloc(&l->arena, (size_t)l->m->weights[weight].n, sizeof *c->deltas);
	return (struct backend_delta *)c->deltas;
}

static struct backend_delta delta_of(const struct lora_item *item, const struct lora_values *a,
                                     const struct lora_values *b)
{
	return (struct backend_delta){ .rank = item->entry.rank,
		                       .a_type = a->type,
		                       .b_type = b->type,
		                       .a_row = lora_row_bytes(a),
		                       .b_row = lora_row_bytes(b),
		                       .scale = (float)item->entry.scale };
}

/* Set the deltas of rows [p->from, p->from + p->rows) of every matrix. */
static int add_row_deltas(infer_lora *l, const struct lora_target *t, const struct lora_part *p,
                          const struct lora_item *item, struct infer_str from, infer_error *err)
{
	struct backend_delta *d = deltas_of(l, p->weight, item->table);
	struct lora_values a = item->a;
	int n = l->m->weights[p->weight].n, first = t->expert >= 0 ? t->expert : 0,
	    last = t->expert >= 0 ? first + 1 : n;

	if (!d)
		return lora_nomem(l, err);
	TRY(order_columns(l, p, &a, err));
	for (int i = first; i < last; i++) {
		if (!lora_has(&a, i - first))
			continue;
		if (d[i].rank)
			return lora_fail(l, from, INFER_EFORMAT, err,
			                 "the tensor is changed twice");
		d[i] = delta_of(item, &a, &item->b);
		d[i].a = lora_row(&a, i - first, item->table ? p->from : 0);
		d[i].b = lora_row(&item->b, i - first, item->table ? 0 : p->from);
	}
	return INFER_OK;
}

/* Set the deltas of W_K_B, which is W_KV_B transposed per head: (B A)^T = A^T B^T. */
static int add_k_b(infer_lora *l, const struct lora_part *p, const struct lora_item *item,
                   infer_error *err)
{
	struct backend_delta *d = deltas_of(l, p->weight, 0);
	const struct lora_values b = { .type = item->a.type,
		                       .at = transpose(l, &item->a, 0, item->a.rows),
		                       .cols = item->a.rows,
		                       .rows = item->a.cols,
		                       .mats = 1 };
	int64_t step = p->rows + l->m->h.v_head;

	if (!d || !b.at)
		return lora_nomem(l, err);
	for (int h = 0; h < l->m->h.n_head; h++) {
		const struct lora_values a = { .type = item->b.type,
			                       .at = transpose(l, &item->b, h * step, p->rows),
			                       .cols = p->rows,
			                       .rows = item->b.cols,
			                       .mats = 1 };
		if (!a.at)
			return lora_nomem(l, err);
		d[h] = delta_of(item, &a, &b);
		d[h].a = a.at;
		d[h].b = b.at;
	}
	return INFER_OK;
}

/* Set the deltas of W_V_B, the other rows of W_KV_B. */
static int add_v_b(infer_lora *l, const struct lora_part *p, const struct lora_item *item,
                   infer_error *err)
{
	struct backend_delta *d = deltas_of(l, p->weight, 0);

	if (!d)
		return lora_nomem(l, err);
	for (int h = 0; h < l->m->h.n_head; h++) {
		d[h] = delta_of(item, &item->a, &item->b);
		d[h].a = item->a.at;
		d[h].b = lora_row(&item->b, 0, h * (p->from + p->rows) + p->from);
	}
	return INFER_OK;
}

static int bad_shape(const infer_lora *l, struct infer_str from, const char *half,
                     const struct lora_values *v, int64_t cols, int64_t rows, int64_t mats,
                     infer_error *err)
{
	return lora_fail(l, from, INFER_EFORMAT, err,
	                 "%s must have %lld x %lld x %lld values, not %lld x %lld x %lld", half,
	                 (long long)cols, (long long)rows, (long long)mats, (long long)v->cols,
	                 (long long)v->rows, (long long)v->mats);
}

/* Check both halves against the tensor.  A half with one matrix is shared by all. */
static int check_pair(const infer_lora *l, const struct lora_target *t, struct infer_str from,
                      const struct lora_item *item, infer_error *err)
{
	const struct lora_values *a = &item->a, *b = &item->b;
	const int64_t *ne = t->tensor->ne;
	int64_t rank = item->entry.rank, mats = ne[2];

	if (rank < 1 || rank > INFER_LORA_MAX_RANK)
		return lora_fail(l, from, INFER_EFORMAT, err, "its rank must be 1 to %d, not %lld",
		                 INFER_LORA_MAX_RANK, (long long)rank);
	if (item->table) {
		if (a->cols != rank || a->rows != ne[1] || a->mats != 1)
			return bad_shape(l, from, "A", a, rank, ne[1], 1, err);
		return b->cols != rank || b->rows != ne[0] || b->mats != 1
		               ? bad_shape(l, from, "B", b, rank, ne[0], 1, err)
		               : INFER_OK;
	}
	if (a->cols != ne[0] || a->rows != rank || (a->mats != 1 && a->mats != mats))
		return bad_shape(l, from, "A", a, ne[0], rank, mats, err);
	return b->cols != rank || b->rows != ne[1] || (b->mats != 1 && b->mats != mats)
	               ? bad_shape(l, from, "B", b, rank, ne[1], mats, err)
	               : INFER_OK;
}

static int add_pair_deltas(infer_lora *l, const struct lora_target *t, struct infer_str from,
                           const struct lora_item *item, infer_error *err)
{
	for (int i = 0; i < t->n; i++) {
		const struct lora_part *p = &t->part[i];
		int want = item->table ? ROLE_TABLE : ROLE_PRODUCT;
		if (t->vector || !(l->roles[p->weight] & want) ||
		    (l->roles[p->weight] & ~(ROLE_PRODUCT | ROLE_TABLE)))
			return lora_fail(l, from, INFER_EUNSUP, err,
			                 "only matrices of products and tables can be changed by a "
			                 "pair");
		switch (p->kind) {
		case PART_ROWS:
			TRY(add_row_deltas(l, t, p, item, from, err));
			break;
		case PART_K_B:
			TRY(add_k_b(l, p, item, err));
			break;
		case PART_V_B:
			TRY(add_v_b(l, p, item, err));
			break;
		}
	}
	if (t->n && item->entry.rank > l->adapter.max_rank)
		l->adapter.max_rank = item->entry.rank;
	return INFER_OK;
}

/* --- whole tensors */

/* Make the weight that replaces part p. */
static int new_whole(infer_lora *l, const struct lora_target *t, const struct lora_part *p,
                     const struct lora_item *item, const struct weight **out, infer_error *err)
{
	const struct weight *old = &l->m->weights[p->weight];
	struct weight *w = arena_alloc(&l->arena, 1, sizeof *w);
	const void **at = arena_alloc(&l->arena, (size_t)old->n, sizeof *at);
	const struct lora_values *v = &item->a;
	float *copy;

	*out = w;
	if (!w || !at)
		return lora_nomem(l, err);
	*w = (struct weight){ .type = v->type,
		              .n = old->n,
		              .ne = { old->ne[0], old->ne[1] },
		              .row_bytes = lora_row_bytes(v),
		              .scale = 1,
		              .at = at };
	for (int i = 0; i < old->n && !t->vector; i++)
		at[i] = lora_row(v, i, p->from);
	if (!t->vector)
		return INFER_OK;
	copy = arena_alloc(&l->arena, (size_t)old->ne[0], sizeof *copy);
	if (!copy)
		return lora_nomem(l, err);
	w->type = INFER_F32;
	w->row_bytes = (size_t)old->ne[0] * sizeof *copy;
	at[0] = copy;
	return infer_type_decode(v->type, copy,
	                         (const unsigned char *)v->at +
	                                 (size_t)p->from * lora_element(v->type),
	                         (size_t)old->ne[0], err);
}

static int add_replacement(infer_lora *l, const struct lora_target *t, struct infer_str from,
                           const struct lora_item *item, infer_error *err)
{
	const struct lora_values *v = &item->a;
	const int64_t *ne = t->tensor->ne;

	if (v->cols != ne[0] || v->rows != ne[1] || v->mats != ne[2])
		return bad_shape(l, from, "it", v, ne[0], ne[1], ne[2], err);
	for (int i = 0; i < t->n; i++) {
		const struct lora_part *p = &t->part[i];
		struct backend_change *c =
			item->table ? &l->table[p->weight] : &l->product[p->weight];
		if (p->kind != PART_ROWS || t->expert >= 0 || l->m->order[p->weight] ||
		    !l->roles[p->weight] || (l->roles[p->weight] & ROLE_OTHER))
			return lora_fail(l, from, INFER_EUNSUP, err,
			                 "this tensor cannot be replaced by an adapter");
		if (c->whole)
			return lora_fail(l, from, INFER_EFORMAT, err,
			                 "the tensor is replaced twice");
		TRY(new_whole(l, t, p, item, &c->whole, err));
	}
	return INFER_OK;
}

/* --- entries */

static uint64_t values_count(const struct lora_values *v)
{
	uint64_t mats = 0;

	for (int64_t i = 0; i < v->mats; i++)
		mats += (uint64_t)lora_has(v, i);
	return (uint64_t)v->cols * (uint64_t)v->rows * mats;
}

static int push_item(infer_lora *l, const struct lora_item *item, infer_error *err)
{
	if (l->info.n_entries == l->cap) {
		int32_t cap = l->cap ? 2 * l->cap : 64;
		struct lora_item *more = arena_alloc(&l->arena, (size_t)cap, sizeof *more);
		if (!more)
			return lora_nomem(l, err);
		if (l->cap)
			memcpy(more, l->items, (size_t)l->cap * sizeof *more);
		l->items = more;
		l->cap = cap;
	}
	l->items[l->info.n_entries++] = *item;
	return INFER_OK;
}

/* Log that a change has no effect. */
static void log_unused(const infer_lora *l, const char *tensor)
{
	char line[200];

	snprintf(line, sizeof line,
	         "adapter: %.120s has no effect: the model does not use the tensor", tensor);
	if (l->log)
		l->log(l->log_user, INFER_LOG_INFO, line);
}

int lora_add(infer_lora *l, const struct lora_target *t, struct infer_str from,
             const struct lora_item *item, infer_error *err)
{
	int pair = item->entry.kind == INFER_LORA_PAIR;
	struct lora_item new = *item;
	struct infer_lora_entry *e = &new.entry;

	new.table = t->table;
	e->tensor = arena_strndup(&l->arena, t->name.at, t->name.len);
	if (!e->tensor)
		return lora_nomem(l, err);
	if (pair)
		TRY(check_pair(l, t, from, &new, err));
	TRY(pair ? add_pair_deltas(l, t, from, &new, err) : add_replacement(l, t, from, &new, err));
	e->a_type = new.a.type;
	e->b_type = pair ? new.b.type : 0;
	e->n_matrices = (int32_t)t->tensor->ne[2];
	e->ne[0] = t->tensor->ne[0];
	e->ne[1] = t->tensor->ne[1];
	e->bytes = values_count(&new.a) * lora_element(new.a.type);
	if (pair)
		e->bytes += values_count(&new.b) * lora_element(new.b.type);
	l->info.bytes += e->bytes;
	l->info.n_params += values_count(&new.a) + (pair ? values_count(&new.b) : 0);
	if (e->rank > l->info.max_rank)
		l->info.max_rank = e->rank;
	if (!t->n)
		log_unused(l, e->tensor);
	return push_item(l, &new, err);
}
