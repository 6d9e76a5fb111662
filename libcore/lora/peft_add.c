/* lora/peft_add.c - add the changes of a PEFT adapter in the order of the model's file: rows and columns that
 * GGUF stores in another order than the checkpoint are permuted in the factors. */
#include "hf/adapt.h"
#include "lora/peft.h"
#include "base/err.h"

#include <stdio.h>

/* The GGUF tensor h, and the pair of one of its sources. */
struct job {
	struct peft *p;
	const struct hf_rows *h;
	const struct peft_pair *q;
};

static const unsigned char *grid_at(const struct peft_grid *g, int64_t mat, int64_t row,
                                    int64_t col)
{
	return g->at + (size_t)(mat * g->mat + row * g->row + col * g->col) * lora_element(g->type);
}

/* Return the matrices of the result that a factor with one for each source matrix has. */
static int64_t count_mats(const struct hf_rows *h, const struct peft_grid *g)
{
	return h->n_from > 1 || !g->mat ? 1 : h->mats;
}

static void *new_values(struct peft *p, struct lora_values *v)
{
	return arena_raw(&p->l->arena, (size_t)(v->mats * v->rows) * lora_row_bytes(v));
}

/* Set *v to the factor on the right: [mats][rank][cols] of the result.  INFER_ENOMEM */
static int make_right(const struct job *j, struct lora_values *v, infer_error *err)
{
	const struct hf_rows *h = j->h;
	const struct peft_grid *g = h->turned ? &j->q->left : &j->q->right;
	int tiled = h->how == T_TILED_COLS;
	/* the rows of left are those of all matrices, unless each has its own factor */
	int64_t step = h->turned && !g->mat ? h->src_rows : 0;
	unsigned char *to;
	size_t size = lora_element(g->type);

	*v = (struct lora_values){ .type = g->type,
		                   .cols = h->cols,
		                   .rows = j->q->rank,
		                   .mats = step ? h->mats : count_mats(h, g) };
	v->at = g->at;
	if (!h->turned && !tiled && g->col == 1 && g->row == h->cols && v->mats == 1 &&
	    (uintptr_t)g->at % size == 0)
		return INFER_OK;
	to = new_values(j->p, v);
	if (!to)
		return lora_nomem(j->p->l, err);
	v->at = to;
	for (int64_t i = 0; i < v->mats; i++)
		for (int64_t k = 0; k < v->rows; k++)
			for (int64_t c = 0; c < v->cols; c++, to += size) {
				int64_t from =
					tiled ? hf_rows_untile(&h->heads, c, h->heads.dv) : c;
				memcpy(to,
				       h->turned ? grid_at(g, i, i * step + c, k)
				                 : grid_at(g, i, k, from),
				       size);
			}
	return INFER_OK;
}

/* Set *v to the factor on the left: [mats][rows][rank] of the result.  INFER_ENOMEM */
static int make_left(const struct job *j, struct lora_values *v, infer_error *err)
{
	const struct hf_rows *h = j->h;
	const struct peft_grid *g = h->turned ? &j->q->right : &j->q->left;
	int64_t step = h->turned || g->mat ? 0 : h->src_rows, real = h->rows - h->zeros;
	int plain = !h->turned && !hf_rows_permutes(h->how) && h->step == 1 && !h->zeros;
	size_t size = lora_element(g->type);
	unsigned char *to;

	*v = (struct lora_values){ .type = g->type,
		                   .cols = j->q->rank,
		                   .rows = h->rows,
		                   .mats = h->n_from > 1         ? 1
		                           : step && h->mats > 1 ? h->mats
		                                                 : count_mats(h, g) };
	v->at = grid_at(g, 0, h->first, 0);
	if (plain && g->col == 1 && g->row == v->cols && v->mats == 1 &&
	    (uintptr_t)v->at % size == 0)
		return INFER_OK;
	to = new_values(j->p, v);
	if (!to)
		return lora_nomem(j->p->l, err);
	v->at = to;
	for (int64_t i = 0; i < v->mats; i++)
		for (int64_t r = 0; r < v->rows; r++)
			for (int64_t k = 0; k < v->cols; k++, to += size) {
				int64_t from = r < real ? hf_rows_source(h, r) : 0;
				if (r >= real)
					memset(to, 0, size);
				else
					memcpy(to,
					       h->turned ? grid_at(g, i, k, from)
					                 : grid_at(g, i, i * step + from, k),
					       size);
			}
	return INFER_OK;
}

/* Set *v to the transpose of the factor on the right: [cols][rank], for a table.  INFER_ENOMEM */
static int make_columns(const struct job *j, struct lora_values *v, infer_error *err)
{
	const struct peft_grid *g = &j->q->right;
	size_t size = lora_element(g->type);
	unsigned char *to;

	*v = (struct lora_values){
		.type = g->type, .at = g->at, .cols = j->q->rank, .rows = j->h->cols, .mats = 1
	};
	if (g->row == 1 && g->col == v->cols && (uintptr_t)g->at % size == 0)
		return INFER_OK;
	to = new_values(j->p, v);
	if (!to)
		return lora_nomem(j->p->l, err);
	v->at = to;
	for (int64_t c = 0; c < v->rows; c++)
		for (int64_t k = 0; k < v->cols; k++, to += size)
			memcpy(to, grid_at(g, 0, k, c), size);
	return INFER_OK;
}

