/* plan/roofline.c - the least time a step can take: Williams+ 2009, doi:10.1145/1498765.1498785 */
#include <infer/plan.h>
#include "arch/arch.h"
#include "base/err.h"
#include "base/mem.h"
#include "graph/graph.h"
#include "kern/kern.h"
#include "plan/shape.h"

/* Return the counter for the operations of products with the weight.  Quantised weights are
 * multiplied as int8; types without kernels are decoded to f32. */
static double *count_of(struct infer_cost *c, const struct kern *k, const struct weight *w)
{
	const struct kern_mm *mm = &k->mm[w->type];

	return !mm->rows || mm->form == KERN_FORM_F32 ? &c->fma_ops
	       : mm->form == KERN_FORM_BF16           ? &c->bf16_ops
	                                              : &c->dot_ops;
}

static void add_node(struct infer_cost *c, const struct backend_model *parts, const struct kern *k,
                     int32_t i, const struct graph_weight_size *sizes,
                     const struct graph_load *load, double shared)
{
	const struct graph_node *n = &parts->graph->nodes[i];
	struct graph_cost one;

	graph_node_cost(parts->graph, i, sizes, load, &one);
	c->weight_bytes += one.weight_bytes;
	c->kv_bytes += one.kv_bytes * shared;
	if (n->op == GRAPH_MM || n->op == GRAPH_HEAD_MM || n->op == GRAPH_MOE)
		*count_of(c, k, &parts->weights[n->w[0]]) += one.flops;
	else if (n->op == GRAPH_ATTN)
		c->attn_ops += one.flops;
	else
		c->fma_ops += one.flops;
}

int infer_cost_add(struct infer_cost *c, const infer_model *m, const struct infer_engine_info *info,
                   const struct infer_load *l, infer_error *err)
{
	struct backend_model parts = arch_parts(m);
	struct graph_weight_size *sizes =
		mem_alloc(MEM_PLAN, (size_t)parts.n_weights, sizeof *sizes);
	struct kern ref = kern_select(0);
	const struct graph_load load = { .rows = l->rows,
		                         .out = l->out,
		                         .ctx = l->ctx,
		                         .k_bytes = element_bytes(info->k_type),
		                         .v_bytes = element_bytes(info->v_type) };

	if (info->act_type == INFER_BF16)
		kern_act_bf16(&ref);
	if (!sizes)
		return err_nomem(err);
	for (int i = 0; i < parts.n_weights; i++) {
		const struct weight *w = &parts.weights[i];
		sizes[i] = (struct graph_weight_size){
			w->ne[1], w->ne[0], w->n, w->row_bytes * (size_t)w->ne[1] * (size_t)w->n
		};
	}
	/* all rows of a sequence share one read of the cache */
	for (int32_t i = 0; i < parts.graph->n; i++)
		add_node(c, &parts, &ref, i, sizes, &load, (double)l->seqs / (double)l->rows);
	mem_free(sizes);
	return INFER_OK;
}

/* Reading and computing overlap within a phase, not between phases: arithmetic of attention
 * cannot hide the reading of weights. */
double infer_cost_seconds(const struct infer_cost *c, const struct infer_ceilings *top, int *limit)
{
	double bf16 = top->tile_bf16.median > 0 ? top->tile_bf16.median : top->fma.median,
	       read = c->weight_bytes * 1e-9 / top->mapped.median,
	       multiply = c->fma_ops * 1e-9 / top->fma.median +
	                  c->dot_ops * 1e-9 / top->dot.median + c->bf16_ops * 1e-9 / bf16,
	       weights = read > multiply ? read : multiply,
	       read_kv = c->kv_bytes * 1e-9 / top->mapped.median,
	       attend = c->attn_ops * 1e-9 / top->fma.median,
	       attention = read_kv > attend ? read_kv : attend;

	if (weights >= attention)
		*limit = multiply > read ? INFER_LIMIT_COMPUTE : INFER_LIMIT_MEMORY;
	else
		*limit = attend > read_kv ? INFER_LIMIT_COMPUTE : INFER_LIMIT_KV;
	return weights + attention;
}
