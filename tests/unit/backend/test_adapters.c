/* tests/unit/backend/test_adapters.c - adapters in every operation that they change, compared with the merged
 * model in float64; and what must not change the results: threads, chunks, kernels, neighbours with other
 * adapters. */
#include "../nth.h"
#include "step.h"
#include "backend/check.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/experts.h"
#include "toy_adapter.h"
#include "truth.h"

#include <stdio.h>

enum { RANK = BACKEND_USES * TOY_RANK };

static const struct toy_shape plain = { .type = INFER_F32,
	                                .embd = 48,
	                                .dk = 12,
	                                .dv = 20,
	                                .rot = 8,
	                                .ff = 40,
	                                .window = 37,
	                                .cap = 7 };

static struct step_shape cache_of(const struct toy_shape *k, int rank)
{
	return (struct step_shape){
		TOY_LAYERS, TOY_KV, k->dk, k->dv, INFER_F32, toy_state(k), rank
	};
}

static void make_ids(int32_t *ids, int n, uint32_t seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		ids[i] = (int32_t)(seed >> 8) % TOY_VOCAB;
	}
}

/* How to evaluate. */
struct way {
	int threads, rows, chunk, rank;
	const char *isa;
};

static float *eval(const struct toy *t, const struct way *w, const struct backend_use *uses,
                   int n_uses, const int32_t *ids, int n)
{
	struct step_shape k = cache_of(&t->k, w->rank);
	int cols = t->g.nodes[t->g.output].cols;
	float *y = malloc((size_t)n * (size_t)cols * sizeof(float));
	infer_error e = { 0 };
	struct step s;

	if (step_open(&s, &t->m, &k, w->threads, w->isa, w->rows, &e))
		fail_msg("%s", e.message);
	s.uses[0] = uses;
	s.n_uses[0] = n_uses;
	if (step_eval(&s, ids, n, w->chunk, cols, y, &e))
		fail_msg("%s", e.message);
	step_close(&s);
	return y;
}

static double distance(const float *y, const double *want, size_t n)
{
	double most = 0, scale = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)y[i] - want[i]);
		most = d > most || d != d ? d : most;
		scale = fabs(want[i]) > scale ? fabs(want[i]) : scale;
	}
	return most / (scale > 0 ? scale : 1);
}

/* Every node of the model with these kinds of adapters (toy_adapter_new), at two sizes of steps. */
static void check_nodes(const struct toy_shape *k, const int *kinds, int n_kinds, double most)
{
	enum { N = 70 };
	int32_t ids[N];
	struct toy_adapter *a[BACKEND_USES];
	struct backend_use uses[BACKEND_USES];
	struct toy all, t;

	make_ids(ids, N, 3);
	assert_int_equal(toy_make(&all, k, -1), INFER_OK);
	for (int i = 0; i < n_kinds; i++) {
		infer_error err = { 0 };

		a[i] = toy_adapter_new(&all, 40 + (uint32_t)i, kinds[i]);
		uses[i] = (struct backend_use){ &a[i]->a, i & 1 ? -0.4f : 0.7f };
		if (backend_check_adapter(&all.m, &a[i]->a, &err))
			fail_msg("%s", err.message);
	}
	struct toy_merged *m = toy_merged_new(&all, uses, n_kinds);
	struct truth truth = { .m = &m->m, .rows = N, .ids = ids };
	truth_eval(&truth);
	for (int i = 0; i < all.g.n; i++) {
		int cols = all.g.nodes[i].cols;
		if (!cols || i == all.g.output)
			continue;
		assert_int_equal(toy_make(&t, k, i), INFER_OK);
		for (int size = 0; size < 2; size++) {
			struct way w = { 2, 64, size ? 64 : 3, RANK, NULL };
			float *y = eval(&t, &w, uses, n_kinds, ids, N);
			double d = distance(y, truth.value[i], (size_t)N * (size_t)cols);
			if (!(d < most))
				fail_msg("node %d (%s), steps of %d: off by %g of the largest", i,
				         graph_op_name(all.g.nodes[i].op), w.chunk, d);
			free(y);
		}
		toy_free(&t);
	}
	truth_free(&truth);
	toy_merged_free(m);
	for (int i = 0; i < n_kinds; i++)
		toy_adapter_free(a[i]);
	toy_free(&all);
}

static void test_deltas(void **state)
{
	(void)state;
	check_nodes(&plain, (const int[]){ 0 }, 1, 5e-6);
}

static void test_wholes(void **state)
{
	struct toy_shape k = plain;

	(void)state;
	k.chunked = 1; /* experts with weights inside */
	check_nodes(&k, (const int[]){ 1 }, 1, 5e-6);
}

static void test_several(void **state)
{
	(void)state;
	check_nodes(&plain, (const int[]){ 0, 1, 0 }, 3, 5e-6);
}

