/* arch/mla.c - multi-head latent attention (MLA). The cache stores, for each position, one
 * compressed KV from which K and V of all heads are made, and the rotated columns of K that all
 * heads share.
 *
 * Prefill and decode use the absorbed form, so that both sum in one order: the query of each head
 * is multiplied by its W_K_B and attends to the compressed KV itself. The result of attention is a
 * compressed V for each head, which W_V_B turns into V. DeepSeek-AI 2024, arXiv:2405.04434, section
 * 2.1 */
#include "arch/arch.h"
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"

#include <stdio.h>
#include <string.h>

/* Append an RMSNorm of the first `first` columns; 0: of all. */
static int32_t norm_first(struct graph *g, const infer_model *m, int32_t w, int32_t x, int first)
{
	struct graph_node n = graph_node_of(GRAPH_NORM);

	n.src[0] = x;
	n.w[0] = w;
	n.norm.groups = 1;
	n.norm.first = first;
	n.norm.eps = m->h.mla_norm_eps;
	return graph_add(g, n);
}

static int32_t rotate_last(struct graph *g, const infer_model *m, int32_t x, int heads, int dk)
{
	struct graph_node n = graph_node_of(GRAPH_ROPE);

	n.src[0] = x;
	n.rope.heads = heads;
	n.rope.dk = dk;
	n.rope.from = dk - m->h.n_rot;
	n.rope.rot = m->h.n_rot;
	n.rope.halves = arch_rope_mode(m->arch, m->naming) == ROPE_HALVES;
	return graph_add(g, n);
}

static int32_t multiply_heads(struct graph *g, const infer_model *m, int32_t w, int32_t x, int cols)
{
	struct graph_node n = graph_node_of(GRAPH_HEAD_MM);

	n.src[0] = x;
	n.w[0] = w;
	n.cols = m->h.n_head * cols;
	n.head_mm.heads = m->h.n_head;
	return graph_add(g, n);
}

static int32_t make_queries(struct graph *g, const infer_model *m, const int32_t *w, int32_t h)
{
	if (m->h.q_rank)
		h = arch_linear(g, m, w[W_Q_B], -1,
		                norm_first(g, m, w[W_Q_A_NORM],
		                           arch_linear(g, m, w[W_Q_A], w[W_Q_A_BIAS], h), 0));
	else
		h = arch_linear(g, m, w[W_Q], -1, h);
	return multiply_heads(g, m, w[W_K_B], rotate_last(g, m, h, m->h.n_head, m->h.k_head),
	                      m->h.dk);
}

/* Append the normalised compressed KV followed by the rotated columns. */
static int32_t make_compressed_kv(struct graph *g, const infer_model *m, const int32_t *w,
                                  int32_t h)
{
	h = norm_first(g, m, w[W_KV_A_NORM], arch_linear(g, m, w[W_KV_A], w[W_KV_A_BIAS], h),
	               m->h.kv_rank);
	return rotate_last(g, m, h, 1, m->h.dk);
}

int32_t arch_mla(struct graph *g, const infer_model *m, int layer, int32_t h)
{
	const int32_t *w = m->layer[layer];
	struct graph_node put = graph_node_of(GRAPH_KV_PUT), n = graph_node_of(GRAPH_ATTN);

	n.src[0] = arch_attn_temp(g, m, layer, make_queries(g, m, w, h));
	put.src[0] = put.src[1] = make_compressed_kv(g, m, w, h);
	put.kv_put.mla = 1;
	put.kv_put.layer = n.attn.layer = layer;
	put.kv_put.heads = n.attn.kv_heads = 1;
	put.kv_put.dk = n.attn.dk = m->h.dk;
	put.kv_put.dv = n.attn.dv = m->h.dv;
	n.src[1] = graph_add(g, put);
	n.attn.heads = m->h.n_head;
	n.attn.scale = m->h.attn_scale;
	return multiply_heads(g, m, w[W_V_B], graph_add(g, n), m->h.v_head);
}

/* ---- files with W_K_B and W_V_B in one tensor ---- */

static void log_transposed(const infer_model *m, const struct infer_tensor *t, size_t bytes)
{
	char line[256];

	snprintf(line, sizeof line, "tensor %.*s: transposed into a copy for each head, %zu bytes",
	         (int)(t->name.len < 128 ? t->name.len : 128), t->name.at, bytes);
	if (m->log)
		m->log(m->log_user, INFER_LOG_INFO, line);
}

