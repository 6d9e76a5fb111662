/* graph/cost.c - bytes and operations of a node. */
#include "graph/graph.h"
#include "base/num.h"

/* A matrix product reads its weights once, whatever the rows. */
static void product(struct graph_cost *c, const struct graph_weight_size *w, double rows)
{
	c->weight_bytes += (double)w->bytes;
	c->flops += 2.0 * rows * (double)w->n * (double)w->k * (double)w->count;
}

static void experts(struct graph_cost *c, const struct graph_node *n,
                    const struct graph_weight_size *w, double rows)
{
	for (int i = 0; i < 3; i++) {
		const struct graph_weight_size *e = &w[n->w[i]];
		double chosen = rows * n->moe.used,
		       touched = (double)e->count < chosen ? (double)e->count : chosen;
		c->weight_bytes += (double)e->bytes / (double)e->count * touched;
		c->flops += 2.0 * chosen * (double)e->n * (double)e->k;
	}
}

static void attention(struct graph_cost *c, const struct graph *g, const struct graph_node *n,
                      const struct graph_load *load, double rows)
{
	double seen = (double)(n->attn.window
	                               ? num_min((int64_t)n->attn.window + n->attn.later, load->ctx)
	                               : load->ctx);
	int latent = g->nodes[n->src[1]].kv_put.mla; /* K is V too */

	c->kv_bytes += rows * seen * n->attn.kv_heads *
	               (n->attn.dk * load->k_bytes + (latent ? 0 : n->attn.dv) * load->v_bytes);
	c->flops += 2.0 * rows * seen * n->attn.heads * (n->attn.dk + n->attn.dv);
}

/* The state of every row's sequence is read and written. */
static void recurrence(struct graph_cost *c, const struct graph_node *n, double rows)
{
	double floats = (double)n->gated_delta.heads * n->gated_delta.dk * n->gated_delta.dv;

	c->kv_bytes += rows * 2 * floats * sizeof(float);
	c->flops += rows * (n->gated_delta.ssm ? 5 : 7) * floats;
}

static void convolution(struct graph_cost *c, const struct graph_node *n, double rows)
{
	c->kv_bytes += rows * 2 * (n->conv1d.taps - 1) * n->cols * sizeof(float);
	c->flops += rows * (2 * n->conv1d.taps + 4) * n->cols;
}

void graph_node_cost(const struct graph *g, int32_t node, const struct graph_weight_size *w,
                     const struct graph_load *load, struct graph_cost *cost)
{
	const struct graph_node *n = &g->nodes[node];
	double rows = (double)(n->rows == GRAPH_OUT ? load->out : load->rows);

	*cost = (struct graph_cost){ 0 };
	switch ((enum graph_op)n->op) {
	case GRAPH_EMBED: /* rows of the table, not the table */
		cost->weight_bytes = rows * (double)w[n->w[0]].bytes / (double)w[n->w[0]].n;
		break;
	case GRAPH_MM:
	case GRAPH_HEAD_MM:
		product(cost, &w[n->w[0]], rows);
		break;
	case GRAPH_ATTN:
		attention(cost, g, n, load, rows);
		break;
	case GRAPH_MOE:
		experts(cost, n, w, rows);
		break;
	case GRAPH_CONV1D:
		convolution(cost, n, rows);
		break;
	case GRAPH_GATED_DELTA:
		recurrence(cost, n, rows);
		break;
	case GRAPH_ALTUP_MIX: /* each piece takes each of src1 */
		cost->flops = 2.0 * rows * n->cols * n->altup_mix.by;
		break;
	case GRAPH_NORM:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_ALTUP_RESCALE:
	case GRAPH_SLICE:
	case GRAPH_PERMUTE:
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
	case GRAPH_ADD:
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_GATE:
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
	case GRAPH_RECV:
	case GRAPH_SEND:
	case GRAPH_GET_ROWS:
	case GRAPH_ROUTE:
	case GRAPH_OPS: /* a few operations for each float */
		cost->flops = 4.0 * rows * n->cols;
	}
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
