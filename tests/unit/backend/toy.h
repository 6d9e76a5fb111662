/* tests/unit/backend/toy.h - a small random model with every op in it: one block with attention, one with experts. */
#ifndef TESTS_TOY_H
#define TESTS_TOY_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <infer/type.h>
#include "backend/backend.h"
#include "base/mem.h"
#include "base/num.h"
#include "type/type.h"

enum { TOY_W = 32, TOY_LAYERS = 2, TOY_HEADS = 4, TOY_KV = 2, TOY_EXPERTS = 5, TOY_USED = 2, TOY_VOCAB = 72 };
struct toy_shape { int type, embd, dk, dv, rot, ff, window; float cap; };
struct toy {
	struct toy_shape k;
	struct graph g;
	struct weight w[TOY_W];
	void *bytes[TOY_W];
	const void *at[TOY_W][TOY_EXPERTS];
	int n_w;
	double freq[2][64];
	struct backend_rope ropes[2];
	struct backend_model m;
	uint32_t seed;
};

static float toy_random(struct toy *t)      /* -1 ... 1 */
{
	t->seed = t->seed * 1664525 + 1013904223;
	return (float)(t->seed >> 8) / (1 << 23) - 1;
}

/* Where the f16 scales of a block stand; the rest of it may be any bits. */
static const struct { int type, at[2]; } toy_scales[] = {
	{ INFER_Q8_0, { 0, -1 } }, { INFER_Q4_0, { 0, -1 } }, { INFER_Q5_1, { 0, 2 } }, { INFER_Q4_K, { 0, 2 } },
	{ INFER_Q6_K, { 208, -1 } }, { INFER_IQ4_XS, { 0, -1 } }, { INFER_Q2_K, { 80, 82 } }, { INFER_IQ1_S, { 0, -1 } },
};

static void toy_fill_row(struct toy *t, int type, unsigned char *at, int64_t k)
{
	const struct infer_type_info *info = infer_type_info(type);

	for (int64_t i = 0; i < k / info->block; i++, at += info->block_bytes) {
		float x = toy_random(t) / sqrtf((float)k);
		uint16_t h = type == INFER_BF16 ? num_to_bf16(x) : num_to_f16(x);
		if (type == INFER_F32)
			memcpy(at, &x, 4);
		else if (info->block == 1)
			memcpy(at, &h, 2);
		else
			for (int b = 0; b < info->block_bytes; b++)
				at[b] = (unsigned char)(toy_random(t) * 127);
		for (size_t s = 0; s < sizeof(toy_scales) / sizeof(toy_scales[0]); s++)
			for (int j = 0; j < 2 && toy_scales[s].type == type; j++) {
				h = num_to_f16(toy_random(t) / sqrtf((float)k) / 32);
				if (toy_scales[s].at[j] >= 0)
					memcpy(at + toy_scales[s].at[j], &h, 2);
			}
	}
}

static int toy_weight(struct toy *t, int type, int n, int64_t k, int64_t rows)
{
	const struct infer_type_info *info = infer_type_info(type);
	size_t row = (size_t)(k / info->block) * (size_t)info->block_bytes;
	unsigned char *at = mem_alloc(MEM_BACKEND, (size_t)n * (size_t)rows, row);
	int i = t->n_w++;

	t->bytes[i] = at;
	for (int64_t r = 0; r < n * rows && at; r++)
		toy_fill_row(t, type, at + (size_t)r * row, k);
	for (int e = 0; e < n; e++)
		t->at[i][e] = at ? at + (size_t)e * (size_t)rows * row : NULL;
	t->w[i] = (struct weight){ .type = type, .n = n, .ne = { k, rows }, .row_bytes = row, .scale = 1, .at = t->at[i] };
	return i;
}

static int toy_vector(struct toy *t, int64_t n) { return toy_weight(t, INFER_F32, 1, n, 1); }

static int32_t toy_op(struct toy *t, enum graph_op op, int32_t a, int32_t b, const int32_t i[6], float f0)
{
	struct graph_node n = graph_node_of(op);

	n.src[0] = a;
	n.src[1] = b;
	for (int k = 0; k < 6 && i; k++)
		n.i[k] = i[k];
	n.f[0] = f0;
	return graph_add(&t->g, n);
}

/* Where memory failed there is no node; any width will do. */
static int32_t toy_cols(const struct toy *t, int32_t x) { return x < 0 ? t->k.embd : t->g.nodes[x].cols; }

static int32_t toy_mm(struct toy *t, int32_t x, int cols, int bias, float f0, float f1)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	n.src[0] = x;
	n.cols = cols;
	n.w[0] = toy_weight(t, t->k.type, 1, toy_cols(t, x), cols);
	n.w[1] = bias ? toy_vector(t, cols) : -1;
	n.f[0] = f0;
	n.f[1] = f1;
	return graph_add(&t->g, n);
}

