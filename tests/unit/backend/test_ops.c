/* tests/unit/backend/test_ops.c - every operation compared with float64, at every place where a
 * small model has it; and what must not change the results: threads, chunks, other sequences,
 * the order of pages. */
#include "../nth.h"
#include "step.h"
#include "backend/cpu/cpu.h"
#include "toy.h"
#include "truth.h"

#include <stdio.h>

static const struct toy_shape plain = { .type = INFER_F32,
	                                .embd = 48,
	                                .dk = 12,
	                                .dv = 20,
	                                .rot = 8,
	                                .ff = 40,
	                                .window = 37,
	                                .cap = 7 };
/* Rows of a test that would take too long on an emulated device; LONG=1: all of them. */
static int rows_of(int n)
{
#ifdef ON_DEVICE
	enum { FEW = 48 };

	return n > FEW && !getenv("LONG") ? FEW : n;
#else
	return n;
#endif
}

static struct step_shape cache_of(const struct toy_shape *k, int type)
{
	return (struct step_shape){ TOY_LAYERS, TOY_KV, k->dk, k->dv, type, toy_state(k) };
}

static void make_ids(int32_t *ids, int n, uint32_t seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		ids[i] = (int32_t)(seed >> 8) % TOY_VOCAB;
	}
}

/* Evaluate with the backend; fails the test on any error. */
static float *eval(const struct toy *t, int cache, int threads, const char *isa, int rows,
                   int chunk, const int32_t *ids, int n)
{
	struct step_shape k = cache_of(&t->k, cache);
	int cols = t->g.nodes[t->g.output].cols;
	float *y = malloc((size_t)n * (size_t)cols * sizeof(float));
	infer_error e = { 0 };
	struct step s;

	if (step_open(&s, &t->m, &k, threads, isa, rows, &e) ||
	    step_eval(&s, ids, n, chunk, cols, y, &e))
		fail_msg("%s", e.message);
	step_close(&s);
	return y;
}

/* Largest difference, of what the largest value of the same column set is. */
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

/* Every node with columns, of those that `ops` has. */
static void check_nodes(const struct toy_shape *k, const char *ops)
{
	enum { N = 300 };
	const int n = rows_of(N);
	int32_t ids[N];
	struct toy all, t;

	make_ids(ids, n, 3);
	assert_int_equal(toy_make(&all, k, -1), INFER_OK);
	struct truth truth = { .m = &all.m, .rows = n, .ids = ids };
	truth_eval(&truth);
	for (int i = 0; i < all.g.n; i++) {
		int cols = all.g.nodes[i].cols;
		if (!cols || i == all.g.output || !ops[all.g.nodes[i].op])
			continue;
		assert_int_equal(toy_make(&t, k, i), INFER_OK);
		float *y = eval(&t, INFER_F32, 2, NULL, 64, 64, ids, n);
		double d = distance(y, truth.value[i], (size_t)n * (size_t)cols);
		if (!(d < 3e-6))
			fail_msg("node %d (%s): off by %g of the largest", i,
			         graph_op_name(all.g.nodes[i].op), d);
		free(y);
		toy_free(&t);
	}
	truth_free(&truth);
	toy_free(&all);
}

static void test_every_op(void **state)
{
	char ops[GRAPH_OPS] = { 0 };
	struct toy t;

	(void)state;
	assert_int_equal(toy_make(&t, &plain, -1), INFER_OK);
	for (int i = 0; i < t.g.n; i++)
		ops[t.g.nodes[i].op] = 1;
	for (int op = 0; op < GRAPH_OPS; op++)
		if (!ops[op])
			fail_msg("toy.h has no %s, so no test computes it", graph_op_name(op));
	toy_free(&t);
	check_nodes(&plain, ops);
}

/* Chunks, queries that grow from a later position on, experts with weights inside. */
static void test_chunked(void **state)
{
	const char ops[GRAPH_OPS] = { [GRAPH_ATTN] = 1, [GRAPH_ATTN_TEMP] = 1, [GRAPH_MOE] = 1 };
	struct toy_shape k = plain;

	(void)state;
	k.chunked = 1;
	check_nodes(&k, ops);
	k.window = KERN_SPLIT;
	check_nodes(&k, ops);
}

/* Rows that see later ones, all or some, and the parts of a text: beside other sequences, with any
 * threads and kernels, the same bits. */
