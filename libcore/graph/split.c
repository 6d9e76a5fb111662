/* graph/split.c - cuts a graph into parts, and joins them by edges. */
#include "graph/split.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "graph/shape.h"

#include <string.h>

struct cutter {
	const struct graph *g;
	const int32_t *first; /* [n] */
	int n, n_weights;
	int32_t *edge;   /* [g->n] over which a value leaves its part; -1: it does not */
	int32_t *local;  /* [g->n] number of a value in the part that is made; -1: not there */
	int32_t *weight; /* [n_weights] number in the part that is made; -1: not there */
};

static int32_t end_of(const struct cutter *c, int part)
{
	return part + 1 < c->n ? c->first[part + 1] : c->g->n;
}

static int part_of(const struct cutter *c, int32_t node)
{
	int p = 0;

	while (node >= end_of(c, p))
		p++;
	return p;
}

/* Number the values that cross, in the order of their nodes. */
static int find_edges(struct cutter *c, struct graph_split *s, infer_error *err)
{
	for (int32_t i = 0; i < c->g->n; i++) {
		const struct graph_node *n = &c->g->nodes[i];

		c->edge[i] = -1;
		for (int k = 0; k < graph_op_srcs(n->op); k++) {
			int32_t from = n->src[k];

			if (part_of(c, from) == part_of(c, i))
				continue;
			if (!c->g->nodes[from].cols || (n->op == GRAPH_MOE && k == 1))
				return err_set(err, INFER_EINVAL,
				               "a cut between node %d and node %d (%s)", from, i,
				               graph_op_name(n->op));
			c->edge[from] = part_of(c, i); /* the last reader's, so far */
		}
	}
	for (int32_t i = 0; i < c->g->n; i++)
		s->n_edges += c->edge[i] >= 0;
	s->edges = mem_alloc(MEM_GRAPH, (size_t)s->n_edges + 1, sizeof *s->edges);
	if (!s->edges)
		return err_set(err, INFER_ENOMEM, "no memory for %d edges", s->n_edges);
	s->n_edges = 0;
	for (int32_t i = 0; i < c->g->n; i++)
		if (c->edge[i] >= 0) {
			s->edges[s->n_edges] =
				(struct graph_edge){ c->g->nodes[i].cols, c->g->nodes[i].rows,
				                     part_of(c, i), c->edge[i] };
			c->edge[i] = s->n_edges++;
		}
	return INFER_OK;
}

static int32_t recv(struct graph *g, const struct graph_node *of, int32_t edge)
{
	struct graph_node n = graph_node_of(GRAPH_RECV);

	n.cols = of->cols;
	n.rows = of->rows;
	n.recv.edge = edge;
	return graph_add(g, n);
}

static void send(struct graph *g, int32_t x, int32_t edge)
{
	struct graph_node n = graph_node_of(GRAPH_SEND);

	n.src[0] = x;
	n.send.edge = edge;
	graph_add(g, n);
}

/* The node with sources and weights by their numbers in the part. */
static void copy_node(struct cutter *c, struct graph_part *p, int32_t i)
{
	struct graph_node n = c->g->nodes[i];

	for (int k = 0; k < graph_op_srcs(n.op); k++)
		n.src[k] = c->local[n.src[k]];
	for (int k = 0; k < graph_op_weights(n.op); k++) {
		if (n.w[k] < 0)
			continue;
		if (c->weight[n.w[k]] < 0) {
			p->weights[p->n_weights] = n.w[k];
			c->weight[n.w[k]] = p->n_weights++;
		}
		n.w[k] = c->weight[n.w[k]];
	}
	c->local[i] = graph_add(&p->graph, n);
}