/* A matrix that is the table and the output, too: its changes as one do not touch the other. */
static void test_tied(void **state)
{
	enum { N = 20, EMBD = 48 };
	const struct way w = { 2, 32, 7, RANK, NULL };
	int32_t ids[N];
	struct toy t = { .k = plain, .seed = 5 };
	struct toy_adapter *a;
	double *want = malloc(N * TOY_VOCAB * sizeof *want), x[EMBD];
	float *y;

	(void)state;
	make_ids(ids, N, 4);
	graph_init(&t.g);
	struct graph_node mm = graph_node_of(GRAPH_MM);
	mm.src[0] = toy_embed(&t, 0);
	mm.cols = TOY_VOCAB;
	mm.w[0] = t.g.nodes[0].w[0];
	mm.mm.mul = 0.3f;
	t.g.output = toy_op(&t, GRAPH_GET_ROWS, graph_add(&t.g, mm), -1);
	t.m = (struct backend_model){ .graph = &t.g, .weights = t.w, .n_weights = t.n_w };
	a = calloc(1, sizeof *a);
	a->a = (struct backend_adapter){ a->product, a->table, t.n_w, TOY_RANK };
	a->product[0].deltas = a->deltas[0];
	a->table[0].deltas = a->looks;
	toy_delta_of(a, &t, a->deltas[0], TOY_VOCAB, EMBD, 1);
	toy_delta_of(a, &t, a->looks, TOY_VOCAB, 0, 3);
	a->looks->b = toy_rows(a, &t, a->looks->b_type, EMBD, a->looks->rank, &a->looks->b_row);
	struct backend_use use = { &a->a, 1.25f };
	for (int r = 0; r < N; r++) {
		for (int i = 0; i < EMBD; i++)
			x[i] = (double)((const float *)t.w[0].at[0])[ids[r] * EMBD + i];
		toy_merge_row(x, a->looks, 1.25 * (double)a->looks->scale, ids[r], EMBD, 1);
		for (int c = 0; c < TOY_VOCAB; c++) {
			double row[EMBD], sum = 0;
			for (int i = 0; i < EMBD; i++)
				row[i] = (double)((const float *)t.w[0].at[0])[c * EMBD + i];
			toy_merge_row(row, a->deltas[0], 1.25 * (double)a->deltas[0]->scale, c,
			              EMBD, 0);
			for (int i = 0; i < EMBD; i++)
				sum += row[i] * x[i] * sqrt(EMBD) * (double)mm.mm.mul;
			want[r * TOY_VOCAB + c] = sum;
		}
	}
	y = eval(&t, &w, &use, 1, ids, N);
	assert_true(distance(y, want, (size_t)N * TOY_VOCAB) < 2e-6);
	free(y);
	free(want);
	toy_adapter_free(a);
	toy_free(&t);
}

/* the types of the model's matrices; the last has no loops of its own */
static const struct {
	int type, embd;
} types[] = {
	{ INFER_F32, 48 },  { INFER_F16, 64 },   { INFER_BF16, 64 },
	{ INFER_Q8_0, 64 }, { INFER_Q4_K, 256 }, { INFER_Q2_0, 64 },
};

static struct toy_shape shape_of(int i)
{
	return (struct toy_shape){ .type = types[i].type,
		                   .embd = types[i].embd,
		                   .dk = 64,
		                   .dv = 64,
		                   .rot = 64,
		                   .ff = types[i].embd,
		                   .window = 37 };
}

static void check_bits(const float *y, const float *want, size_t n, int type, const char *what)
{
	for (size_t i = 0; i < n; i++)
		assert_true(isfinite(want[i])); /* NaN would hide what differs */
	if (memcmp(y, want, n * sizeof *y))
		fail_msg("%s: other bits with %s", infer_type_info(type)->name, what);
}

