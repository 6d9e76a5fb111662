/* tests/unit/graph/test_graph.c - graphs: shapes follow from op_list.h, mistakes are named, the
 * dump is stable. */
#include "../nth.h"

#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "../graph_dump.h"

static int32_t add(struct graph *g, enum graph_op op, int32_t cols, int32_t a, int32_t b)
{
	struct graph_node n = graph_node_of(op);

	n.cols = cols;
	n.src[0] = a;
	n.src[1] = b;
	if (op == GRAPH_EMBED || op == GRAPH_MM)
		n.w[0] = 0;
	if (op == GRAPH_NORM)
		n.norm.groups = 1;
	return graph_add(g, n);
}

/* One attention block and a head: embed, norm, q k v, put, attention, add, pick, head. */
static void small(struct graph *g)
{
	int32_t x = add(g, GRAPH_EMBED, 64, -1, -1), h = add(g, GRAPH_NORM, 0, x, -1);
	int32_t q = add(g, GRAPH_MM, 64, h, -1), k = add(g, GRAPH_MM, 32, h, -1),
		v = add(g, GRAPH_MM, 32, h, -1);
	struct graph_node n = graph_node_of(GRAPH_ROPE);

	n.src[0] = q;
	n.rope.heads = 4;
	n.rope.dk = n.rope.rot = 16;
	q = graph_add(g, n);
	n = graph_node_of(GRAPH_KV_PUT);
	n.src[0] = k;
	n.src[1] = v;
	n.kv_put.heads = 2;
	n.kv_put.dk = n.kv_put.dv = 16;
	int32_t put = graph_add(g, n);
	n = graph_node_of(GRAPH_ATTN);
	n.src[0] = q;
	n.src[1] = put;
	n.attn.heads = 4;
	n.attn.kv_heads = 2;
	n.attn.dk = n.attn.dv = 16;
	n.attn.scale = 0.25f;
	int32_t a = graph_add(g, n);
	x = add(g, GRAPH_ADD, 0, x, a);
	x = add(g, GRAPH_GET_ROWS, 0, x, -1);
	g->output = add(g, GRAPH_MM, 100, x, -1);
}

static int case_shapes(void)
{
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	small(&g);
	nth_ok(graph_check(&g, 1, &e));
	assert_int_equal(g.n, 11);
	assert_int_equal(g.nodes[5].cols, 64); /* ROPE: like its source */
	assert_int_equal(g.nodes[6].cols, 0);  /* KV_PUT has no value */
	assert_int_equal(g.nodes[7].cols, 64); /* ATTN: heads * dv */
	assert_int_equal(g.nodes[8].rows, GRAPH_ALL);
	assert_int_equal(g.nodes[9].rows, GRAPH_OUT);
	assert_int_equal(g.nodes[10].rows, GRAPH_OUT);
out:
	graph_fini(&g);
	return rc;
}

static int case_dump(void)
{
	struct graph g;
	struct buf b;
	infer_error e;
	int rc;

	graph_init(&g);
	buf_init(&b, MEM_GRAPH);
	small(&g);
	nth_ok(graph_check(&g, 1, &e));
	graph_dump(&g, &b);
	nth_need(!b.bad);
	assert_string_equal(
		b.at,
		"%0: EMBED all x 64 a=w0\n%1: NORM all x 64 <- %0 groups 1\n%2: MM all x 64 "
		"<- %1 a=w0\n"
		"%3: MM all x 32 <- %1 a=w0\n%4: MM all x 32 <- %1 a=w0\n%5: ROPE all x 64 "
		"<- %2 heads 4 dk "
		"16 rot 16\n"
		"%6: KV_PUT all x 0 <- %3 %4 heads 2 dk 16 dv 16\n%7: ATTN all x 64 <- %5 %6 "
		"heads 4 kv_heads 2 dk 16 dv 16 "
		"scale 0.25\n"
		"%8: ADD all x 64 <- %0 %7\n%9: GET_ROWS out x 64 <- %8\n%10: MM out x 100 <- %9 "
		"a=w0\noutput %10\n");
out:
	buf_fini(&b);
	graph_fini(&g);
	return rc;
}

/* Each breaks the small graph in one place; graph_check names the node. */
static const struct {
	int node;
	const char *what;
} breaks[] = {
	{ 1, "source" },
	{ 2, "w0 must be given" },
	{ 3, "weight must be one of the model" },
	{ 5, "rotated columns" },
	{ 7, "KV_PUT" },
	{ 8, "equal width" },
	{ 10, "columns" },
};

static void break_at(struct graph *g, int i)
{
	struct graph_node *n = &g->nodes[breaks[i].node];

	switch (i) {
	case 0:
		n->src[0] = 1;
		break;
	case 1:
		n->w[0] = -1;
		break;
	case 2:
		n->w[0] = 1;
		break;
	case 3:
		n->rope.rot = 18;
		break;
	case 4:
		n->src[1] = 4;
		break;
	case 5:
		n->src[1] = 3;
		break;
	case 6:
		n->cols = 0;
		break;
	}
}