static void both_ways(int window, int later, int second)
{
	enum { N = 250, OTHER = 6 };
	struct step_shape k = cache_of(&plain, INFER_F32);
	struct toy t;
	struct step s;
	int32_t ids[2][N];
	infer_error e = { 0 };
	float *alone = malloc(N * (size_t)plain.embd * sizeof(float));
	const float *y;

	make_ids(ids[0], N, 8);
	make_ids(ids[1], N, 9);
	assert_int_equal(toy_make(&t, &plain, 0), INFER_OK);
	t.g.n = 1; /* the tokens, without what picks them */
	t.g.output = toy_op(&t, GRAPH_GET_ROWS,
	                    toy_attention(&t, toy_add(&t, 0, toy_embed(&t, 2), 0), 0), -1);
	for (int i = 0; i < t.g.n; i++)
		if (t.g.nodes[i].op == GRAPH_ATTN) {
			t.g.nodes[i].attn.window = window;
			t.g.nodes[i].attn.later = later;
		}
	t.m.n_weights = t.n_w;
	struct truth truth = { .m = &t.m, .rows = N, .ids = ids[0], .second = second };
	truth_eval(&truth);
	assert_int_equal(step_open(&s, &t.m, &k, 1, "ref", N, &e), INFER_OK);
	s.second[0] = second;
	assert_int_equal(step_eval(&s, ids[0], N, N, plain.embd, alone, &e), INFER_OK);
	assert_true(distance(alone, truth.value[t.g.output], (size_t)(N * plain.embd)) < 3e-6);
	step_close(&s);
	assert_int_equal(step_open(&s, &t.m, &k, 3, NULL, STEP_ROWS, &e), INFER_OK);
	s.second[1] = second;
	assert_int_equal(step_run(&s, (const int32_t *const[]){ ids[1], ids[0], NULL, NULL },
	                          (const int[]){ OTHER, N, 0, 0 }, &y, &e),
	                 INFER_OK);
	assert_memory_equal(y + OTHER * plain.embd, alone,
	                    (size_t)(N * plain.embd) * sizeof(float));
	step_close(&s);
	truth_free(&truth);
	toy_free(&t);
	free(alone);
}

static void test_both_ways(void **state)
{
	(void)state;
	both_ways(0, 1 << 30, 100);
	both_ways(33, 32, 0);
	both_ways(1, 3, 249);
}

/* A cache of halves rounds keys and values, no more. */
static void test_half_cache(void **state)
{
	enum { N = 100 };
	int32_t ids[N];
	struct toy t;

	(void)state;
	make_ids(ids, N, 4);
	assert_int_equal(toy_make(&t, &plain, -1), INFER_OK);
	struct truth truth = { .m = &t.m, .rows = N, .ids = ids };
	truth_eval(&truth);
	float *y = eval(&t, INFER_F16, 2, NULL, 64, 64, ids, N),
	      *z = eval(&t, INFER_F32, 2, NULL, 64, 64, ids, N);
	double d = distance(y, truth.value[t.g.output], (size_t)N * TOY_VOCAB);
	assert_true(d < 5e-3);
	assert_memory_not_equal(y, z, N * TOY_VOCAB * sizeof(float));
	free(y);
	free(z);
	truth_free(&truth);
	toy_free(&t);
}

/* Weights of blocks: activations are rounded to 8 bits, so the distance is that of the rounding. */
static const struct {
	int type, embd;
} types[] = {
#ifndef ON_DEVICE
	{ INFER_F16, 64 },     { INFER_BF16, 64 },
	{ INFER_Q8_0, 64 },    { INFER_Q4_0, 64 },
	{ INFER_Q5_1, 64 },    { INFER_Q4_K, 256 },
	{ INFER_Q6_K, 256 },   { INFER_IQ4_XS, 256 },
	{ INFER_Q2_K, 256 },   { INFER_IQ1_S, 256 },
	{ INFER_IQ2_XS, 256 }, { INFER_Q2_0, 64 }, /* the last has no loops of its own */
#else
	{ INFER_F16, 64 },   { INFER_BF16, 64 },  { INFER_Q8_0, 64 },
	{ INFER_Q4_K, 256 }, { INFER_Q6_K, 256 },
#endif
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

static void test_types(void **state)
{
	enum { N = 20 };
	int32_t ids[N];

	(void)state;
	make_ids(ids, N, 5);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct toy_shape k = shape_of((int)i);
		struct toy t;
		assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
		struct truth truth = { .m = &t.m, .rows = N, .ids = ids };
		truth_eval(&truth);
		/* before routing, where a rounding may choose another expert: the first MM of
		 * queries, then the first block */
		for (int node = 2; node < 22; node++) {
			if (t.g.nodes[node].op != GRAPH_MM)
				continue;
			struct toy part;
			assert_int_equal(toy_make(&part, &k, node), INFER_OK);
			float *y = eval(&part, INFER_F32, 2, NULL, N, N, ids, N);
			double d = distance(y, truth.value[node],
			                    (size_t)N * (size_t)t.g.nodes[node].cols);
			if (!(d < (infer_type_info(k.type)->block == 1 ? 3e-6 : 3e-2)))
				fail_msg("%s, node %d: off by %g", infer_type_info(k.type)->name,
				         node, d);
			free(y);
			toy_free(&part);
		}
		truth_free(&truth);
		toy_free(&t);
	}
}

