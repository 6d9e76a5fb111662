/* tests/unit/backend/toy.h - a small random model with every operation in it: three blocks, one
 * with experts, one recurrent. */
#ifndef TESTS_TOY_H
#define TESTS_TOY_H
#include "toy_part.h"

static int32_t toy_rope(struct toy *t, int32_t x, int heads, int layer)
{
	struct graph_node n = graph_node_of(GRAPH_ROPE);

	n.src[0] = x;
	n.rope.heads = heads;
	n.rope.dk = t->k.dk;
	n.rope.rot = t->k.rot;
	n.rope.halves = layer & 1;
	n.rope.table = layer;
	return graph_add(&t->g, n);
}

static int32_t toy_attention(struct toy *t, int32_t x, int layer)
{
	const struct toy_shape *k = &t->k;
	int32_t h = toy_norm(t, x, 1, 1);
	int32_t q = toy_mm(t, h, TOY_HEADS * k->dk, 1, 0, 0),
		kk = toy_mm(t, h, TOY_KV * k->dk, 0, 0, 0);
	int32_t v = toy_mm(t, h, TOY_KV * k->dv, 0, 2, 0);
	struct graph_node put = graph_node_of(GRAPH_KV_PUT), n = graph_node_of(GRAPH_ATTN);

	n.src[0] = toy_rope(t, q, TOY_HEADS, layer);
	if (layer) {
		struct graph_node temper = graph_node_of(GRAPH_ATTN_TEMP);
		temper.src[0] = n.src[0];
		temper.attn_temp.beta = 0.4f;
		temper.attn_temp.length = 3;
		temper.attn_temp.from = k->chunked ? 1 : 0;
		n.src[0] = graph_add(&t->g, temper);
	}
	put.src[0] = toy_rope(t, toy_norm(t, kk, TOY_KV, 1), TOY_KV, layer);
	put.src[1] = v;
	put.kv_put.layer = n.attn.layer = layer;
	put.kv_put.heads = n.attn.kv_heads = TOY_KV;
	put.kv_put.dk = n.attn.dk = k->dk;
	put.kv_put.dv = n.attn.dv = k->dv;
	n.src[1] = graph_add(&t->g, put);
	n.attn.heads = TOY_HEADS;
	n.attn.window = layer ? 0 : k->window;
	n.attn.chunked = !layer && k->chunked;
	n.attn.scale = 3 / sqrtf((float)k->dk);
	n.attn.cap = k->cap;
	n.w[0] = layer ? toy_vector(t, TOY_HEADS) : -1;
	h = toy_mm(t, graph_add(&t->g, n), k->embd, 0, 0, 0);
	return toy_add(t, x, h, layer ? 0.5f : 0);
}

/* The columns in another order. */
static int32_t toy_permute(struct toy *t, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_PERMUTE);
	int32_t cols = t->g.bad ? 1 : t->g.nodes[x].cols, *order;

	n.src[0] = x;
	n.w[0] = toy_weight(t, INFER_I32, 1, cols, 1);
	order = (int32_t *)(void *)t->bytes[n.w[0]];
	for (int32_t i = 0; order && i < cols; i++)
		order[i] = (cols - 1 - i + cols / 3) % cols;
	return graph_add(&t->g, n);
}

static int32_t toy_mlp(struct toy *t, int32_t x)
{
	int32_t h = toy_norm(t, x, 1, 1), g = toy_mm(t, h, t->k.ff, 0, 0, 0),
		u = toy_mm(t, h, t->k.ff, 1, 0, 0);

	h = toy_permute(t, toy_op(t, GRAPH_GELU_MUL, g, u));
	return toy_add(t, x, toy_mm(t, h, t->k.embd, 1, 0, 0), 0);
}

/* Two heads, each multiplied with a matrix of its own but for its last columns, of which some are normed. */
static int32_t toy_by_heads(struct toy *t, int32_t x)
{
	enum { LEFT = 8 };
	struct graph_node n = graph_node_of(GRAPH_HEAD_MM), norm = graph_node_of(GRAPH_NORM);

	norm.src[0] = toy_mm(t, x, 2 * (t->k.embd + LEFT), 0, 0, 0);
	norm.norm.groups = 1;
	norm.norm.first = t->k.embd + LEFT / 2;
	norm.norm.eps = 1e-5f;
	norm.w[0] = toy_vector(t, norm.norm.first);
	n.src[0] = graph_add(&t->g, norm);
	n.w[0] = toy_weight(t, t->k.type, 2, t->k.embd, t->k.embd / 2 - LEFT);
	n.cols = t->k.embd;
	n.head_mm.heads = 2;
	return toy_add(t, x, graph_add(&t->g, n), 0);
}