static int case_mistakes(void)
{
	struct graph g = { 0 };
	infer_error e;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
		char node[16];
		graph_init(&g);
		small(&g);
		nth_ok(graph_check(&g, 1, &e));
		break_at(&g, (int)i);
		assert_int_equal(graph_check(&g, 1, &e), INFER_EINVAL);
		snprintf(node, sizeof node, "node %d", breaks[i].node);
		assert_non_null(strstr(e.message, node));
		assert_non_null(strstr(e.message, breaks[i].what));
		graph_fini(&g);
	}
out:
	graph_fini(&g);
	return rc;
}

/* Experts are chosen by a ROUTE, or by one of another part: twice as many columns as are used. */
static int case_choice(void)
{
	struct graph_node n = graph_node_of(GRAPH_RECV), m = graph_node_of(GRAPH_MOE);
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	small(&g);
	n.cols = 4;
	m.src[0] = 0;
	m.src[1] = graph_add(&g, n);
	m.moe.used = 2;
	m.moe.ff = 8;
	m.w[0] = m.w[1] = m.w[2] = 0;
	nth_need(graph_add(&g, m) >= 0);
	nth_ok(graph_check(&g, 1, &e));
	g.nodes[m.src[1]].cols = 6;
	assert_int_equal(graph_check(&g, 1, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "a ROUTE of as many experts"));
	g.nodes[g.n - 1].src[1] = 1; /* a NORM */
	assert_int_equal(graph_check(&g, 1, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "a ROUTE of as many experts"));
out:
	graph_fini(&g);
	return rc;
}

/* A source that failed to be added makes whatever stands on it fail, and nothing else happens. */
static int case_failed_source(void)
{
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	small(&g);
	nth_ok(graph_check(&g, 1, &e));
	assert_int_equal(add(&g, GRAPH_NORM, 0, -1, -1), -1);
	assert_int_equal(add(&g, GRAPH_NORM, 0, g.n, -1), -1);
	assert_int_equal(g.n, 11);
	g.output = 0; /* all rows: no logits */
	assert_int_equal(graph_check(&g, 1, &e), INFER_EINVAL);
out:
	graph_fini(&g);
	return rc;
}

static int case_cost(void)
{
	const struct graph_weight_size w = { .n = 64, .k = 64, .count = 1, .bytes = 64 * 64 * 2 };
	struct graph_cost sum, one;
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	small(&g);
	nth_ok(graph_check(&g, 1, &e));
	graph_node_cost(&g, 2, &w, &(struct graph_load){ .rows = 3, .out = 1, .ctx = 10 }, &one);
	assert_true(one.weight_bytes == 8192 && one.kv_bytes == 0 &&
	            one.flops == 2.0 * 3 * 64 * 64);
	/* 3 rows see 10 positions of 2 kv heads of 16 + 16 halves; 4 heads, 2 operations for each
	 * element of k and v */
	graph_node_cost(
		&g, 7, &w,
		&(struct graph_load){ .rows = 3, .out = 1, .ctx = 10, .k_bytes = 2, .v_bytes = 2 },
		&one);
	assert_true(one.kv_bytes == 3 * 10 * 2 * 64 && one.flops == 2.0 * 3 * 10 * 4 * 32 &&
	            one.weight_bytes == 0);
	graph_cost(
		&g, &w,
		&(struct graph_load){ .rows = 1, .out = 1, .ctx = 1, .k_bytes = 2, .v_bytes = 2 },
		&sum);
	assert_true(sum.weight_bytes == 4 * 8192 + 128); /* four products, one row of the table */
out:
	graph_fini(&g);
	return rc;
}

/* Element-wise operations that may overwrite src0 require sources of equal width. */
static void test_widths(void **state)
{
	struct graph g;
	infer_error e;
	int n = 0;

	(void)state;
	for (int op = 0; op < GRAPH_OPS; op++) {
		if (graph_op_srcs(op) != 2 || !graph_op_over(op))
			continue;
		graph_init(&g);
		int32_t x = add(&g, GRAPH_EMBED, 64, -1, -1), y = add(&g, GRAPH_MM, 32, x, -1);
		add(&g, (enum graph_op)op, 0, x, y);
		if (!graph_check(&g, 1, &e) || !strstr(e.message, "sources must be of equal width"))
			fail_msg("op_list.h: %s has no condition that its sources are of equal "
			         "width",
			         graph_op_name(op));
		graph_fini(&g);
		n++;
	}
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_shapes),        nth_case(case_dump),
		                            nth_case(case_mistakes),      nth_case(case_choice),
		                            nth_case(case_failed_source), nth_case(case_cost),
		                            cmocka_unit_test(test_widths) };
	return nth_group(tests);
}
