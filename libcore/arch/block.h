/* arch/block.h - parts of the block of a layer, as graph nodes.  Read through arch.h.
 *
 * Each function appends nodes that read node x or h, and returns the last one, or -1 on failure
 * (graph bad).  Weights are indices of bound weights; -1: the model has none. */
#ifndef ARCH_BLOCK_H
#define ARCH_BLOCK_H
#include <stdint.h>
#include <infer/model.h>
#include "graph/graph.h"

/* pre-norm: attention or a recurrent layer, then FFN or experts */
int32_t arch_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* post-norm: norms after the residual sums */
int32_t arch_post_norm_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* attention over h, the normalised x; the result is the input of W_O */
int32_t arch_attention(struct graph *g, const infer_model *m, int layer, int32_t h);
/* Recurrent layers, instead of arch_attention: gated delta rule, short convolution, Mamba 2. The
 * result is the input of W_STATE_OUT */
int32_t arch_gated_delta(struct graph *g, const infer_model *m, int layer, int32_t h);
int32_t arch_short_conv(struct graph *g, const infer_model *m, int layer, int32_t h);
int32_t arch_ssm(struct graph *g, const infer_model *m, int layer, int32_t h);
/* causal conv1d of x with weight w[0] and bias w[1]; no_silu: without the silu */
int32_t arch_conv1d(struct graph *g, const infer_model *m, int layer, int32_t x, const int32_t w[2],
                    int no_silu);
/* Return a GATED_DELTA node with the state and heads of a layer and no sources. */
struct graph_node arch_gated_delta_node(const infer_model *m, int layer);
/* slice of x, `cols` columns in all: columns from `from` on, of each of its equal `pieces` */
int32_t arch_slice(struct graph *g, int32_t x, int pieces, int32_t from, int32_t cols);
/* multi-head latent attention; then a dense FFN */
int32_t arch_mla(struct graph *g, const infer_model *m, int layer, int32_t h);
int32_t arch_mlp(struct graph *g, const infer_model *m, int layer, int32_t h);
/* apply the attention temperature to queries, if the layer has one */
int32_t arch_attn_temp(struct graph *g, const infer_model *m, int layer, int32_t x);
/* AltUp (altup.c): make the streams from row x, merge them into one row, and a block over all
 * streams. Models without AltUp: x itself */
int32_t arch_altup_split(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_altup_merge(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_altup_block(struct graph *g, const infer_model *m, int layer, int32_t x);
/* Per-layer embeddings (layer_embd.c): those of all layers, from the input x of the first layer, or
 * -1 if the model has none; then the term that one layer adds to its output x */
int32_t arch_layer_embds(struct graph *g, const infer_model *m, int32_t x);
int32_t arch_layer_embd(struct graph *g, const infer_model *m, int layer, int32_t x);
/* select the output rows of x; then x + residual_scale * branch */
int32_t arch_output_rows(struct graph *g, int32_t x);
int32_t arch_add(struct graph *g, const infer_model *m, int32_t x, int32_t branch);
/* x * mul * weight w (-1: none) */
int32_t arch_scaled(struct graph *g, int32_t x, float mul, int32_t w);
/* norm of x with gain w (-1: x itself) and bias; then x w^T + bias */
int32_t arch_norm(struct graph *g, const infer_model *m, int32_t w, int32_t x);
int32_t arch_norm_bias(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x);
int32_t arch_linear(struct graph *g, const infer_model *m, int32_t w, int32_t bias, int32_t x);
/* x with its columns in the act-order of weight w; x itself if w has none or is -1 */
int32_t arch_permute(struct graph *g, const infer_model *m, int32_t w, int32_t x);
#endif