static int32_t toy_experts(struct toy *t, int32_t x)
{
	struct graph_node r = graph_node_of(GRAPH_MM), route = graph_node_of(GRAPH_ROUTE),
			  n = graph_node_of(GRAPH_MOE), gate = graph_node_of(GRAPH_GATE);
	int32_t h = toy_norm(t, x, 1, 0);

	r.src[0] = h;
	r.cols = TOY_EXPERTS;
	r.w[0] = toy_weight(t, INFER_F32, 1, t->k.embd, TOY_EXPERTS);
	r.mm.mul = 4;
	route.src[0] = graph_add(&t->g, r);
	route.route.used = TOY_USED;
	route.route.norm = 1;
	route.w[0] = toy_vector(t, TOY_EXPERTS);
	route.w[1] = toy_vector(t, TOY_EXPERTS);
	route.route.groups = TOY_EXPERTS / 2;
	route.route.groups_used = 2;
	route.route.group_best = 2;
	n.src[0] = h;
	n.src[1] = graph_add(&t->g, route);
	n.w[0] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.embd, t->k.ff);
	n.w[1] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.embd, t->k.ff);
	n.w[2] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.ff, t->k.embd);
	n.moe.used = TOY_USED;
	n.moe.ff = t->k.ff;
	n.moe.weight_before_ffn = t->k.chunked;
	n.w[3] = n.moe.weight_before_ffn ? -1 : toy_weight(t, INFER_F32, 1, t->k.ff, TOY_EXPERTS);
	n.w[4] = n.moe.weight_before_ffn ? -1 : toy_weight(t, INFER_F32, 1, t->k.ff, TOY_EXPERTS);
	n.w[5] = toy_weight(t, INFER_F32, 1, t->k.embd, TOY_EXPERTS);
	n.moe.act = 2;
	n.moe.limit = 1;
	x = toy_add(t, x, graph_add(&t->g, n), 0);
	h = toy_op(t, GRAPH_GATE, x, toy_mm(t, h, 1, 0, 0, 0));
	h = toy_op(t, GRAPH_GATE, h, x);
	gate.src[0] = h;
	gate.src[1] = x;
	gate.gate.no_sigmoid = 1;
	return toy_add(t, x, graph_add(&t->g, gate), 0.1f);
}

static int32_t toy_piece(struct toy *t, int32_t x, int pieces, int from, int cols)
{
	struct graph_node n = graph_node_of(GRAPH_SLICE);

	n.src[0] = x;
	n.cols = cols;
	n.slice.pieces = pieces;
	n.slice.from = from;
	return graph_add(&t->g, n);
}

/* Groups with gains of their own. */
static int32_t toy_norm_groups(struct toy *t, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.norm.groups = TOY_HEADS;
	n.norm.eps = 1e-5f;
	n.w[0] = toy_weight(t, INFER_F32, 1, t->k.dv, TOY_HEADS);
	return graph_add(&t->g, n);
}

/* Three kinds of recurrent heads: neighbours share q and k; heads TOY_KV apart share them; and plain ones,
 * where nothing is subtracted from v and v is added to the output. */
