/* tests/unit/backend/test_host_experts.c - MOE nodes that the host computes for a device: the rows that
 * they get give the bits that the CPU backend gives in the whole graph, which test_ops compares with
 * float64; for steps of any number of rows and nodes in any order. */
#include "../nth.h"
#include "../open.h"
#include "toy_part.h"
#include "backend/cpu/experts.h"

#include <string.h>

enum { NODES = 4, ROWS = 70, COLS = 256, FF = 512, LAST = NODES - 1 };

/* One MOE after the other, of several types, with and without biases and weights inside; the last is of
 * the output rows. */
static const struct {
	int type, ff, act, inside, biased;
} kinds[NODES] = { { INFER_Q4_K, FF, 0, 0, 0 },
	           { INFER_F32, 96, 2, 0, 1 },
	           { INFER_BF16, 64, 1, 1, 0 },
	           { INFER_Q8_0, FF, 0, 0, 0 } };

static struct toy toy;
static int32_t ids[ROWS], moe[NODES];

static int32_t add_moe(int32_t x, int i)
{
	struct graph_node route = graph_node_of(GRAPH_ROUTE), n = graph_node_of(GRAPH_MOE);
	int type = kinds[i].type, ff = kinds[i].ff;

	toy.k.type = INFER_F32;
	route.src[0] = toy_mm(&toy, x, TOY_EXPERTS, 0, 4, 0);
	route.route.used = TOY_USED;
	n.src[0] = x;
	n.src[1] = graph_add(&toy.g, route);
	n.w[0] = toy_weight(&toy, type, TOY_EXPERTS, COLS, ff);
	n.w[1] = toy_weight(&toy, type, TOY_EXPERTS, COLS, ff);
	n.w[2] = toy_weight(&toy, type, TOY_EXPERTS, ff, COLS);
	for (int s = 3; s < 6 && kinds[i].biased; s++)
		n.w[s] = toy_weight(&toy, INFER_F32, 1, s == 5 ? COLS : ff, TOY_EXPERTS);
	n.moe.used = TOY_USED;
	n.moe.ff = ff;
	n.moe.act = kinds[i].act;
	n.moe.limit = 1;
	n.moe.weight_before_ffn = kinds[i].inside;
	moe[i] = graph_add(&toy.g, n);
	for (int s = 0; s < 6; s++)
		if (n.w[s] >= 0)
			toy.w[n.w[s]].on_host = 1;
	return toy_add(&toy, x, moe[i], 0);
}

static int32_t pick(int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_GET_ROWS);

	n.src[0] = x;
	return graph_add(&toy.g, n);
}

static void make(void)
{
	struct graph_node embed = graph_node_of(GRAPH_EMBED);
	int32_t x;

	toy = (struct toy){ .k = { .type = INFER_F32, .embd = COLS }, .seed = 7 };
	graph_init(&toy.g);
	embed.cols = COLS;
	embed.w[0] = toy_weight(&toy, INFER_F32, 1, COLS, TOY_VOCAB);
	x = graph_add(&toy.g, embed);
	for (int i = 0; i < NODES; i++) {
		x = i == LAST ? pick(x) : x;
		x = add_moe(x, i);
	}
	toy.g.output = x;
	toy.m = (struct backend_model){ .graph = &toy.g, .weights = toy.w, .n_weights = toy.n_w };
	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % TOY_VOCAB;
}

static void unmake(void)
{
	for (int i = 0; i < toy.n_w; i++)
		mem_free(toy.bytes[i]);
	graph_fini(&toy.g);
}

static struct backend_step step_of(int n, const struct backend_run *run, const int32_t *out)
{
	return (struct backend_step){
		.n = n, .n_out = n, .n_runs = 1, .ids = ids, .runs = run, .out = out
	};
}