/* The same bits whatever the threads, the chunks and the kernel set. */
static void test_invariance(void **state)
{
	enum { N = 290 };
	static const struct {
		int threads, rows, chunk;
		const char *isa;
	} ways[] = {
		{ 2, 256, 256, NULL }, { 3, 64, 64, NULL }, { 1, 64, 7, NULL },
		{ 3, 16, 1, NULL },    { 2, 64, 9, "ref" },
	};
	int32_t ids[N];

	(void)state;
	make_ids(ids, N, 6);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct toy_shape k = shape_of((int)i);
		struct toy t;
		int n = rows_of(k.embd == 64 ? N : 40); /* over a split; long ones take long */
		assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
		float *want = eval(&t, INFER_F16, 1, NULL, 256, 256, ids, n);
		for (int j = 0; j < n * TOY_VOCAB; j++)
			assert_true(isfinite(want[j])); /* NaN would hide what differs */
		for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
			float *y = eval(&t, INFER_F16, ways[w].threads, ways[w].isa, ways[w].rows,
			                ways[w].chunk, ids, n);
			if (memcmp(y, want, (size_t)n * TOY_VOCAB * sizeof(float)))
				fail_msg("%s: other bits with %d threads, chunks of %d, %s",
				         infer_type_info(k.type)->name, ways[w].threads,
				         ways[w].chunk, ways[w].isa ? ways[w].isa : "all kernels");
			free(y);
		}
		free(want);
		toy_free(&t);
	}
}

/* Four sequences in steps of mixed sizes: each as if it were alone. */
static void test_neighbours(void **state)
{
	enum { N = 120 };
	struct toy_shape k = plain;
	struct step_shape cache = cache_of(&k, INFER_F16);
	int32_t ids[STEP_SEQS][N];
	infer_error e = { 0 };
	struct toy t;
	struct step s;

	(void)state;
	assert_int_equal(toy_make(&t, &k, -1), INFER_OK);
	float *alone[STEP_SEQS];
	for (int q = 0; q < STEP_SEQS; q++) {
		make_ids(ids[q], N, 10 + (uint32_t)q);
		alone[q] = eval(&t, INFER_F16, 2, NULL, 64, 64, ids[q], N);
	}
	assert_int_equal(step_open(&s, &t.m, &cache, 2, NULL, 128, &e), INFER_OK);
	for (int step = 0; step < 30; step++) {
		const int32_t *of[STEP_SEQS];
		int n[STEP_SEQS], rows = 0;
		const float *y;
		for (int q = 0; q < STEP_SEQS; q++) {
			n[q] = (step * 7 + q * 5) % 11 * (step % (q + 2) != 0);
			n[q] = s.len[q] + n[q] > N ? N - s.len[q] : n[q];
			of[q] = ids[q] + s.len[q];
			rows += n[q];
		}
		if (!rows)
			continue;
		assert_int_equal(step_run(&s, of, n, &y, &e), INFER_OK);
		for (int q = 0; q < STEP_SEQS; y += n[q++] * TOY_VOCAB)
			assert_memory_equal(y, alone[q] + (s.len[q] - n[q]) * TOY_VOCAB,
			                    (size_t)n[q] * TOY_VOCAB * sizeof(float));
	}
	for (int q = 0; q < STEP_SEQS; q++) {
		assert_true(s.len[q] > 50);
		free(alone[q]);
	}
	step_close(&s);
	toy_free(&t);
}