static const struct peft_pair *pair_of(const struct peft *p, const struct safetensors_tensor *t)
{
	return t ? &p->pairs[t - p->pseudo] : NULL;
}

/* Set the factors of one pair. */
static int make_item(const struct job *j, struct lora_item *item, int table, infer_error *err)
{
	item->entry.kind = INFER_LORA_PAIR;
	item->entry.rank = (int32_t)j->q->rank;
	item->entry.scale = j->q->scale;
	TRY(make_left(j, table ? &item->a : &item->b, err));
	return table ? make_columns(j, &item->b, err) : make_right(j, &item->a, err);
}

/* --- experts with a pair each */

static int same_kind(const struct lora_item *x, const struct lora_item *y)
{
	return x->entry.rank == y->entry.rank && x->entry.scale == y->entry.scale &&
	       x->a.type == y->a.type && x->b.type == y->b.type;
}

/* Collect the experts whose pairs are like that of expert `first`, and mark them as done. */
static int collect_experts(struct peft *p, const struct hf_rows *h, const struct lora_item *of,
                           uint8_t *done, int64_t first, struct lora_item *all, infer_error *err)
{
	const void **a = arena_alloc(&p->l->arena, (size_t)h->mats, sizeof *a),
		   **b = arena_alloc(&p->l->arena, (size_t)h->mats, sizeof *b);

	if (!a || !b)
		return lora_nomem(p->l, err);
	*all = of[first];
	for (int64_t i = first; i < h->mats; i++) {
		if (done[i] || !h->from[i] || !same_kind(&of[i], all))
			continue;
		done[i] = 1;
		a[i] = of[i].a.at;
		b[i] = of[i].b.at;
	}
	all->a.each = a;
	all->b.each = b;
	all->a.mats = all->b.mats = h->mats;
	return INFER_OK;
}

static int add_expert_pairs(struct peft *p, const struct hf_rows *h, const struct lora_target *t,
                            infer_error *err)
{
	struct lora_item *of = arena_alloc(&p->l->arena, (size_t)h->mats, sizeof *of), all;
	uint8_t *done = arena_alloc(&p->l->arena, (size_t)h->mats, 1);

	if (!of || !done)
		return lora_nomem(p->l, err);
	for (int64_t i = 0; i < h->mats; i++) {
		struct job j = { p, h, pair_of(p, h->from[i]) };
		if (j.q)
			TRY(make_item(&j, &of[i], 0, err));
	}
	for (int64_t i = 0; i < h->mats; i++)
		if (h->from[i] && !done[i]) {
			TRY(collect_experts(p, h, of, done, i, &all, err));
			TRY(lora_add(p->l, t, pair_of(p, h->from[i])->a->name, &all, err));
		}
	return INFER_OK;
}

/* --- tensors */

static const struct safetensors_tensor *any_source(const struct hf_rows *h)
{
	for (int64_t i = 0; i < h->n_from; i++)
		if (h->from[i])
			return h->from[i];
	return NULL;
}

/* Return attn_kv_b if the model's file has this tensor, in the checkpoint's order, instead of the two that h
 * is one of. */
static const struct infer_tensor *find_latent(const struct peft *p, const struct hf_rows *h)
{
	char name[64];

	if (h->slot != W_K_B && h->slot != W_V_B)
		return NULL;
	snprintf(name, sizeof name, "blk.%d.%s", h->layer, arch_row(p->l->m->arch, W_KV_B)->gguf);
	return infer_file_tensor(p->l->m->file, name);
}

/* Add the pair of kv_b as it is. */
static int add_kv_b(struct peft *p, const struct hf_rows *h, const struct infer_tensor *t,
                    infer_error *err)
{
	const struct peft_pair *q = pair_of(p, h->from[0]);
	struct hf_rows whole = { .slot = W_KV_B,
		                 .layer = h->layer,
		                 .cols = t->ne[0],
		                 .rows = t->ne[1],
		                 .mats = 1,
		                 .n_from = 1,
		                 .src_cols = t->ne[0],
		                 .src_rows = t->ne[1],
		                 .step = 1 };
	struct job j = { p, &whole, q };
	struct lora_item item = { .table = 0 };
	struct lora_target target;

	if (h->slot == W_V_B) /* added with W_K_B */
		return INFER_OK;
	TRY(lora_find(p->l, t->name, &target, err));
	TRY(make_item(&j, &item, 0, err));
	return lora_add(p->l, &target, q->a->name, &item, err);
}