static int32_t toy_delta(struct toy *t, struct graph_node *n, int layer)
{
	int32_t at = 2 * (TOY_TAPS - 1) * toy_conv_cols(&t->k), y;

	n->cols = TOY_HEADS * t->k.dv;
	n->w[0] = toy_vector(t, TOY_HEADS);
	for (int i = 0; i < TOY_HEADS && t->bytes[n->w[0]]; i++) /* it forgets */
		((float *)t->bytes[n->w[0]])[i] = -0.05f * (float)(i + 1);
	n->w[1] = toy_vector(t, TOY_HEADS);
	n->gated_delta.layer = layer;
	n->gated_delta.heads = TOY_HEADS;
	n->gated_delta.k_heads = TOY_KV;
	n->gated_delta.dk = t->k.dk;
	n->gated_delta.dv = t->k.dv;
	n->gated_delta.scale = 0.7f;
	n->gated_delta.at = at;
	y = graph_add(&t->g, *n);
	n->gated_delta.tiled = 1;
	n->gated_delta.at = at + toy_delta_floats(&t->k);
	y = toy_add(t, y, graph_add(&t->g, *n), 0);
	n->gated_delta.ssm = 1;
	n->src[3] = n->src[4];
	n->w[2] = toy_vector(t, TOY_HEADS);
	n->gated_delta.at += toy_delta_floats(&t->k);
	return toy_add(t, y, toy_norm_groups(t, graph_add(&t->g, *n)), 0);
}

static int32_t toy_recurrent(struct toy *t, int32_t x, int layer)
{
	const struct toy_shape *k = &t->k;
	int c = toy_conv_cols(k), qk = TOY_KV * k->dk;
	int32_t h = toy_norm(t, x, 1, 1), gates = toy_mm(t, h, 2 * TOY_HEADS, 0, 2, 0);
	struct graph_node conv = graph_node_of(GRAPH_CONV1D), n = graph_node_of(GRAPH_GATED_DELTA),
			  unit = graph_node_of(GRAPH_SCALE);

	conv.src[0] = toy_mm(t, h, c, 0, 3, 0);
	conv.w[0] = toy_weight(t, INFER_F32, 1, TOY_TAPS, c);
	conv.conv1d.layer = layer;
	conv.conv1d.taps = TOY_TAPS;
	x = graph_add(&t->g, conv);
	conv.src[0] = x; /* once more, without silu */
	conv.conv1d.at = (TOY_TAPS - 1) * c;
	conv.conv1d.no_silu = 1;
	conv.w[1] = toy_vector(t, c);
	x = graph_add(&t->g, conv);
	n.src[0] = toy_norm(t, toy_piece(t, x, 1, 0, qk), TOY_KV, 0);
	/* keys no longer than 1: with longer ones the state grows without bound */
	unit.src[0] = toy_norm(t, toy_piece(t, x, 1, qk, qk), TOY_KV, 0);
	unit.scale.mul = 1 / sqrtf((float)k->dk);
	n.src[1] = toy_op(t, GRAPH_GATE, graph_add(&t->g, unit), toy_mm(t, h, 1, 0, 0, 0));
	n.src[2] = toy_piece(t, x, 1, 2 * qk, TOY_HEADS * k->dv);
	n.src[3] = toy_piece(t, gates, TOY_KV, 0, TOY_HEADS);
	n.src[4] = toy_piece(t, gates, TOY_KV, TOY_HEADS / TOY_KV, TOY_HEADS);
	return toy_mm(t, toy_delta(t, &n, layer), k->embd, 0, 0, 0);
}

/* What encoders have: rows by position and part of the text, centred norms, GELU without an
 * approximation. */
static int32_t toy_encode(struct toy *t, int32_t x)
{
	int32_t h = toy_add(t, toy_add(t, x, toy_embed(t, 1), 0), toy_embed(t, 2), 0), up;
	struct graph_node n = graph_node_of(GRAPH_GELU_MUL);

	h = toy_centred(t, h);
	up = toy_op(t, GRAPH_GELU, toy_mm(t, h, t->k.ff, 1, 0, 0), -1);
	n.src[0] = toy_mm(t, h, t->k.ff, 0, 2, 0);
	n.src[1] = up;
	n.gelu_mul.erf = 1;
	return toy_add(t, x, toy_mm(t, graph_add(&t->g, n), t->k.embd, 0, 0, 0), 0);
}

static int32_t toy_level(struct toy *t, int32_t x, int32_t more, int cols, float least)
{
	struct graph_node n = graph_node_of(GRAPH_ALTUP_RESCALE);

	n.src[0] = x;
	n.src[1] = more;
	n.cols = cols;
	n.altup_rescale.mean = cols == t->k.embd;
	n.altup_rescale.least = least;
	return graph_add(&t->g, n);
}