/* The same bits whatever the threads, the chunks and the kernel set. */
static void test_invariance(void **state)
{
	enum { N = 150 };
	static const struct way ways[] = {
		{ 2, 160, 160, RANK, NULL },      { 3, 64, 64, RANK, NULL },
		{ 1, 64, 7, 2 * TOY_RANK, NULL }, { 3, 16, 1, RANK, NULL },
		{ 2, 64, 9, RANK, "ref" },
	};
	int32_t ids[N];

	(void)state;
	make_ids(ids, N, 6);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct toy_shape k = shape_of((int)i);
		int n = k.embd == 256 ? 30 : N;
		struct toy t;
		assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
		struct toy_adapter *a = toy_adapter_new(&t, 3, 0), *b = toy_adapter_new(&t, 4, 1);
		struct backend_use uses[] = { { &a->a, 0.6f }, { &b->a, -1.5f } };
		struct way first = { 1, 160, 160, RANK, NULL };
		float *want = eval(&t, &first, uses, 2, ids, n),
		      *base = eval(&t, &first, NULL, 0, ids, n);
		assert_memory_not_equal(base, want, (size_t)n * TOY_VOCAB * sizeof *base);
		for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
			char what[64];
			float *y = eval(&t, &ways[w], uses, 2, ids, n);
			snprintf(what, sizeof what, "%d threads, chunks of %d, %s", ways[w].threads,
			         ways[w].chunk, ways[w].isa ? ways[w].isa : "all kernels");
			check_bits(y, want, (size_t)n * TOY_VOCAB, k.type, what);
			free(y);
		}
		first.rank = 0; /* rows without adapters: as in a plan without */
		float *without = eval(&t, &first, NULL, 0, ids, n);
		check_bits(base, without, (size_t)n * TOY_VOCAB, k.type, "a plan with a rank");
		free(without);
		free(want);
		free(base);
		toy_adapter_free(a);
		toy_adapter_free(b);
		toy_free(&t);
	}
}

/* Four sequences, with none, one and as many adapters as there may be, in steps of mixed sizes: each as if it
 * were alone. */
static void check_neighbours(int type, int rounds, uint32_t seed)
{
	enum { N = 90 };
	struct toy_shape k = shape_of(type);
	struct step_shape cache = cache_of(&k, RANK);
	struct backend_use uses[STEP_SEQS][BACKEND_USES];
	struct toy_adapter *a[BACKEND_USES];
	const int n_uses[STEP_SEQS] = { 1, 0, BACKEND_USES, 2 };
	const struct way way = { 2, 64, 64, RANK, NULL };
	int32_t ids[STEP_SEQS][N];
	float *alone[STEP_SEQS];
	infer_error e = { 0 };
	struct toy t;
	struct step s;

	assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
	for (int i = 0; i < BACKEND_USES; i++)
		a[i] = toy_adapter_new(&t, 60 + (uint32_t)i, i == 1);
	for (int q = 0; q < STEP_SEQS; q++) {
		for (int u = 0; u < n_uses[q]; u++) /* the last has the second and the third */
			uses[q][u] = (struct backend_use){ &a[(u + q / 3) % BACKEND_USES]->a,
				                           0.3f + (float)q / 8 };
		make_ids(ids[q], N, 10 + (uint32_t)q);
		alone[q] = eval(&t, &way, uses[q], n_uses[q], ids[q], N);
	}
	assert_int_equal(step_open(&s, &t.m, &cache, 2, NULL, 128, &e), INFER_OK);
	for (int q = 0; q < STEP_SEQS; q++) {
		s.uses[q] = uses[q];
		s.n_uses[q] = n_uses[q];
	}
	for (int step = 0; step < rounds; step++) {
		const int32_t *of[STEP_SEQS];
		int n[STEP_SEQS], rows = 0;
		const float *y;
		for (int q = 0; q < STEP_SEQS; q++) {
			seed = seed * 1664525 + 1013904223;
			n[q] = seed >> 30 ? (int)(seed >> 8) % 13 : 1;
			n[q] = s.len[q] + n[q] > N ? N - s.len[q] : n[q];
			of[q] = ids[q] + s.len[q];
			rows += n[q];
		}
		if (!rows)
			break;
		assert_int_equal(step_run(&s, of, n, &y, &e), INFER_OK);
		for (int q = 0; q < STEP_SEQS; y += n[q++] * TOY_VOCAB)
			check_bits(y, alone[q] + (s.len[q] - n[q]) * TOY_VOCAB,
			           (size_t)n[q] * TOY_VOCAB, k.type, "neighbours");
	}
	for (int q = 0; q < STEP_SEQS; q++) {
		assert_true(s.len[q] > 40);
		free(alone[q]);
	}
	for (int i = 0; i < BACKEND_USES; i++)
		toy_adapter_free(a[i]);
	step_close(&s);
	toy_free(&t);
}

static void test_neighbours(void **state)
{
	(void)state;
	check_neighbours(0, 40, 1);
	check_neighbours(3, 40, 2);
	check_neighbours(4, 12, 3);
}

