/* tests/unit/backend/test_route.c - the operation ROUTE compared with float64
 * (tests/golden/routes, made by scripts/golden-routes.py, which documents the lines): which
 * experts, in which order (equal scores: lower id first), and their weights.  The logits of the
 * router are rows of an embedding. */
#include "../nth.h"
#include "../open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infer/type.h>
#include "graph/graph.h"

enum { MOST = 64, LINE = 8192 };

struct route {
	char name[32];
	int n, used, gating, renorm, biased;
	double scale, bias[MOST], logits[MOST], weights[MOST];
	int ids[MOST];
};

static const char *read_numbers(const char *at, double *v, int n)
{
	for (int i = 0; i < n; i++) {
		char *end;

		v[i] = strtod(at, &end);
		assert_ptr_not_equal(at, end);
		at = end;
	}
	return at;
}

static void read_route(struct route *r, const char *line)
{
	double ids[MOST];
	int used = 0;

	assert_int_equal(sscanf(line, "%31s %d %d %d %d %lf %d%n", r->name, &r->n, &r->used,
	                        &r->gating, &r->renorm, &r->scale, &r->biased, &used),
	                 7);
	assert_true(r->n <= MOST && r->used <= r->n);
	line = read_numbers(line + used, r->bias, r->biased ? r->n : 0);
	line = read_numbers(line, r->logits, r->n);
	line = read_numbers(line, ids, r->used);
	read_numbers(line, r->weights, r->used);
	for (int i = 0; i < r->used; i++)
		r->ids[i] = (int)ids[i];
}

static void build(struct graph *g, const struct route *r)
{
	struct graph_node embed = graph_node_of(GRAPH_EMBED), route = graph_node_of(GRAPH_ROUTE),
			  pick = graph_node_of(GRAPH_GET_ROWS);

	graph_init(g);
	embed.w[0] = 0;
	embed.cols = r->n;
	route.src[0] = graph_add(g, embed);
	route.w[0] = r->biased ? 1 : -1;
	route.route.used = r->used;
	route.route.sigmoid = r->gating;
	route.route.norm = r->renorm;
	route.route.mul = (float)r->scale;
	pick.src[0] = graph_add(g, route);
	g->output = graph_add(g, pick);
}

static int run(const struct route *r, float *out)
{
	static const int32_t ids[] = { 1, 0 }, rows[] = { 0, 1 };
	float table[2][MOST], bias[MOST];
	const void *at[] = { table, bias };
	struct weight w[] = { { INFER_F32, 1, { r->n, 2 }, (size_t)r->n * 4, 1, &at[0] },
		              { INFER_F32, 1, { r->n, 1 }, (size_t)r->n * 4, 1, &at[1] } };
	struct graph g;
	struct backend_model m = { &g, w, 2, NULL, 0 };
	struct backend_size size = { 2, 2, 32 };
	struct backend_kv kv = { 0 };
	const uint32_t *const pages[1] = { NULL };
	struct backend_run seq = { .n = 2, .pages = pages };
	struct backend_step step = { 2, 2, 1, ids, &seq, rows, &kv };
	struct backend_result res;
	struct open o = { 0 };
	int rc;

	for (int i = 0; i < r->n; i++) {
		((float *)table)[i] = (float)i; /* row 0: another row beside it */
		((float *)table)[r->n + i] = (float)r->logits[i];
		bias[i] = (float)r->bias[i];
	}
	build(&g, r);
	nth_need(!g.bad);
	nth_ok(graph_check(&g, 2, NULL));
	nth_ok(open_plan(&o, backend_find("cpu"), &m, &size, 1, NULL, NULL));
	nth_ok(backend_compute(o.kind, o.plan, &step, &res, NULL));
	memcpy(out, res.logits, (size_t)r->used * 2 * sizeof *out);
out:
	open_close(&o);
	graph_fini(&g);
	return rc;
}

static void check(const struct route *r, const float *y)
{
	for (int i = 0; i < r->used; i++) {
		if ((int)y[i] != r->ids[i])
			fail_msg("%s: choice %d is expert %g for %d", r->name, i, (double)y[i],
			         r->ids[i]);
		if (!(fabs((double)y[r->used + i] - r->weights[i]) <= 1e-6 * r->scale))
			fail_msg("%s: weight %d is %.9g for %.9g", r->name, i,
			         (double)y[r->used + i], r->weights[i]);
	}
}

static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/routes/routes.txt", "r");
	static char line[LINE];
	int n = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		static struct route r;
		float y[2 * MOST];

		if (*line == '#')
			continue;
		read_route(&r, line);
		assert_int_equal(run(&r, y), INFER_OK);
		check(&r, y);
		n++;
	}
	fclose(f);
	assert_true(n >= 100);
}

static int case_memory(void)
{
	static const struct route r = { "ties",
		                        6,
		                        3,
		                        0,
		                        1,
		                        0,
		                        1,
		                        { 0 },
		                        { 1, 2, 2, 0, 2, 1 },
		                        { 1 / 3.0, 1 / 3.0, 1 / 3.0 },
		                        { 1, 2, 4 } };
	float y[2 * MOST];
	int rc;

	nth_ok(run(&r, y));
	check(&r, y);
out:
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden), nth_case(case_memory) };
	return nth_group(tests);
}