/* The values of a node in a step of all rows, by the CPU backend. */
static float *value_of(int32_t node)
{
	const int32_t n = toy.g.n, was = toy.g.output;
	const int cols = toy.g.nodes[node].cols;
	const struct backend_size size = { ROWS, ROWS, 4096 };
	const struct backend_run run = { .n = ROWS };
	float *y = malloc((size_t)ROWS * (size_t)cols * sizeof *y);
	int32_t out[ROWS];
	struct backend_step s = step_of(ROWS, &run, out);
	struct backend_result r;
	struct open o;
	infer_error err;

	assert_non_null(y);
	for (int i = 0; i < ROWS; i++)
		out[i] = i;
	toy.g.output = toy.g.nodes[node].rows == GRAPH_OUT ? node : pick(node);
	if (open_plan(&o, backend_find("cpu"), &toy.m, &size, 1, NULL, &err) ||
	    backend_compute(o.kind, o.plan, &s, &r, &err))
		fail_msg("%s", err.message);
	memcpy(y, r.logits, (size_t)ROWS * (size_t)cols * sizeof *y);
	open_close(&o);
	toy.g.n = n;
	toy.g.output = was;
	return y;
}

/* Rows of one node, of the whole graph and computed apart. */
struct rows {
	float *x, *choice, *want;
};
static struct rows rows[NODES];
static _Alignas(64) float x[ROWS * COLS], choice[ROWS * 2 * TOY_USED], y[ROWS * COLS];

static void make_rows(void)
{
	for (int i = 0; i < NODES; i++) {
		const struct graph_node *n = &toy.g.nodes[moe[i]];

		rows[i] =
			(struct rows){ value_of(n->src[0]), value_of(n->src[1]), value_of(moe[i]) };
	}
}

static void free_rows(void)
{
	for (int i = 0; i < NODES; i++) {
		free(rows[i].x);
		free(rows[i].choice);
		free(rows[i].want);
	}
}

/* Compute n rows of node i from `from` on; memory after them must not be read or written. */
static int run(struct cpu_experts *e, int i, int from, int n, const struct backend_step *s,
               infer_error *err)
{
	const struct cpu_expert_rows r = { x, choice, y };
	const size_t at = (size_t)from * COLS, pairs = (size_t)from * 2 * TOY_USED;

	memset(x, 0xff, sizeof x);
	memset(choice, 0xff, sizeof choice);
	memset(y, 0xff, sizeof y);
	memcpy(x, rows[i].x + at, (size_t)n * COLS * sizeof *x);
	memcpy(choice, rows[i].choice + pairs, (size_t)n * 2 * TOY_USED * sizeof *choice);
	return cpu_experts_run(e, i, s, &r, err);
}

static void check(struct cpu_experts *e, int i, int from, int n)
{
	const struct backend_run of = { .n = n };
	const struct backend_step s = step_of(n, &of, NULL);
	infer_error err;

	assert_int_equal(run(e, i, from, n, &s, &err), INFER_OK);
	if (memcmp(y, rows[i].want + (size_t)from * COLS, (size_t)n * COLS * sizeof *y))
		fail_msg("node %d: %d rows from %d give other bits", i, n, from);
	for (int k = n * COLS; k < ROWS * COLS; k++)
		if (y[k] == y[k]) /* not the NaN that was there */
			fail_msg("node %d: row %d of %d was written", i, k / COLS, n);
}

static void test_bits(void **state)
{
	static const int sizes[] = { 1, 2, 7, 33, ROWS };
	const struct backend_size size = { ROWS, ROWS, 4096 };

	(void)state;
	make_rows();
	for (int threads = 1; threads <= 3; threads += 2) {
		struct cpu_experts *e;
		struct host host;

		assert_int_equal(host_open(&host, threads, NULL, NULL), INFER_OK);
		assert_int_equal(cpu_experts_new(&e, &host, &toy.m, &size, NULL), INFER_OK);
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int from = 0; from + sizes[k] <= ROWS; from += 23)
				for (int i = 0; i < NODES; i++) {
					check(e, i, from, sizes[k]);
					check(e, LAST - i, from, sizes[k]);
				}
		cpu_experts_free(e);
		host_close(&host);
	}
	free_rows();
}

