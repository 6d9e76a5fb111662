/* plan/adapt.c - what adapters add to a step: y += B (A x), both in the types of the adapter. */
#include "plan/shape.h"
#include "base/err.h"

#include <string.h>

/* True if A x and B t are computed for every row: of a table, a row is read for each token. */
static int is_product(const struct infer_lora_entry *e)
{
	return e->kind == INFER_LORA_PAIR && !strstr(e->tensor, "token_embd.weight");
}

/* Add a matrix of n rows of k values, of each matrix of the tensor. */
static int add_factor(struct infer_shape *s, const struct infer_lora_entry *e, int type, int64_t n,
                      int64_t k, infer_error *err)
{
	int experts = s->experts > 0 && e->n_matrices == s->experts;
	struct infer_work w;

	memset(&w, 0, sizeof w);
	w.kind = experts ? INFER_WORK_EXPERTS : INFER_WORK_MATRIX;
	w.times = 1;
	w.type = type;
	w.n = n;
	w.k = k;
	w.region = n * k;
	w.adapter = 1;
	if (experts) {
		w.experts = s->experts;
		w.used = s->used;
	}
	for (int i = 0; i < (experts ? 1 : e->n_matrices); i++)
		TRY(shape_add(s, &w, err));
	return INFER_OK;
}

int infer_shape_adapt(struct infer_shape *s, const infer_lora *l, infer_error *err)
{
	struct infer_lora_info info;
	struct infer_lora_entry e;

	infer_lora_info(l, &info);
	s->weight_bytes += (double)info.bytes;
	for (int32_t i = 0; i < info.n_entries; i++) {
		infer_lora_entry(l, i, &e);
		if (!is_product(&e))
			continue;
		TRY(add_factor(s, &e, e.a_type, e.rank, e.ne[0], err));
		TRY(add_factor(s, &e, e.b_type, e.ne[1], e.rank, err));
		s->regions++; /* A x is computed before the product */
	}
	return INFER_OK;
}

void infer_cost_adapt(struct infer_cost *c, const infer_lora *l, const struct infer_load *load)
{
	struct infer_lora_info info;
	struct infer_lora_entry e;
	struct infer_model_info m;

	infer_lora_info(l, &info);
	infer_model_info(info.model, &m);
	for (int32_t i = 0; i < info.n_entries; i++) {
		infer_lora_entry(l, i, &e);
		if (!is_product(&e))
			continue;
		double rows = (double)(strcmp(e.tensor, "output.weight") ? load->rows : load->out),
		       read = 1, used = e.n_matrices;

		if (m.n_expert > 0 && e.n_matrices == m.n_expert) {
			used = m.n_expert_used;
			read = infer_experts_touched(m.n_expert, m.n_expert_used, rows) /
			       m.n_expert;
		}
		if (!(rows > 0))
			continue;
		c->weight_bytes += (double)e.bytes * read;
		c->fma_ops += 2 * rows * used * e.rank * (double)(e.ne[0] + e.ne[1]);
	}
}