/* Transpose n rows of k elements of `size` bytes: to [k][n]. */
static void transpose_elements(unsigned char *to, const unsigned char *from, int64_t n, int64_t k,
                               size_t size)
{
	for (int64_t r = 0; r < n; r++)
		for (int64_t c = 0; c < k; c++)
			memcpy(to + (size_t)(c * n + r) * size, from + (size_t)(r * k + c) * size,
			       size);
}

/* Make W_K_B: the rows of K of each head, transposed. Its type is that of t if t has no blocks of
 * several elements, else F32. */
static int transpose_keys(infer_model *m, const struct infer_tensor *t, const struct weight *both,
                          struct weight *keys, infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(both->type);
	int64_t n = m->h.k_head - m->h.n_rot, k = m->h.kv_rank, step = n + m->h.v_head;
	size_t size = type->block == 1 ? (size_t)type->block_bytes : sizeof(float), bytes;
	const void **at = arena_alloc(&m->arena, (size_t)m->h.n_head, sizeof *at);
	unsigned char *copy = arena_alloc(&m->arena, (size_t)(n * k), (size_t)m->h.n_head * size);
	float *row = type->block == 1 ? NULL : arena_alloc(&m->arena, (size_t)(n * k), sizeof *row);

	if (!at || !copy || (type->block > 1 && !row))
		return err_set(err, INFER_ENOMEM, "out of memory while transposing tensor %.*s",
		               (int)t->name.len, t->name.at);
	for (int h = 0; h < m->h.n_head; h++) {
		const unsigned char *from =
			(const unsigned char *)both->at[0] + (size_t)(h * step) * both->row_bytes;
		if (row)
			TRY(infer_type_decode(both->type, row, from, (size_t)(n * k), err));
		at[h] = copy + (size_t)h * (size_t)(n * k) * size;
		transpose_elements((unsigned char *)(uintptr_t)at[h],
		                   row ? (const unsigned char *)row : from, n, k, size);
	}
	bytes = (size_t)m->h.n_head * (size_t)(n * k) * size;
	m->private_bytes += bytes;
	log_transposed(m, t, bytes);
	*keys = (struct weight){ .type = row ? INFER_F32 : both->type,
		                 .n = m->h.n_head,
		                 .ne = { n, k },
		                 .scale = both->scale,
		                 .at = at,
		                 .row_bytes = (size_t)n * size };
	return INFER_OK;
}

int arch_split_kv_b(infer_model *m, int layer, infer_error *err)
{
	int32_t *w = m->layer[layer];

	if (w[W_K_B] >= 0 && w[W_V_B] >= 0)
		return INFER_OK;
	if (w[W_KV_B] < 0 || w[W_K_B] >= 0 || w[W_V_B] >= 0)
		return err_set(err, INFER_EFORMAT, "tensor %s%d.%s: missing",
		               arch_layer_prefix(m->arch, m->naming), layer,
		               m->naming == ARCH_HF
		                       ? arch_row(m->arch, W_KV_B)->hf[0]
		                       : arch_row(m->arch, w[W_K_B] < 0 ? W_K_B : W_V_B)->gguf);
	struct weight *both = &m->weights[w[W_KV_B]], *keys = &m->weights[m->n_weights];
	const struct infer_tensor *t = m->tensors[w[W_KV_B]];
	int64_t nope = m->h.k_head - m->h.n_rot;
	const void **at = arena_alloc(&m->arena, (size_t)m->h.n_head, sizeof *at);

	if (!at)
		return err_set(err, INFER_ENOMEM, "out of memory while binding tensor %.*s",
		               (int)t->name.len, t->name.at);
	TRY(transpose_keys(m, t, both, keys, err));
	m->tensors[m->n_weights] = t;
	m->order[m->n_weights] = m->order[w[W_KV_B]];
	w[W_K_B] = m->n_weights++;
	for (int h = 0; h < m->h.n_head; h++)
		at[h] = (const unsigned char *)both->at[0] +
		        (size_t)(h * (nope + m->h.v_head) + nope) * both->row_bytes;
	both->n = m->h.n_head;
	both->ne[1] = m->h.v_head;
	both->at = at;
	w[W_V_B] = w[W_KV_B];
	w[W_KV_B] = -1;
	return INFER_OK;
}