static int32_t toy_norm(struct toy *t, int32_t x, int groups, int gain)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.i[0] = groups;
	n.f[0] = 1e-5f;
	n.w[0] = gain ? toy_vector(t, toy_cols(t, x) / groups) : -1;
	return graph_add(&t->g, n);
}

static int32_t toy_attention(struct toy *t, int32_t x, int layer)
{
	const struct toy_shape *k = &t->k;
	int32_t h = toy_norm(t, x, 1, 1), table = layer;
	int32_t q = toy_mm(t, h, TOY_HEADS * k->dk, 1, 0, 0), kk = toy_mm(t, h, TOY_KV * k->dk, 0, 0, 0);
	int32_t v = toy_mm(t, h, TOY_KV * k->dv, 0, 2, 0);
	struct graph_node n = graph_node_of(GRAPH_ATTN);

	q = toy_op(t, GRAPH_ROPE, q, -1, (int32_t[]){ TOY_HEADS, k->dk, k->rot, layer & 1, table, 0 }, 0);
	kk = toy_norm(t, kk, TOY_KV, 1);
	kk = toy_op(t, GRAPH_ROPE, kk, -1, (int32_t[]){ TOY_KV, k->dk, k->rot, layer & 1, table, 0 }, 0);
	n.src[1] = toy_op(t, GRAPH_KV_PUT, kk, v, (int32_t[]){ layer, TOY_KV, k->dk, k->dv, 0, 0 }, 0);
	n.src[0] = q;
	memcpy(n.i, (int32_t[]){ layer, TOY_HEADS, TOY_KV, k->dk, k->dv, layer ? 0 : k->window }, sizeof(n.i));
	n.f[0] = 3 / sqrtf((float)k->dk);
	n.f[1] = k->cap;
	n.w[0] = layer ? toy_vector(t, TOY_HEADS) : -1;
	h = toy_mm(t, graph_add(&t->g, n), k->embd, 0, 0, 0);
	return toy_op(t, GRAPH_ADD, x, h, NULL, layer ? 0.5f : 0);
}

static int32_t toy_mlp(struct toy *t, int32_t x)
{
	int32_t h = toy_norm(t, x, 1, 1), g = toy_mm(t, h, t->k.ff, 0, 0, 0), u = toy_mm(t, h, t->k.ff, 1, 0, 0);

	return toy_op(t, GRAPH_ADD, x, toy_mm(t, toy_op(t, GRAPH_GELU_MUL, g, u, NULL, 0), t->k.embd, 1, 0, 0), NULL, 0);
}

static int32_t toy_experts(struct toy *t, int32_t x)
{
	struct graph_node r = graph_node_of(GRAPH_MM), n = graph_node_of(GRAPH_MOE);
	int32_t h = toy_norm(t, x, 1, 0);

	r.src[0] = h;
	r.cols = TOY_EXPERTS;
	r.w[0] = toy_weight(t, INFER_F32, 1, t->k.embd, TOY_EXPERTS);
	r.f[0] = 4;
	n.src[0] = h;
	n.src[1] = toy_op(t, GRAPH_ROUTE, graph_add(&t->g, r), -1, (int32_t[]){ TOY_USED, 0, 1, 0, 0, 0 }, 0);
	n.w[0] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.embd, t->k.ff);
	n.w[1] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.embd, t->k.ff);
	n.w[2] = toy_weight(t, t->k.type, TOY_EXPERTS, t->k.ff, t->k.embd);
	n.i[0] = TOY_USED;
	n.i[1] = t->k.ff;
	return toy_op(t, GRAPH_ADD, x, graph_add(&t->g, n), NULL, 0);
}

/* All of it up to node `last` (-1: everything), whose rows are the output. */
__attribute__((unused)) static int toy_make(struct toy *t, const struct toy_shape *k, int last)
{
	struct graph_node n = graph_node_of(GRAPH_EMBED);
	int32_t x;

	memset(t, 0, sizeof(*t));
	t->k = *k;
	t->seed = 7;
	graph_init(&t->g);
	n.cols = k->embd;
	n.w[0] = toy_weight(t, k->type, 1, k->embd, TOY_VOCAB);
	n.f[0] = sqrtf((float)k->embd);
	x = toy_attention(t, graph_add(&t->g, n), 0);
	x = toy_mlp(t, x);
	x = toy_experts(t, toy_attention(t, x, 1));
	x = toy_op(t, GRAPH_SILU_MUL, x, toy_op(t, GRAPH_SCALE, x, -1, NULL, 0.25f), NULL, 0);
	x = toy_mm(t, toy_norm(t, x, 1, 1), TOY_VOCAB, 0, 3, 5);
	if (last >= 0) {
		t->g.n = last + 1;
		x = last;
	}
	t->g.output = toy_op(t, GRAPH_PICK, x, -1, NULL, 0);
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
	memset(t, 0, sizeof(*t));
}
#endif