/* Pages behind a window are never looked at. */
static void test_window_pages(void **state)
{
	enum { N = 300 };
	struct toy_shape k = plain;
	struct step_shape cache = cache_of(&k, INFER_F16);
	int32_t ids[N];
	infer_error e = { 0 };
	struct toy t;
	struct step s;

	(void)state;
	make_ids(ids, N, 8);
	assert_int_equal(toy_make(&t, &k, 17),
	                 INFER_OK); /* ends with the first block, the one with a window */
	float *want = eval(&t, INFER_F16, 1, NULL, 64, 64, ids, N);
	assert_int_equal(step_open(&s, &t.m, &cache, 2, NULL, 64, &e), INFER_OK);
	for (int at = 0; at < N; at += 20) {
		const int32_t *of[STEP_SEQS] = { ids + at };
		int n[STEP_SEQS] = { 20 };
		const float *y;
		for (int p = 0; (p + 1) * KERN_PAGE <= at - k.window + 1; p++)
			s.pages[0][p] = BACKEND_NO_PAGE;
		assert_int_equal(step_run(&s, of, n, &y, &e), INFER_OK);
		assert_memory_equal(y, want + at * k.embd, 20 * (size_t)k.embd * sizeof(float));
	}
	assert_true(s.pages[0][0] == BACKEND_NO_PAGE && s.pages[0][6] == BACKEND_NO_PAGE);
	step_close(&s);
	free(want);
	toy_free(&t);
}

#ifndef ON_DEVICE /* memory of the host, as the CPU has it */
/* run allocates nothing; need says what plan takes. */
static int case_memory(void)
{
	struct step_shape cache = cache_of(&plain, INFER_F16);
	struct backend_size size = { 32, 32, STEP_PAGES * KERN_PAGE };
	const int32_t ids[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	float logits[8 * TOY_VOCAB];
	struct step s = { 0 };
	struct toy t = { 0 };
	infer_error e;
	struct backend_need need;
	int rc;

	nth_ok(toy_make(&t, &plain, -1));
	nth_ok(step_open(&s, &t.m, &cache, 2, NULL, 32, &e));
	nth_ok(s.o.kind->need(&need, s.o.b, &t.m, &size, &e));
	assert_int_equal(need.workspace, s.o.plan->bytes);
	assert_true(!need.weights && !need.host);
	uint64_t calls = mem_calls_all();
	nth_ok(step_eval(&s, ids, 8, 3, TOY_VOCAB, logits, &e));
	assert_int_equal(mem_calls_all(), calls);
out:
	step_close(&s);
	toy_free(&t);
	return rc;
}

/* Mistakes of a caller are named. */
static int case_refusals(void)
{
	struct step_shape cache = cache_of(&plain, INFER_F16);
	const int32_t ids[40] = { 0, TOY_VOCAB };
	float logits[40 * TOY_VOCAB];
	struct step s = { 0 };
	struct toy t = { 0 };
	struct backend_need need;
	struct backend *b;
	struct host h;
	infer_error e;
	int rc;

	nth_ok(toy_make(&t, &plain, -1));
	nth_ok(step_open(&s, &t.m, &cache, 1, NULL, 32, &e));
	assert_int_equal(step_eval(&s, ids + 1, 1, 1, TOY_VOCAB, logits, &e), INFER_EINVAL);
	assert_non_null(strstr(e.message, "id 72"));
	assert_int_equal(step_eval(&s, ids, 40, 40, TOY_VOCAB, logits, &e), INFER_EINVAL);
	t.w[t.g.nodes[2].w[0]].type = INFER_Q8_K;
	nth_fails(s.o.kind->need(&need, s.o.b, &t.m, &(struct backend_size){ 1, 1, 1 }, &e),
	          INFER_EUNSUP);
	assert_non_null(strstr(e.message, "Q8_K"));
	assert_int_equal(host_open(&h, 1, "abacus", &e), INFER_EUNSUP);
	assert_null(h.pool);
	assert_int_equal(host_open(&h, 0, NULL, &e), INFER_EINVAL);
	assert_int_equal(s.o.kind->open(&b, &s.o.host, &(struct backend_opts){ 1 }, &e),
	                 INFER_EINVAL);
	assert_null(b);
	assert_null(backend_find("abacus"));
out:
	step_close(&s);
	toy_free(&t);
	return rc;
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_op),
		cmocka_unit_test(test_chunked),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_half_cache),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_invariance),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_window_pages),
#ifndef ON_DEVICE
		nth_case(case_memory),
		nth_case(case_refusals),
#endif
	};
	return nth_group(tests);
}