/* A step allocates nothing; need says what a plan takes, which is nothing for rank 0. */
static int case_memory(void)
{
	struct step_shape cache = cache_of(&plain, 2 * TOY_RANK);
	struct backend_size size = { 32, 32, STEP_PAGES * KERN_PAGE, 2 * TOY_RANK };
	const int32_t ids[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	float logits[8 * TOY_VOCAB];
	struct toy_adapter *a = NULL;
	struct backend_need need;
	struct backend_use use;
	struct step s = { 0 };
	struct toy t = { 0 };
	uint64_t calls, bytes;
	infer_error e;
	int rc;

	nth_ok(toy_make(&t, &plain, -1));
	nth_ok(step_open(&s, &t.m, &cache, 2, NULL, 32, &e));
	nth_ok(s.o.kind->need(&need, s.o.b, &t.m, &size, &e));
	assert_int_equal(need.workspace, s.o.plan->bytes);
	bytes = need.workspace;
	a = toy_adapter_new(&t, 9, 1);
	use = (struct backend_use){ &a->a, 1 };
	s.uses[0] = &use;
	s.n_uses[0] = 1;
	calls = mem_calls_all();
	nth_ok(step_eval(&s, ids, 8, 3, TOY_VOCAB, logits, &e));
	assert_int_equal(mem_calls_all(), calls);
	size.rank = 0;
	nth_ok(s.o.kind->need(&need, s.o.b, &t.m, &size, &e));
	assert_true(need.workspace < bytes);
out:
	if (a)
		toy_adapter_free(a);
	step_close(&s);
	toy_free(&t);
	return rc;
}

/* What a plan or a model does not have is refused. */
static void test_refusals(void **state)
{
	struct step_shape cache = cache_of(&plain, TOY_RANK);
	const int32_t ids[2] = { 1, 2 };
	float logits[2 * TOY_VOCAB];
	struct backend_use uses[BACKEND_USES + 1];
	struct backend_need need;
	struct toy_adapter *a;
	infer_error e;
	struct step s;
	struct toy t;

	(void)state;
	assert_int_equal(toy_make(&t, &plain, -1), INFER_OK);
	a = toy_adapter_new(&t, 9, 0);
	for (int i = 0; i <= BACKEND_USES; i++)
		uses[i] = (struct backend_use){ &a->a, 1 };
	assert_int_equal(step_open(&s, &t.m, &cache, 1, NULL, 32, &e), INFER_OK);
	s.uses[0] = uses;
	s.n_uses[0] = 2;
	assert_int_equal(step_eval(&s, ids, 2, 2, TOY_VOCAB, logits, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "rank 42"));
	s.n_uses[0] = 1;
	a->a.n_weights--;
	assert_int_equal(step_eval(&s, ids, 2, 2, TOY_VOCAB, logits, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "weights"));
	a->a.n_weights++;
	assert_int_equal(
		cpu_experts_need(&need, &s.o.host, &t.m, &(struct backend_size){ 1, 1, 1, 1 }, &e),
		INFER_EUNSUP);
	assert_non_null(strstr(e.message, "LoRA"));
	assert_int_equal(
		s.o.kind->need(&need, s.o.b, &t.m, &(struct backend_size){ 1, 1, 4096, -1 }, &e),
		INFER_EINVAL);
	assert_non_null(strstr(e.message, "rank"));
	step_close(&s);
	toy_adapter_free(a);
	toy_free(&t);
}

/* Adapters that do not fit the model. */
static void test_fit(void **state)
{
	struct toy_adapter *a;
	infer_error e;
	struct toy t;
	int conv = -1, norm = -1, table;

	(void)state;
	assert_int_equal(toy_make(&t, &plain, -1), INFER_OK);
	for (int i = 0; i < t.g.n; i++) {
		conv = t.g.nodes[i].op == GRAPH_CONV1D ? t.g.nodes[i].w[0] : conv;
		if (t.g.nodes[i].op == GRAPH_NORM && t.g.nodes[i].w[0] >= 0)
			norm = t.g.nodes[i].w[0];
	}
	table = t.g.nodes[0].w[0];
	a = toy_adapter_new(&t, 9, 0);
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_OK);
	a->a.n_weights++;
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EINVAL);
	a->a.n_weights--;
	a->product[conv].whole = &t.w[conv];
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EUNSUP);
	assert_non_null(strstr(e.message, "CONV1D"));
	a->product[conv].whole = NULL;
	a->product[norm].deltas = a->deltas[norm];
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EUNSUP);
	a->product[norm].deltas = NULL;
	a->product[table].deltas = a->looks; /* the table is not a matrix */
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EUNSUP);
	a->product[table].deltas = NULL;
	a->table[table].whole = &t.w[norm];
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "replace"));
	a->table[table].whole = NULL;
	a->looks[table].rank = TOY_RANK + 1;
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EINVAL);
	a->looks[table].rank = 1;
	a->looks[table].b_type = INFER_Q8_0;
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EINVAL);
	a->looks[table].b_type = INFER_F32;
	a->whole[norm] = t.w[norm];
	a->whole[norm].type = INFER_F16;
	a->product[norm].whole = &a->whole[norm];
	assert_int_equal(backend_check_adapter(&t.m, &a->a, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "vector"));
	toy_adapter_free(a);
	toy_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deltas),
		cmocka_unit_test(test_wholes),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_tied),
		cmocka_unit_test(test_invariance),
		cmocka_unit_test(test_neighbours),
		nth_case(case_memory),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
