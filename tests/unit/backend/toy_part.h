/* tests/unit/backend/toy_part.h - random weights and single nodes; part of toy.h */
#ifndef TESTS_TOY_PART_H
#define TESTS_TOY_PART_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <infer/type.h>
#include "backend/backend.h"
#include "base/mem.h"
#include "base/num.h"
#include "type/type.h"

enum {
	TOY_W = 112,
	TOY_LAYERS = 3, /* the last is recurrent */
	TOY_TAPS = 4,
	TOY_HEADS = 4,
	TOY_KV = 2,
	TOY_EXPERTS = 6,
	TOY_USED = 2,
	TOY_VOCAB = 72,
	TOY_PLACES = 2048, /* positions that have a row of their own */
};
struct toy_shape {
	int type, embd, dk, dv, rot, ff, window;
	int chunked; /* windows are chunks, weights of experts are inside, and queries grow from position 2 on */
	float cap;
};
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

/* columns of the convolution: q and k of TOY_KV heads, v of TOY_HEADS; and what a GATED_DELTA
 * keeps */
static int toy_conv_cols(const struct toy_shape *k)
{
	return 2 * TOY_KV * k->dk + TOY_HEADS * k->dv;
}
static int toy_delta_floats(const struct toy_shape *k)
{
	return TOY_HEADS * ((k->dv + 15) / 16 * 16) * k->dk;
}
__attribute__((unused)) static int64_t toy_state(const struct toy_shape *k)
{
	return 2 * (TOY_TAPS - 1) * toy_conv_cols(k) + 3 * toy_delta_floats(k);
}

static float toy_random(struct toy *t) /* -1 ... 1 */
{
	t->seed = t->seed * 1664525 + 1013904223;
	return (float)(t->seed >> 8) / (1 << 23) - 1;
}

/* Where the f16 scales of a block stand; the rest of it may be any bits. */
static const struct {
	int type, at[2];
} toy_scales[] = {
	{ INFER_Q8_0, { 0, -1 } },  { INFER_Q4_0, { 0, -1 } },   { INFER_Q5_1, { 0, 2 } },
	{ INFER_Q4_K, { 0, 2 } },   { INFER_Q6_K, { 208, -1 } }, { INFER_IQ4_XS, { 0, -1 } },
	{ INFER_Q2_K, { 80, 82 } }, { INFER_IQ1_S, { 0, -1 } },  { INFER_IQ2_XS, { 0, -1 } },
	{ INFER_Q2_0, { 0, -1 } },
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
				at[b] = (unsigned char)(int)(toy_random(t) * 127);
		for (size_t s = 0; s < sizeof toy_scales / sizeof toy_scales[0]; s++)
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
	t->w[i] = (struct weight){ .type = type,
		                   .n = n,
		                   .ne = { k, rows },
		                   .row_bytes = row,
		                   .scale = 1,
		                   .at = t->at[i] };
	return i;
}

static int toy_vector(struct toy *t, int64_t n) { return toy_weight(t, INFER_F32, 1, n, 1); }

__attribute__((unused)) static int32_t toy_op(struct toy *t, enum graph_op op, int32_t a, int32_t b)
{
	struct graph_node n = graph_node_of(op);

	n.src[0] = a;
	n.src[1] = b;
	return graph_add(&t->g, n);
}

static int32_t toy_add(struct toy *t, int32_t a, int32_t b, float mul)
{
	struct graph_node n = graph_node_of(GRAPH_ADD);

	n.src[0] = a;
	n.src[1] = b;
	n.add.mul = mul;
	return graph_add(&t->g, n);
}

/* Where memory failed there is no node; any width will do. */
static int32_t toy_cols(const struct toy *t, int32_t x)
{
	return x < 0 ? t->k.embd : t->g.nodes[x].cols;
}

static int32_t toy_mm(struct toy *t, int32_t x, int cols, int bias, float mul, float cap)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	n.src[0] = x;
	n.cols = cols;
	n.w[0] = toy_weight(t, t->k.type, 1, toy_cols(t, x), cols);
	n.w[1] = bias ? toy_vector(t, cols) : -1;
	n.mm.mul = mul;
	n.mm.cap = cap;
	return graph_add(&t->g, n);
}

/* Rows by the token, its position, or its part of the text. */
__attribute__((unused)) static int32_t toy_embed(struct toy *t, int by)
{
	struct graph_node n = graph_node_of(GRAPH_EMBED);

	n.cols = t->k.embd;
	n.embed.index = by;
	n.w[0] = toy_weight(t, by ? INFER_F32 : t->k.type, 1, t->k.embd,
	                    by == 0   ? TOY_VOCAB
	                    : by == 1 ? TOY_PLACES
	                              : 2);
	n.embed.mul = by ? 0 : sqrtf((float)t->k.embd);
	return graph_add(&t->g, n);
}

__attribute__((unused)) static int32_t toy_centred(struct toy *t, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.norm.groups = n.norm.centred = 1;
	n.norm.eps = 1e-5f;
	n.w[0] = toy_vector(t, toy_cols(t, x));
	n.w[1] = toy_vector(t, toy_cols(t, x));
	return graph_add(&t->g, n);
}

__attribute__((unused)) static int32_t toy_norm(struct toy *t, int32_t x, int groups, int gain)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.norm.groups = groups;
	n.norm.eps = 1e-5f;
	n.w[0] = gain ? toy_vector(t, toy_cols(t, x) / groups) : -1;
	return graph_add(&t->g, n);
}
#endif