static int add_target(struct peft *p, const struct hf_rows *h, infer_error *err)
{
	struct job j = { p, h, pair_of(p, any_source(h)) };
	const struct infer_tensor *latent = find_latent(p, h);
	struct lora_item item = { .table = 0 };
	struct lora_target target;

	if (latent)
		return add_kv_b(p, h, latent, err);
	TRY(lora_find(p->l, h->name, &target, err));
	if (h->n_from > 1)
		return add_expert_pairs(p, h, &target, err);
	if (h->how == T_PLUS1 || h->how == T_NEG_EXP || h->how == T_TILED_NEG_EXP)
		return lora_fail(p->l, j.q->a->name, INFER_EUNSUP, err,
		                 "only matrices of products and tables can be changed by a pair");
	TRY(make_item(&j, &item, target.table, err));
	return lora_add(p->l, &target, j.q->a->name, &item, err);
}

int peft_add_pairs(struct peft *p, infer_error *err)
{
	struct hf_adapt all;

	TRY(hf_adapt(&all, &p->l->arena, p->l->m, p->l->file, p->l->info.path, p->pseudo,
	             p->n_pairs, err));
	for (int64_t i = 0; i < all.n; i++)
		TRY(add_target(p, all.at[i], err));
	p->left += all.left;
	return INFER_OK;
}

/* --- whole tensors */

/* Set *v to the values of h, in place or copied. */
static int make_whole(struct peft *p, struct hf_rows *h, struct lora_values *v, infer_error *err)
{
	*v = (struct lora_values){
		.type = h->type, .cols = h->ne[0], .rows = h->ne[1], .mats = h->ne[2]
	};
	v->at = hf_rows_in_place(h);
	if (v->at && h->type == hf_source_type(h->from[0]))
		return INFER_OK;
	h->to = new_values(p, v);
	if (!h->to)
		return lora_nomem(p->l, err);
	v->at = h->to;
	return hf_rows_make(&h, 1, NULL, err);
}

/* True if the values are those of the model's tensor. */
static int is_same(const struct lora_target *t, const struct lora_values *v, float *row[2])
{
	const struct infer_tensor *o = t->tensor;
	size_t old = (size_t)(o->bytes / (uint64_t)(o->ne[1] * o->ne[2]));

	if (!o->data || v->cols != o->ne[0] || v->rows != o->ne[1] || v->mats != o->ne[2])
		return 0;
	for (int64_t i = 0; i < v->rows * v->mats; i++) {
		if (infer_type_decode(v->type, row[0],
		                      (const unsigned char *)v->at + (size_t)i * lora_row_bytes(v),
		                      (size_t)v->cols, NULL) ||
		    infer_type_decode(o->type, row[1],
		                      (const unsigned char *)o->data + (size_t)i * old,
		                      (size_t)v->cols, NULL) ||
		    memcmp(row[0], row[1], (size_t)v->cols * sizeof *row[0]))
			return 0;
	}
	return 1;
}

/* Add the output of a model whose output is its embedding table, which the adapter replaces. */
static int add_tied(struct peft *p, struct infer_str from, const struct lora_item *item,
                    infer_error *err)
{
	struct lora_target target;

	TRY(lora_find(p->l, (struct infer_str){ "output.weight", 13 }, &target, err));
	return lora_add(p->l, &target, from, item, err);
}

static int add_whole_tensor(struct peft *p, struct hf_rows *h, infer_error *err)
{
	infer_lora *l = p->l;
	struct infer_str from = any_source(h)->name;
	int based = p->based[any_source(h) - p->whole];
	struct lora_item item = { .entry = { .kind = INFER_LORA_WHOLE, .scale = 1 } };
	struct lora_target target;
	float *row[2];

	for (int64_t i = 0; i < h->n_from; i++)
		if (!h->from[i])
			return lora_fail(l, from, INFER_EUNSUP, err,
			                 "only some experts of a layer are replaced");
	TRY(lora_find(l, h->name, &target, err));
	TRY(make_whole(p, h, &item.a, err));
	for (int i = 0; i < 2; i++)
		row[i] = arena_alloc(&l->arena, (size_t)item.a.cols, sizeof *row[i]);
	if (!row[0] || !row[1])
		return lora_nomem(l, err);
	if (based && is_same(&target, &item.a, row))
		return INFER_OK;
	TRY(lora_add(l, &target, from, &item, err));
	return based && h->slot == W_TOKEN_EMBD && l->m->global[W_OUTPUT] < 0 &&
	                       l->m->graph.output >= 0 && !l->m->h.n_ranks
	               ? add_tied(p, from, &item, err)
	               : INFER_OK;
}

int peft_add_whole(struct peft *p, infer_error *err)
{
	struct hf_adapt all;

	TRY(hf_adapt(&all, &p->l->arena, p->l->m, p->l->file, p->l->info.path, p->whole, p->n_whole,
	             err));
	for (int64_t i = 0; i < all.n; i++)
		TRY(add_whole_tensor(p, all.at[i], err));
	p->left += all.left;
	return INFER_OK;
}
