/* graph/cost.c - bytes that a node reads and floating-point operations that it takes. */
#include "graph/graph.h"
#include "base/num.h"

struct cost_in {
	const struct graph *g;
	const struct graph_node *n;
	const struct graph_weight_size *w; /* by weight index */
	const struct graph_load *load;
	double rows; /* rows of the node */
};

/* Element-wise operations: count a few for each float. */
static void cost_element(struct graph_cost *c, const struct cost_in *in)
{
	int each = in->n->op == GRAPH_ALTUP_MIX ? 2 * in->n->altup_mix.by : 4;

	c->flops = in->rows * in->n->cols * each;
}

/* A lookup reads a row of its table for each row of the step. */
static void cost_move(struct graph_cost *c, const struct cost_in *in)
{
	if (in->n->op == GRAPH_EMBED) {
		const struct graph_weight_size *table = &in->w[in->n->w[0]];
		c->weight_bytes = in->rows * (double)table->bytes / (double)table->n;
	} else {
		cost_element(c, in);
	}
}

/* A matrix product reads its weights once, whatever the number of rows. */
static void cost_mm(struct graph_cost *c, const struct cost_in *in)
{
	const struct graph_weight_size *w = &in->w[in->n->w[0]];

	c->weight_bytes = (double)w->bytes;
	c->flops = 2.0 * in->rows * (double)w->n * (double)w->k * (double)w->count;
}

static void cost_head_mm(struct graph_cost *c, const struct cost_in *in) { cost_mm(c, in); }

/* Assume that rows choose distinct experts: min(experts, rows * used) of them are read. */
static void cost_moe(struct graph_cost *c, const struct cost_in *in)
{
	for (int i = 0; i < 3; i++) {
		const struct graph_weight_size *e = &in->w[in->n->w[i]];
		double chosen = in->rows * in->n->moe.used,
		       read = (double)e->count < chosen ? (double)e->count : chosen;
		c->weight_bytes += (double)e->bytes / (double)e->count * read;
		c->flops += 2.0 * chosen * (double)e->n * (double)e->k;
	}
}

static void cost_attn(struct graph_cost *c, const struct cost_in *in)
{
	const struct graph_node *n = in->n;
	const struct graph_load *load = in->load;
	double seen = (double)(n->attn.window
	                               ? num_min((int64_t)n->attn.window + n->attn.later, load->ctx)
	                               : load->ctx);
	int mla = in->g->nodes[n->src[1]].kv_put.mla; /* 1: V is a part of K */

	c->kv_bytes = in->rows * seen * n->attn.kv_heads *
	              (n->attn.dk * load->k_bytes + (mla ? 0 : n->attn.dv) * load->v_bytes);
	c->flops = 2.0 * in->rows * seen * n->attn.heads * (n->attn.dk + n->attn.dv);
}

static void cost_conv1d(struct graph_cost *c, const struct cost_in *in)
{
	const struct graph_node *n = in->n;

	c->kv_bytes = in->rows * 2 * (n->conv1d.taps - 1) * n->cols * sizeof(float);
	c->flops = in->rows * (2 * n->conv1d.taps + 4) * n->cols;
}

/* Each row reads and writes the state of its sequence. */
static void cost_gated_delta(struct graph_cost *c, const struct cost_in *in)
{
	const struct graph_node *n = in->n;
	double floats = (double)n->gated_delta.heads * n->gated_delta.dk * n->gated_delta.dv;

	c->kv_bytes = in->rows * 2 * floats * sizeof(float);
	c->flops = in->rows * (n->gated_delta.ssm ? 5 : 7) * floats;
}

/* By kind of operation. Products, attention and states have a function for each operation. */
static void (*const costs[])(struct graph_cost *c, const struct cost_in *in) = {
#define COST_ELEMENT(member) cost_element
#define COST_MOVE(member) cost_move
#define COST_PRODUCT(member) cost_##member
#define COST_ATTENTION(member) cost_##member
#define COST_STATE(member) cost_##member
#define OP(name, member, kind, n_src, n_w, cols, over) [GRAPH_##name] = COST_##kind(member),
#include "graph/op_list.h"
};

void graph_node_cost(const struct graph *g, int32_t node, const struct graph_weight_size *w,
                     const struct graph_load *load, struct graph_cost *cost)
{
	const struct graph_node *n = &g->nodes[node];
	const struct cost_in in = { g, n, w, load,
		                    (double)(n->rows == GRAPH_OUT ? load->out : load->rows) };

	*cost = (struct graph_cost){ 0 };
	costs[n->op](cost, &in);
}

void graph_cost(const struct graph *g, const struct graph_weight_size *w,
                const struct graph_load *load, struct graph_cost *sum)
{
	*sum = (struct graph_cost){ 0 };
	for (int32_t i = 0; i < g->n; i++) {
		struct graph_cost c;
		graph_node_cost(g, i, w, load, &c);
		sum->weight_bytes += c.weight_bytes;
		sum->kv_bytes += c.kv_bytes;
		sum->flops += c.flops;
	}
}
