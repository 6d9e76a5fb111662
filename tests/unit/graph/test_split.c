/* tests/unit/graph/test_split.c - graphs cut into parts: what crosses is sent once and received where
 * it is read, nothing else changes, and a cut that no device could join is refused. */
#include "../nth.h"

#include <string.h>

#include "graph/split.h"

enum { COLS = 64, VOCAB = 100, LAYERS = 4 };

static int32_t add(struct graph *g, enum graph_op op, int32_t a, int32_t b, int32_t w)
{
	struct graph_node n = graph_node_of(op);

	n.cols = op == GRAPH_EMBED || op == GRAPH_MM ? COLS : 0;
	n.src[0] = a;
	n.src[1] = b;
	n.w[0] = w;
	if (op == GRAPH_NORM)
		n.norm.groups = 1;
	if (op == GRAPH_KV_PUT) {
		n.kv_put.heads = 4;
		n.kv_put.dk = n.kv_put.dv = 16;
	}
	if (op == GRAPH_ATTN) {
		n.attn.heads = n.attn.kv_heads = 4;
		n.attn.dk = n.attn.dv = 16;
	}
	return graph_add(g, n);
}

/* Layers of seven nodes: NORM, three MM, KV_PUT, ATTN, ADD.  Rows are picked at the end, and the
 * embedding's matrix is the output's too.  first: node of each layer, of the end, and what is behind. */
static void model(struct graph *g, int32_t *first)
{
	int32_t x, h, q, k, v;

	graph_init(g);
	x = add(g, GRAPH_EMBED, -1, -1, 0);
	for (int l = 0; l < LAYERS; l++) {
		first[l] = g->n;
		h = add(g, GRAPH_NORM, x, -1, 1 + 4 * l);
		q = add(g, GRAPH_MM, h, -1, 2 + 4 * l);
		k = add(g, GRAPH_MM, h, -1, 3 + 4 * l);
		v = add(g, GRAPH_MM, h, -1, 4 + 4 * l);
		h = add(g, GRAPH_ATTN, q, add(g, GRAPH_KV_PUT, k, v, -1), -1);
		x = add(g, GRAPH_ADD, x, h, -1);
	}
	first[LAYERS] = g->n;
	x = add(g, GRAPH_GET_ROWS, x, -1, -1);
	g->output = add(g, GRAPH_MM, x, -1, 0);
}
enum { WEIGHTS = 1 + 4 * LAYERS };

static int case_layers(void)
{
	struct graph_split s = { 0 };
	int32_t first[LAYERS + 1], cuts[3];
	struct graph g;
	infer_error e;
	int rc;

	model(&g, first);
	nth_ok(graph_check(&g, WEIGHTS, &e));
	cuts[0] = 0;
	cuts[1] = first[1];
	cuts[2] = first[LAYERS];
	nth_ok(graph_split(&s, &g, cuts, 3, &e));
	assert_int_equal(s.n_edges, 2);
	assert_int_equal(s.edges[0].from + 10 * s.edges[0].to, 10);
	assert_int_equal(s.edges[1].from + 10 * s.edges[1].to, 21);
	for (int p = 0; p < 3; p++) {
		const struct graph_part *part = &s.parts[p];

		nth_ok(graph_check(&part->graph, part->n_weights, &e));
		assert_int_equal(part->graph.output, p == 2 ? part->graph.n - 1 : -1);
		assert_int_equal(part->n_weights, p == 0 ? 5 : p == 1 ? 12 : 1);
	}
	/* as it was, and a SEND at the end */
	assert_int_equal(s.parts[0].graph.n, first[1] + 1);
	assert_memory_equal(s.parts[0].graph.nodes, g.nodes, (size_t)first[1] * sizeof *g.nodes);
	assert_int_equal(s.parts[0].graph.nodes[first[1]].op, GRAPH_SEND);
	assert_int_equal(s.parts[0].graph.nodes[first[1]].src[0], first[1] - 1);
	/* a RECV in the place of what came before, and a SEND */
	assert_int_equal(s.parts[1].graph.n, 1 + 7 * (LAYERS - 1) + 1);
	assert_int_equal(s.parts[1].graph.nodes[0].op, GRAPH_RECV);
	assert_int_equal(s.parts[1].graph.nodes[0].cols, COLS);
	assert_int_equal(s.parts[1].graph.nodes[1].src[0], 0);
	assert_int_equal(s.parts[1].graph.nodes[5].kv_put.layer,
	                 g.nodes[first[1] + 4].kv_put.layer);
	assert_int_equal(s.parts[1].weights[0], 5);
	assert_int_equal(s.parts[1].graph.nodes[1].w[0], 0);
	/* the output: its matrix is the embedding's */
	assert_int_equal(s.parts[2].graph.n, 3);
	assert_int_equal(s.parts[2].weights[0], 0);
out:
	graph_split_fini(&s);
	graph_fini(&g);
	return rc;
}

