/* test_held.cpp - chains whose rows stay in registers (chain_held.cu), and chains in which each head
 * has a block of its own: the bits of the same operations one by one, each in a launch of its own. */
#include "backend/cuda/chain_few.cuh"
#include "chain_test.h"

enum { VALUES = 8, ACTS = 2, SHAPES = 5 };

/* Sources and results of a chain, [rows][cols] each */
struct buffers {
	float *v[VALUES];
	struct gpu_act act[ACTS];
	size_t bytes[ACTS], d, sums;
};

static void make_act(struct buffers *z, int i, int form, int terms, int rows, int cols)
{
	size_t blocks = (size_t)gpu_blocks(cols);
	struct gpu_act *a = &z->act[i];

	a->form = form, a->terms = terms;
	a->row_bytes = blocks * GPU_BLOCK *
	               (form == GPU_I8    ? 1
	                : form == GPU_F32 ? 4
	                                  : 2 * (size_t)terms);
	z->bytes[i] = a->row_bytes * (size_t)rows;
	z->d = (size_t)rows * blocks, z->sums = z->d * 8;
	a->q = take<unsigned char>(z->bytes[i]);
	a->d = form == GPU_I8 || form == GPU_F16 ? take<float>(z->d) : NULL;
	a->sum = form == GPU_I8 ? take<int16_t>(z->sums) : NULL;
}
static void expect_same_buffers(const char *what, const struct buffers *x, const struct buffers *y,
                                size_t all)
{
	for (int i = 0; i < VALUES; i++)
		expect_same(what, look(x->v[i], all), look(y->v[i], all), all);
	for (int i = 0; i < ACTS; i++) {
		if (x->bytes[i])
			expect_same(what, look((unsigned char *)x->act[i].q, x->bytes[i]),
			            look((unsigned char *)y->act[i].q, x->bytes[i]), x->bytes[i]);
		if (x->act[i].d)
			expect_same(what, look(x->act[i].d, x->d), look(y->act[i].d, x->d), x->d);
		if (x->act[i].sum)
			expect_same(what, look(x->act[i].sum, x->sums),
			            look(y->act[i].sum, x->sums), x->sums);
	}
}

static struct gpu_op norm_of(int cols, const float *a, float *y, const float *gain)
{
	struct gpu_op o = op_of(GRAPH_NORM, cols);

	o.a = a, o.y = y, o.w0 = gain, o.w_rows = 1;
	o.node.norm.groups = 1, o.node.norm.eps = 1e-5f;
	return o;
}
static struct gpu_op pair_of(int op, int cols, const float *a, const float *b, float *y)
{
	struct gpu_op o = op_of(op, cols);

	o.a = a, o.b = b, o.y = y;
	return o;
}
static struct gpu_op act_of(int cols, const float *a, const struct gpu_act *act)
{
	struct gpu_op o = op_of(GPU_OP_ACT, cols);

	o.a = a, o.act = *act;
	return o;
}

/* ---- chains as models have them; each returns its number of operations ---- */