static int make_part(struct cutter *c, struct graph_part *p, int part, infer_error *err)
{
	int32_t from = c->first[part], to = end_of(c, part);
	const struct graph *g = c->g;

	memset(c->local, 0xff, (size_t)g->n * sizeof *c->local);
	memset(c->weight, 0xff, (size_t)c->n_weights * sizeof *c->weight);
	p->weights = mem_alloc(MEM_GRAPH, (size_t)c->n_weights + 1, sizeof *p->weights);
	if (!p->weights)
		return err_set(err, INFER_ENOMEM, "no memory for a part of the graph");
	for (int32_t i = from; i < to; i++)
		for (int k = 0; k < graph_op_srcs(g->nodes[i].op); k++) {
			int32_t src = g->nodes[i].src[k];

			if (src < from && c->local[src] < 0)
				c->local[src] = recv(&p->graph, &g->nodes[src], c->edge[src]);
		}
	for (int32_t i = from; i < to; i++)
		copy_node(c, p, i);
	for (int32_t i = from; i < to; i++)
		if (c->edge[i] >= 0)
			send(&p->graph, c->local[i], c->edge[i]);
	if (g->output >= from && g->output < to)
		p->graph.output = c->local[g->output];
	if (g->hidden >= from && g->hidden < to)
		p->graph.hidden = c->local[g->hidden];
	return p->graph.bad ? err_set(err, INFER_ENOMEM, "no memory for a part of the graph")
	                    : INFER_OK;
}

static int cut(struct cutter *c, struct graph_split *s, infer_error *err)
{
	TRY(find_edges(c, s, err));
	s->parts = mem_zalloc(MEM_GRAPH, (size_t)c->n, sizeof *s->parts);
	if (!s->parts)
		return err_set(err, INFER_ENOMEM, "no memory for %d parts of the graph", c->n);
	s->n = c->n;
	for (int i = 0; i < c->n; i++)
		graph_init(&s->parts[i].graph);
	for (int i = 0; i < c->n; i++)
		TRY(make_part(c, &s->parts[i], i, err));
	return INFER_OK;
}

int graph_split(struct graph_split *out, const struct graph *g, const int32_t *first, int n,
                infer_error *err)
{
	struct cutter c = { .g = g, .first = first, .n = n };
	size_t nodes = (size_t)g->n;
	int32_t *mem;
	int rc;

	*out = (struct graph_split){ 0 };
	must(n > 0 && first[0] == 0);
	for (int i = 0; i < n; i++)
		if (first[i] >= end_of(&c, i))
			return err_set(err, INFER_EINVAL, "part %d of the graph has no nodes", i);
	for (int32_t i = 0; i < g->n; i++)
		for (int k = 0; k < GRAPH_W; k++)
			c.n_weights = (int)num_max(c.n_weights, g->nodes[i].w[k] + 1);
	mem = mem_alloc(MEM_GRAPH, 2 * nodes + (size_t)c.n_weights, sizeof *mem);
	if (!mem)
		return err_set(err, INFER_ENOMEM, "no memory to cut a graph of %d nodes", g->n);
	c.edge = mem;
	c.local = mem + nodes;
	c.weight = mem + 2 * nodes;
	rc = cut(&c, out, err);
	mem_free(mem);
	if (rc)
		graph_split_fini(out);
	return rc;
}

void graph_split_fini(struct graph_split *s)
{
	for (int i = 0; i < s->n; i++) {
		graph_fini(&s->parts[i].graph);
		mem_free(s->parts[i].weights);
	}
	mem_free(s->parts);
	mem_free(s->edges);
	*s = (struct graph_split){ 0 };
}

int graph_split_edges(const struct graph_split *s, int64_t rows, int64_t out, size_t *offset,
                      size_t *bytes, infer_error *err)
{
	struct graph_span *span;
	int rc;

	*bytes = 0;
	if (!s->n_edges)
		return INFER_OK;
	span = mem_alloc(MEM_GRAPH, (size_t)s->n_edges, sizeof *span);
	if (!span)
		return err_set(err, INFER_ENOMEM, "no memory to place %d edges", s->n_edges);
	for (int32_t i = 0; i < s->n_edges; i++) {
		const struct graph_edge *e = &s->edges[i];

		span[i] = (struct graph_span){ .from = e->from, .to = e->to };
		if (num_mul(&span[i].bytes, (size_t)e->cols * sizeof(float),
		            (size_t)(e->rows == GRAPH_OUT ? out : rows)))
			span[i].bytes = SIZE_MAX;
	}
	rc = graph_place_spans(span, s->n_edges, bytes, err);
	for (int32_t i = 0; i < s->n_edges && !rc && offset; i++)
		offset[i] = span[i].offset;
	mem_free(span);
	return rc;
}
