/* graph/split.c - split a graph into parts that are connected by edges. */
#include "graph/split.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "graph/shape.h"

#include <string.h>

/* State of a split. */
struct splitter {
	const struct graph *g;
	const int32_t *first; /* [n] first node of each part */
	int n, n_weights;
	int32_t *edge;   /* [g->n] edge that sends the value of a node; -1: none */
	int32_t *local;  /* [g->n] index of a node in the part being made; -1: not in it */
	int32_t *weight; /* [n_weights] index of a weight in the part being made; -1: not in it */
};

/* The first node after a part. */
static int32_t part_end(const struct splitter *c, int part)
{
	return part + 1 < c->n ? c->first[part + 1] : c->g->n;
}

static int part_of(const struct splitter *c, int32_t node)
{
	int p = 0;

	while (node >= part_end(c, p))
		p++;
	return p;
}

/* Make an edge for each value that another part reads, in the order of their nodes. */
static int find_edges(struct splitter *c, struct graph_split *s, infer_error *err)
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
				               "node %d and node %d (%s) must be in one part", from,
				               i, graph_op_name(n->op));
			c->edge[from] = part_of(c, i); /* the last part that reads it */
		}
	}
	for (int32_t i = 0; i < c->g->n; i++)
		s->n_edges += c->edge[i] >= 0;
	s->edges = mem_alloc(MEM_GRAPH, (size_t)s->n_edges + 1, sizeof *s->edges);
	if (!s->edges)
		return err_set(err, INFER_ENOMEM, "out of memory for %d edges", s->n_edges);
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

static int32_t add_recv(struct graph *g, const struct graph_node *of, int32_t edge)
{
	struct graph_node n = graph_node_of(GRAPH_RECV);

	n.cols = of->cols;
	n.rows = of->rows;
	n.recv.edge = edge;
	return graph_add(g, n);
}

static void add_send(struct graph *g, int32_t x, int32_t edge)
{
	struct graph_node n = graph_node_of(GRAPH_SEND);

	n.src[0] = x;
	n.send.edge = edge;
	graph_add(g, n);
}

/* Append node i of the graph to part p, its sources and weights renumbered. */
static void copy_node(struct splitter *c, struct graph_part *p, int32_t i)
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

static int make_part(struct splitter *c, struct graph_part *p, int part, infer_error *err)
{
	int32_t from = c->first[part], to = part_end(c, part);
	const struct graph *g = c->g;

	memset(c->local, 0xff, (size_t)g->n * sizeof *c->local);
	memset(c->weight, 0xff, (size_t)c->n_weights * sizeof *c->weight);
	p->weights = mem_alloc(MEM_GRAPH, (size_t)c->n_weights + 1, sizeof *p->weights);
	if (!p->weights)
		return err_set(err, INFER_ENOMEM, "out of memory for a part of the graph");
	for (int32_t i = from; i < to; i++)
		for (int k = 0; k < graph_op_srcs(g->nodes[i].op); k++) {
			int32_t src = g->nodes[i].src[k];

			if (src < from && c->local[src] < 0)
				c->local[src] = add_recv(&p->graph, &g->nodes[src], c->edge[src]);
		}
	for (int32_t i = from; i < to; i++)
		copy_node(c, p, i);
	for (int32_t i = from; i < to; i++)
		if (c->edge[i] >= 0)
			add_send(&p->graph, c->local[i], c->edge[i]);
	if (g->output >= from && g->output < to)
		p->graph.output = c->local[g->output];
	if (g->hidden >= from && g->hidden < to)
		p->graph.hidden = c->local[g->hidden];
	return p->graph.bad ? err_set(err, INFER_ENOMEM, "out of memory for a part of the graph")
	                    : INFER_OK;
}

static int make_parts(struct splitter *c, struct graph_split *s, infer_error *err)
{
	TRY(find_edges(c, s, err));
	s->parts = mem_zalloc(MEM_GRAPH, (size_t)c->n, sizeof *s->parts);
	if (!s->parts)
		return err_set(err, INFER_ENOMEM, "out of memory for %d parts of the graph", c->n);
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
	struct splitter c = { .g = g, .first = first, .n = n };
	size_t nodes = (size_t)g->n;
	int32_t *mem;
	int rc;

	*out = (struct graph_split){ 0 };
	must(n > 0 && first[0] == 0);
	for (int i = 0; i < n; i++)
		if (first[i] >= part_end(&c, i))
			return err_set(err, INFER_EINVAL, "part %d of the graph has no nodes", i);
	for (int32_t i = 0; i < g->n; i++)
		for (int k = 0; k < GRAPH_W; k++)
			c.n_weights = (int)num_max(c.n_weights, g->nodes[i].w[k] + 1);
	mem = mem_alloc(MEM_GRAPH, 2 * nodes + (size_t)c.n_weights, sizeof *mem);
	if (!mem)
		return err_set(err, INFER_ENOMEM,
		               "out of memory while splitting a graph of %d nodes", g->n);
	c.edge = mem;
	c.local = mem + nodes;
	c.weight = mem + 2 * nodes;
	rc = make_parts(&c, out, err);
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
		return err_set(err, INFER_ENOMEM, "out of memory while placing %d edges",
		               s->n_edges);
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