static int sum_norm_act(struct gpu_op *o, const struct buffers *z, const float *gain, int cols)
{
	o[0] = pair_of(GRAPH_ADD, cols, z->v[0], z->v[1], z->v[0]);
	o[1] = norm_of(cols, z->v[0], z->v[2], gain);
	o[2] = act_of(cols, z->v[2], &z->act[0]);
	return 3;
}
/* A norm, a sum whose second source is its result, a norm with another gain, a norm without one. */
static int more_norms(struct gpu_op *o, const struct buffers *z, const float *gain, int cols)
{
	o[0] = norm_of(cols, z->v[0], z->v[2], gain);
	o[1] = pair_of(GRAPH_ADD, cols, z->v[1], z->v[2], z->v[3]), o[1].node.add.mul = 0.22f;
	o[2] = norm_of(cols, z->v[3], z->v[4], z->v[5]);
	o[3] = norm_of(cols, z->v[4], z->v[6], NULL);
	o[4] = act_of(cols, z->v[6], &z->act[0]);
	o[5] = act_of(cols, z->v[6], &z->act[1]);
	return 6;
}
static int silu_act(struct gpu_op *o, const struct buffers *z, const float *, int cols)
{
	o[0] = pair_of(GRAPH_SILU_MUL, cols, z->v[0], z->v[1], z->v[2]);
	o[1] = act_of(cols, z->v[2], &z->act[0]);
	return 2;
}
static int gelus(struct gpu_op *o, const struct buffers *z, const float *, int cols)
{
	o[0] = pair_of(GRAPH_GELU_MUL, cols, z->v[0], z->v[1], z->v[2]);
	o[1] = pair_of(GRAPH_GELU_MUL, cols, z->v[2], z->v[1], z->v[3]), o[1].node.gelu_mul.erf = 1;
	o[2] = pair_of(GRAPH_GELU, cols, z->v[3], NULL, z->v[4]), o[2].b_cols = 0;
	o[3] = act_of(cols, z->v[4], &z->act[0]);
	return 4;
}
static int acts_alone(struct gpu_op *o, const struct buffers *z, const float *gain, int cols)
{
	o[0] = act_of(cols, z->v[0], &z->act[0]);
	o[1] = act_of(cols, z->v[0], &z->act[1]);
	o[2] = norm_of(cols, z->v[0], z->v[2], gain);
	return 3;
}

typedef int make_fn(struct gpu_op *o, const struct buffers *z, const float *gain, int cols);
static const struct chain_case {
	const char *name;
	make_fn *make;
	int form[ACTS], terms;
} cases[] = {
	{ "sum, norm, i8", sum_norm_act, { GPU_I8, GPU_F32 }, 1 },
	{ "sum, norm, f16", sum_norm_act, { GPU_F16, GPU_F32 }, 2 },
	{ "more norms, i8, f32", more_norms, { GPU_I8, GPU_F32 }, 1 },
	{ "more norms, bf16, f16", more_norms, { GPU_BF16, GPU_F16 }, 3 },
	{ "silu, i8", silu_act, { GPU_I8, GPU_F32 }, 1 },
	{ "gelus, f16", gelus, { GPU_F16, GPU_F32 }, 2 },
	{ "acts", acts_alone, { GPU_I8, GPU_F32 }, 1 },
};
enum { CASES = sizeof cases / sizeof *cases };

