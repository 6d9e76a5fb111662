/* tests/unit/graph/test_mem.c - memory of graphs: values that live at the same time never
 * overlap, dead ones release their memory, offsets are aligned. */
#include "../nth.h"

#include "base/num.h"
#include "graph/graph.h"

static int32_t add(struct graph *g, enum graph_op op, int32_t cols, int32_t a, int32_t b)
{
	struct graph_node n = graph_node_of(op);

	n.cols = cols;
	n.src[0] = a;
	n.src[1] = b;
	n.w[0] = op == GRAPH_MM || op == GRAPH_EMBED ? 0 : -1;
	if (op == GRAPH_NORM)
		n.norm.groups = 1;
	return graph_add(g, n);
}

/* Two spans may share bytes only if one ends before the other begins. */
static void check_spans(const struct graph_span *s, int n, size_t bytes)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(s[i].offset % 64, 0);
		assert_true(s[i].offset + s[i].bytes <= bytes);
		for (int j = 0; j < i; j++) {
			int meet = s[i].from <= s[j].to && s[j].from <= s[i].to;
			int share = s[i].offset < s[j].offset + s[j].bytes &&
			            s[j].offset < s[i].offset + s[i].bytes;
			assert_false(meet && share);
		}
	}
}

static int case_random_spans(void)
{
	struct graph_span s[60];
	uint32_t seed = 1;
	size_t bytes;
	infer_error e;
	int rc;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 60; i++) {
			seed = seed * 1664525 + 1013904223;
			s[i] = (struct graph_span){ .from = i / 2,
				                    .to = i / 2 + (int)(seed >> 28),
				                    .bytes = seed >> 16 & 4095 };
		}
		nth_ok(graph_place_spans(s, 60, &bytes, &e));
		check_spans(s, 60, bytes);
		assert_true(bytes < 40 * 4096); /* at most 32 live at once */
	}
	s[3].bytes = SIZE_MAX - 5;
	assert_int_equal(graph_place_spans(s, 60, &bytes, &e), INFER_ENOMEM);
	rc = INFER_OK;
out:
	return rc;
}

/* x = embed; 20 times: h = norm x; y = mm h; x = x + y; then pick and the head */
static void chain(struct graph *g)
{
	int32_t x = add(g, GRAPH_EMBED, 64, -1, -1);

	for (int i = 0; i < 20; i++)
		x = add(g, GRAPH_ADD, 0, x, add(g, GRAPH_MM, 64, add(g, GRAPH_NORM, 0, x, -1), -1));
	g->output = add(g, GRAPH_MM, 1000, add(g, GRAPH_GET_ROWS, 0, x, -1), -1);
}

static int case_reuse(void)
{
	size_t offset[80], bytes, row = 64 * sizeof(float);
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	chain(&g);
	nth_ok(graph_check(&g, 1, &e));
	nth_ok(graph_place(&g, NULL, 10, 2, 0, offset, &bytes, &e));
	assert_int_equal(bytes, 10 * row + 2 * row +
	                                2 * 4000); /* the end: x, the rows picked, the logits */
	for (int i = 0; i < 20; i++)
		assert_int_equal(offset[3 + 3 * i], offset[0]); /* ADD writes over the residual */
	assert_int_not_equal(offset[1], offset[0]);             /* NORM must not: x lives on */
out:
	graph_fini(&g);
	return rc;
}

/* Nodes of one stage run at the same time: what one reads must not be what another writes, and the
 * gap that was asked for lies between them. */
static int case_stages(void)
{
	size_t offset[80], bytes, gap = 128;
	int32_t stage[80];
	struct graph g;
	infer_error e;
	int rc;

	graph_init(&g);
	chain(&g);
	nth_ok(graph_check(&g, 1, &e));
	for (int i = 0; i < g.n; i++)
		stage[i] = i / 4;
	nth_ok(graph_place(&g, stage, 10, 2, gap, offset, &bytes, &e));
	for (int i = 0; i < g.n; i++)
		for (int j = 0; j < i; j++) {
			size_t wi = (size_t)g.nodes[i].cols * (g.nodes[i].rows ? 2 : 10) * 4;
			size_t wj = (size_t)g.nodes[j].cols * (g.nodes[j].rows ? 2 : 10) * 4;
			int share = offset[i] < offset[j] + wj + gap &&
			            offset[j] < offset[i] + wi + gap;
			int over = g.nodes[i].op == GRAPH_ADD && offset[i] == offset[j];
			if (stage[i] == stage[j] && !over)
				assert_false(share);
		}
out:
	graph_fini(&g);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_random_spans), nth_case(case_reuse),
		                            nth_case(case_stages) };
	return nth_group(tests);
}