/* A step that is stopped, and one without output rows. */
static void test_stop(void **state)
{
	const struct backend_size size = { ROWS, ROWS, 4096 };
	const struct backend_run of = { .n = 3 };
	struct backend_step s = step_of(3, &of, NULL);
	atomic_int stop = 0;
	struct cpu_experts *e;
	struct host host;
	infer_error err;

	(void)state;
	make_rows();
	assert_int_equal(host_open(&host, 2, NULL, NULL), INFER_OK);
	assert_int_equal(cpu_experts_new(&e, &host, &toy.m, &size, NULL), INFER_OK);
	s.stop = &stop;
	assert_int_equal(run(e, 0, 0, 3, &s, &err), INFER_OK);
	stop = 1;
	assert_int_equal(run(e, 0, 0, 3, &s, &err), INFER_ECANCEL);
	assert_string_equal(err.message, "the step was stopped");
	stop = 0;
	s.n_out = 0;
	assert_int_equal(run(e, LAST, 0, 3, &s, &err), INFER_OK);
	assert_true(y[0] != y[0]);
	check(e, LAST, 0, 3);
	cpu_experts_free(e);
	host_close(&host);
	free_rows();
}

static int case_memory(void)
{
	const struct backend_size size = { ROWS, ROWS, 4096 }, small = { 8, 8, 4096 };
	struct backend_need need, less;
	struct cpu_experts *e = NULL;
	struct host host = { 0 };
	int rc;

	nth_ok(host_open(&host, 1, NULL, NULL));
	nth_ok(cpu_experts_need(&need, &host, &toy.m, &size, NULL));
	nth_ok(cpu_experts_need(&less, &host, &toy.m, &small, NULL));
	/* gate and up of every pair, x and y */
	assert_true(need.workspace > ROWS * (2 * TOY_USED * FF + 2 * COLS) * sizeof(float));
	assert_true(less.workspace < need.workspace / 4 && need.thread > 0);
	assert_int_equal(need.weights + need.host, 0);
	nth_ok(cpu_experts_new(&e, &host, &toy.m, &size, NULL));
out:
	cpu_experts_free(e);
	host_close(&host);
	return rc;
}

/* Weights that are not on the host are left to the device; a type without values is refused. */
static void test_chosen(void **state)
{
	const struct backend_size size = { ROWS, ROWS, 4096 };
	const struct graph_node *n;
	struct cpu_experts *e;
	struct rows was;
	struct host host;
	infer_error err;

	(void)state;
	make_rows();
	n = &toy.g.nodes[moe[0]];
	assert_int_equal(host_open(&host, 1, NULL, NULL), INFER_OK);
	assert_true(cpu_expert_is(&toy.m, n));
	assert_false(cpu_expert_is(&toy.m, &toy.g.nodes[n->src[1]]));
	toy.w[n->w[0]].on_host = 0;
	assert_false(cpu_expert_is(&toy.m, n));
	assert_int_equal(cpu_experts_new(&e, &host, &toy.m, &size, &err), INFER_OK);
	was = rows[0];
	rows[0] = rows[1]; /* number 0 is the second node now */
	check(e, 0, 0, 9);
	rows[0] = was;
	cpu_experts_free(e);
	toy.w[n->w[0]].on_host = 1;
	toy.w[n->w[1]].type = INFER_Q8_K;
	assert_int_equal(cpu_experts_new(&e, &host, &toy.m, &size, &err), INFER_EUNSUP);
	assert_null(e);
	assert_non_null(strstr(err.message, "Q8_K"));
	toy.w[n->w[1]].type = kinds[0].type;
	host_close(&host);
	free_rows();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bits),
		                            cmocka_unit_test(test_stop),
		                            cmocka_unit_test(test_chosen), nth_case(case_memory) };
	int rc;

	make();
	rc = nth_group(tests);
	unmake();
	return rc;
}