/* Three streams of what a row is, mixed by factors of their own, one of them left alone; then one again. */
static int32_t toy_streams(struct toy *t, int32_t x)
{
	enum { N = 3 };
	struct graph_node same = graph_node_of(GRAPH_SLICE), mix = graph_node_of(GRAPH_ALTUP_MIX),
			  add = graph_node_of(GRAPH_ADD), cut = graph_node_of(GRAPH_GAUSS_TOPK),
			  scale = graph_node_of(GRAPH_SCALE);
	int embd = t->k.embd;
	int32_t all;

	cut.src[0] = x;
	cut.gauss_topk.mul = 0.3f;
	same.src[0] = x;
	same.cols = 2 * embd;
	same.slice.pieces = 1;
	same.slice.times = 2;
	all = toy_level(t, x, toy_mm(t, graph_add(&t->g, same), 2 * embd, 0, 0, 0), N * embd, 0);
	mix.src[0] = mix.src[1] = all;
	mix.src[2] = toy_mm(t, toy_norm(t, x, 1, 1), N * N, 0, 0, 1);
	mix.altup_mix.pieces = mix.altup_mix.by = N;
	add.src[0] = graph_add(&t->g, mix);
	add.src[1] = graph_add(&t->g, cut);
	add.add.pieces = N;
	add.add.from = 1;
	mix.src[0] = graph_add(&t->g, add);
	mix.src[1] = x;
	mix.src[2] = toy_mm(t, x, N, 0, 0, 1);
	mix.altup_mix.by = 1;
	mix.altup_mix.plus = 1;
	all = graph_add(&t->g, mix);
	scale.src[0] = toy_level(t, toy_piece(t, all, 1, 0, embd),
	                         toy_piece(t, all, 1, embd, 2 * embd), embd, 1e-5f);
	scale.scale.mul = 0.5f;
	scale.w[0] = toy_vector(t, embd);
	return toy_add(t, x, graph_add(&t->g, scale), 0);
}

/* Out of the graph and back in. */
static int32_t toy_edge(struct toy *t, int32_t x)
{
	struct graph_node send = graph_node_of(GRAPH_SEND), recv = graph_node_of(GRAPH_RECV);

	send.src[0] = x;
	graph_add(&t->g, send);
	recv.cols = t->k.embd;
	return graph_add(&t->g, recv);
}

/* All of it up to node `last` (-1: everything), whose rows are the output. */
__attribute__((unused)) static int toy_make(struct toy *t, const struct toy_shape *k, int last)
{
	struct graph_node scale = graph_node_of(GRAPH_SCALE);
	int32_t x;

	memset(t, 0, sizeof *t);
	t->k = *k;
	t->seed = 7;
	graph_init(&t->g);
	x = toy_attention(t, toy_embed(t, 0), 0);
	x = toy_by_heads(t, toy_mlp(t, x));
	x = toy_experts(t, toy_attention(t, x, 1));
	x = toy_streams(t, toy_encode(t, toy_add(t, x, toy_recurrent(t, x, 2), 0)));
	scale.src[0] = x;
	scale.scale.mul = 0.25f;
	scale.w[0] = toy_vector(t, 1);
	x = toy_edge(t, toy_op(t, GRAPH_SILU_MUL, x, graph_add(&t->g, scale)));
	x = toy_mm(t, toy_norm(t, x, 1, 1), TOY_VOCAB, 0, 3, 5);
	if (last >= 0) {
		t->g.n = last + 1;
		x = last;
	}
	t->g.output = toy_op(t, GRAPH_GET_ROWS, x, -1);
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < k->rot / 2; j++)
			t->freq[i][j] = pow(i ? 100 : 10000, -2.0 * j / k->rot);
		t->ropes[i] = (struct backend_rope){ t->freq[i], k->rot / 2, i ? 1.1 : 1 };
	}
	t->m = (struct backend_model){ &t->g, t->w, t->n_w, t->ropes, 2 };
	for (int i = 0; i < t->n_w; i++)
		if (!t->bytes[i])
			return INFER_ENOMEM;
	return t->g.bad ? INFER_ENOMEM : INFER_OK;
}

__attribute__((unused)) static void toy_free(struct toy *t)
{
	graph_fini(&t->g);
	for (int i = 0; i < t->n_w; i++)
		mem_free(t->bytes[i]);
	memset(t, 0, sizeof *t);
}
#endif