/* A value that the second part does not read goes past it; rows that were picked stay so. */
static int case_past(void)
{
	const int32_t cuts[] = { 0, 2, 3, 5 };
	struct graph_split s = { 0 };
	size_t offset[4], bytes;
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	add(&g, GRAPH_EMBED, -1, -1, 0);
	add(&g, GRAPH_NORM, 0, -1, 1);
	add(&g, GRAPH_MM, 1, -1, 2);
	add(&g, GRAPH_ADD, 0, 2, -1);
	add(&g, GRAPH_GET_ROWS, 3, -1, -1);
	g.output = add(&g, GRAPH_MM, 4, -1, 3);
	nth_ok(graph_check(&g, 4, &e));
	nth_ok(graph_split(&s, &g, cuts, 4, &e));
	assert_int_equal(s.n_edges, 4);
	assert_int_equal(s.edges[0].from * 10 + s.edges[0].to, 2);
	assert_int_equal(s.edges[1].from * 10 + s.edges[1].to, 1);
	assert_int_equal(s.edges[2].from * 10 + s.edges[2].to, 12);
	assert_int_equal(s.edges[3].from * 10 + s.edges[3].to, 23);
	assert_int_equal(s.edges[3].rows, GRAPH_OUT);
	assert_int_equal(s.parts[1].graph.n, 3); /* RECV MM SEND */
	assert_int_equal(s.parts[3].graph.nodes[0].rows, GRAPH_OUT);
	for (int p = 0; p < 4; p++)
		nth_ok(graph_check(&s.parts[p].graph, s.parts[p].n_weights, &e));
	nth_ok(graph_split_edges(&s, 10, 2, offset, &bytes, &e));
	assert_int_equal(bytes,
	                 3 * 10 * COLS * sizeof(float)); /* the last has a dead one's place */
	assert_int_equal(offset[3], offset[1]);
	assert_true(offset[0] != offset[1] && offset[1] != offset[2] && offset[0] != offset[2]);
out:
	graph_split_fini(&s);
	graph_fini(&g);
	return rc;
}

/* Every cut in two but those between a KV_PUT and its ATTN. */
static int case_every_cut(void)
{
	struct graph_split s = { 0 };
	int32_t first[LAYERS + 1];
	struct graph g;
	infer_error e;
	int rc;

	model(&g, first);
	nth_ok(graph_check(&g, WEIGHTS, &e));
	for (int32_t at = 1; at < g.n; at++) {
		const int32_t cuts[] = { 0, at };

		if (g.nodes[at].op == GRAPH_ATTN) {
			nth_fails(graph_split(&s, &g, cuts, 2, &e), INFER_EINVAL);
			assert_non_null(strstr(e.message, "(ATTN)"));
			assert_null(s.parts);
			continue;
		}
		nth_ok(graph_split(&s, &g, cuts, 2, &e));
		for (int p = 0; p < 2; p++)
			nth_ok(graph_check(&s.parts[p].graph, s.parts[p].n_weights, &e));
		assert_int_equal(s.parts[0].graph.n + s.parts[1].graph.n, g.n + 2 * s.n_edges);
		graph_split_fini(&s);
	}
out:
	graph_split_fini(&s);
	graph_fini(&g);
	return rc;
}

static int case_refused(void)
{
	const int32_t none[] = { 0, 5, 5 }, behind[] = { 0, 1 + 7 * LAYERS + 2 };
	struct graph_split s = { 0 };
	int32_t first[LAYERS + 1];
	struct graph g;
	infer_error e;
	int rc;

	model(&g, first);
	nth_ok(graph_check(&g, WEIGHTS, &e));
	assert_int_equal(graph_split(&s, &g, none, 3, &e), INFER_EINVAL);
	assert_string_equal(e.message, "part 1 of the graph has no nodes");
	assert_int_equal(graph_split(&s, &g, behind, 2, &e), INFER_EINVAL);
	g.nodes[2].op = GRAPH_SEND;
	g.nodes[2].w[0] = -1;
	g.nodes[2].cols = 0;
	g.nodes[2].send.edge = -1;
	nth_fails(graph_check(&g, WEIGHTS, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "node 2 (SEND): edge must"));
out:
	graph_fini(&g);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_layers), nth_case(case_past),
		                            nth_case(case_every_cut), nth_case(case_refused) };

	return nth_group(tests);
}