/* x in one launch, y in one for each operation */
static void compare(const struct chain_case *k, int rows, int cols)
{
	size_t all = (size_t)(rows * cols);
	struct step s = make_step(rows, rows);
	float *start = host<float>(all), *gain, *dg = values(&gain, (size_t)cols, 2);
	struct buffers z[2] = {};
	struct gpu_op ops[GPU_CHAIN];
	char name[NAME];

	for (int i = 0; i < VALUES; i++) {
		fill_uniform(start, all, 3);
		z[0].v[i] = give(start, all), z[1].v[i] = give(start, all);
	}
	for (int i = 0; i < ACTS; i++)
		for (int j = 0; j < 2; j++)
			make_act(&z[j], i, k->form[i], k->terms, rows, cols);
	struct gpu_chain c = {};
	c.n = k->make(c.ops, &z[0], dg, cols);
	expect(chain_held_supports(&c), "%s of %d columns is not held", k->name, cols);
	run_ops(c.ops, c.n, &s.d, 0, rows);
	for (int i = 0, n = k->make(ops, &z[1], dg, cols); i < n; i++)
		run_ops(ops + i, 1, &s.d, 0, rows);
	snprintf(name, sizeof name, "%s %dx%d", k->name, rows, cols);
	expect_same_buffers(name, &z[0], &z[1], all);
}
static void test_held(void)
{
	/* blocks: 1; fewer than the warps of a norm; 16; 17, so that the last warp has one and the
	 * others two; the most */
	static const int cols[SHAPES] = { 256, 1280, 4096, 4352, 8192 };

	for (int i = 0; i < (small_test() ? 2 : (int)SHAPES); i++)
		for (int k = 0; k < (int)CASES; k++) {
			int mark = mark_buffers();

			compare(&cases[k], small_test() || i > 2 ? 1 : 3, cols[i]);
			free_buffers(mark);
		}
}
static void test_not_held(void)
{
	struct buffers z = {};
	struct gpu_chain c = {};

	z.v[0] = take<float>(1), z.v[1] = take<float>(1), z.v[2] = take<float>(1);
	z.act[0].form = GPU_I8, z.act[1].form = GPU_F16;
	c.n = sum_norm_act(c.ops, &z, NULL, 4096);
	expect(chain_held_supports(&c), "the chain itself");
	c.ops[1].node.norm.centred = 1;
	expect(!chain_held_supports(&c), "a centred norm");
	c.n = sum_norm_act(c.ops, &z, NULL, 4096), c.ops[1].node.norm.groups = 32;
	expect(!chain_held_supports(&c), "a norm of groups");
	c.n = sum_norm_act(c.ops, &z, NULL, 4096), c.ops[0].node.add.pieces = 2;
	expect(!chain_held_supports(&c), "a sum of pieces");
	c.n = sum_norm_act(c.ops, &z, NULL, 4096), c.ops[1].a = z.v[1];
	expect(!chain_held_supports(&c), "a norm of another row");
	c.n = sum_norm_act(c.ops, &z, NULL, 4096), c.ops[0].b_cols = 1;
	expect(!chain_held_supports(&c), "a source of one column");
	c.n = sum_norm_act(c.ops, &z, NULL, 4000);
	expect(!chain_held_supports(&c), "columns that are no whole blocks");
	c.n = sum_norm_act(c.ops, &z, NULL, 8448);
	expect(!chain_held_supports(&c), "a row that is too long");
	c.n = acts_alone(c.ops, &z, NULL, 4096);
	expect(!chain_held_supports(&c), "activations in two orders");
}

/* ---- by heads ---- */

static struct gpu_op heads_norm(int heads, int dk, float *x, const float *gain)
{
	struct gpu_op o = norm_of(heads * dk, x, x, gain);

	o.node.norm.groups = heads;
	return o;
}
static struct gpu_op heads_rope(int heads, int dk, const float *x, float *y)
{
	struct gpu_op o = op_of(GRAPH_ROPE, heads * dk);

	o.a = x, o.y = y;
	o.node.rope.heads = heads, o.node.rope.dk = dk, o.node.rope.rot = dk - 8;
	o.node.rope.from = 4, o.node.rope.halves = heads % 2;
	return o;
}
/* Queries and keys: norms of heads, rotation, in place and not; then K and V into the cache, or where
 * by_v: V after a norm of its own. */
