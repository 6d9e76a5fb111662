/* backend/adapter.h - what a LoRA adapter changes in the products, tables and norms of a model.
 * Hu+ 2021, arXiv:2106.09685
 *
 * With the adapters of a row in order, s_i the factor of use i times delta.scale:
 *   product  y = x W^T + sum over i of s_i * (B_i (A_i x)), then the factor, bias and cap of the node
 *   table    y = W[id] + sum over i of s_i * (B_i A_i[id]), then the factor of the node
 *   whole    the product, table or norm of another weight instead of W; deltas are added to that
 * A x and B t are sums of float products as in kern/kern.h; each term is added by one fma to y.  So
 * the bits of a row depend on its own adapters alone, and a row without any has those of the
 * model. */
#ifndef BACKEND_ADAPTER_H
#define BACKEND_ADAPTER_H
#include <stddef.h>
#include <stdint.h>

struct weight;

/* The change of one matrix.  Product of n rows and k columns: a [rank][k], b [n][rank].  Table of n rows
 * of k columns: a [n][rank], b [k][rank].  Rows are a_row and b_row bytes apart.  Immutable. */
struct backend_delta {
	int32_t rank;       /* 0: this matrix is not changed */
	int a_type, b_type; /* INFER_F32, INFER_F16 or INFER_BF16 */
	const void *a, *b;
	size_t a_row, b_row;
	float scale; /* alpha / rank, or as the adapter defines it */
};
struct backend_change {
	/* [n] one for each matrix (expert or head) of the weight; NULL: none */
	const struct backend_delta *deltas;
	/* replaces the weight; its type may differ, its shape does not.  NULL: none */
	const struct weight *whole;
};
/* An adapter, by index of the model's weights.  A weight may be a table for EMBED and the matrix of a
 * product at once (tied embeddings): they change independently.  Norm gains and biases are in
 * `product`.  Immutable. */
struct backend_adapter {
	const struct backend_change *product, *table; /* [n_weights] */
	int n_weights;
	int32_t max_rank; /* the largest rank of its deltas; at least 1 */
};
/* One adapter of a run.  factor is not 0. */
struct backend_use {
	const struct backend_adapter *adapter;
	float factor;
};
enum { BACKEND_USES = 8 }; /* most adapters of a run */
#endif