static int make_heads(struct gpu_op *o, float *const v[VALUES], const float *gain, int layer,
                      int norm_v)
{
	enum { Q = 7, KV = 2, DK = 64 };
	int n = 4;

	o[0] = heads_norm(Q, DK, v[0], gain);
	o[1] = heads_norm(KV, DK, v[1], gain);
	o[2] = heads_rope(Q, DK, v[0], v[3]);
	o[3] = heads_rope(KV, DK, v[1], v[1]);
	if (norm_v)
		o[n++] = heads_norm(KV, DK, v[2], NULL);
	o[n] = op_of(GRAPH_KV_PUT, 0);
	o[n].a = v[1], o[n].b = v[2], o[n].a_cols = o[n].b_cols = KV * DK;
	o[n].node.kv_put.layer = layer, o[n].node.kv_put.heads = KV;
	o[n].node.kv_put.dk = o[n].node.kv_put.dv = DK;
	return n + 1;
}
/* All in one launch; one by one; one by one by the general kernel, which runs if there are many rows. */
static void compare_heads(int norm_v, int type)
{
	enum {
		ROWS = 2,
		MANY = 65,
		WAYS = 3,
		COLS = 7 * 64,
		PAGES = MOST_POS / GPU_PAGE + 1,
		HEAD = 64 * GPU_PAGE * 4,
		PAGE = 4 * HEAD
	};
	size_t all = (size_t)(ROWS * COLS), cache = (size_t)(ROWS * PAGES) * PAGE;
	struct step s = make_step(ROWS, ROWS);
	uint32_t *tables = host<uint32_t>((size_t)(ROWS * PAGES));
	float *start = host<float>(all), *gain, *dg = values(&gain, 64, 2), *cs;
	struct gpu_layer layers[WAYS] = {};
	unsigned char *zeros = host<unsigned char>(cache), *written[WAYS];
	float *v[WAYS][VALUES];
	struct gpu_op ops[GPU_CHAIN];

	for (int i = 0; i < s.n_runs * PAGES; i++)
		tables[i] = (uint32_t)i;
	for (int i = 0; i < s.n_runs; i++)
		s.runs[i].tables[0] = (uint32_t)(i * PAGES);
	put((struct gpu_run *)s.d.runs, s.runs, (size_t)s.n_runs);
	memset(zeros, 0, cache);
	for (int i = 0; i < WAYS; i++) {
		layers[i].base = give(zeros, cache), layers[i].page_bytes = PAGE;
		layers[i].k_type = layers[i].v_type = (int16_t)type;
		layers[i].k_head = layers[i].v_head = HEAD, layers[i].v_at = 2 * HEAD;
	}
	s.d.layers = give(layers, WAYS), s.d.tables = give(tables, (size_t)(ROWS * PAGES));
	s.d.cs[0] = values(&cs, (size_t)ROWS * 64, 1);
	for (int i = 0; i < 4; i++) {
		fill_uniform(start, all, 3);
		for (int w = 0; w < WAYS; w++)
			v[w][i] = give(start, all);
	}
	for (int w = 0; w < WAYS; w++) {
		int n = make_heads(ops, v[w], dg, w, norm_v);

		for (int i = 0; i < n; i += w ? 1 : n)
			run_ops(ops + i, w ? 1 : n, &s.d, 0, w == 2 ? (int)MANY : (int)ROWS);
		written[w] = look(layers[w].base, cache);
		for (int i = 0; i < 4; i++)
			expect_same("by heads", look(v[w][i], all), look(v[0][i], all), all);
		expect_same("by heads: cache", written[w], written[0], cache);
	}
	expect(memcmp(written[0], zeros, cache) != 0, "nothing was written to the cache");
}
static void test_heads(void)
{
	static const int types[] = { INFER_F16, INFER_F32, INFER_Q8_0, INFER_Q4_0 };

	for (int i = 0; i < (small_test() ? 1 : 4); i++) {
		int mark = mark_buffers();

		compare_heads(i % 2, types[i]);
		free_buffers(mark);
	}
}
/* A head of one operation may read what another head wrote in the operation before. */
static void test_not_heads(void)
{
	struct gpu_chain c = {};
	float *v[VALUES] = { take<float>(1), take<float>(1), take<float>(1), take<float>(1) };

	c.max_rows = 64, c.n = make_heads(c.ops, v, NULL, 0, 0);
	expect(chain_heads_supports(&c), "the chain itself");
	c.max_rows = 65;
	expect(!chain_heads_supports(&c), "many rows");
	c.max_rows = 1, c.ops[2].node.rope.heads = 14;
	expect(!chain_heads_supports(&c), "heads of another size");
	c.n = make_heads(c.ops, v, NULL, 0, 0), c.ops[0].node.norm.centred = 1;
	expect(!chain_heads_supports(&c), "a centred norm");
	c.n = make_heads(c.ops, v, NULL, 0, 0), c.ops[4].a = v[3];
	expect(!chain_heads_supports(&c), "K of other heads");
	c.n = make_heads(c.ops, v, NULL, 0, 0), c.ops[4].b = v[3];
	expect(!chain_heads_supports(&c), "V of other heads");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_held);
	RUN(test_not_held);
	RUN(test_heads);
	RUN(test_not_heads);
	return end_tests();
}
