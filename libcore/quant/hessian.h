/* quant/hessian.h - (private) Hessians of the inputs of weight matrices, measured on a text.  If
 * they do not fit into memory, the text is run several times. */
#ifndef QUANT_HESSIAN_H
#define QUANT_HESSIAN_H
#include <infer/gptq.h>
#include "base/arena.h"
#include "base/map.h"
#include "base/pool.h"

/* HESSIAN_MOST: maximum number of columns of a Hessian; wider inputs are divided into parts. */
enum { HESSIAN_MOST = 8192, HESSIAN_PIECE = 256 };

/* The Hessian of one part of the columns of an input.  Matrices with the same input share it. */
struct hessian {
	int64_t k; /* columns [from, from + k) of the input */
	int64_t from;
	uint64_t rows; /* number of rows summed */
	/* [HESSIAN_ROWS * k]: n_left rows not added yet, so that sums do not depend on steps */
	float *left;
	int n_left;
	double *h;         /* [k * k], the upper triangle; NULL: not measured now */
	float *importance; /* [k] mean squares of the columns */
	const float
		*u; /* after hessian_factor: U, upper triangle, U' U = inverse(H); stored in h */
};
/* A weight tensor, and the Hessians of its input rows. */
struct hessian_input {
	const char *name;
	int64_t k, matrices;
	int own;       /* 1: has its own Hessians; 0: shares those of an earlier input */
	int first;     /* index of its first Hessian; each matrix has hessian_parts(k) */
	uint64_t hash; /* hash of its rows in the first window */
};
struct infer_gptq {
	struct infer_solver solver;
	char core[64];
	struct infer_gptq_text text;
	char id[65]; /* SHA-256 of the text and the options of its run */
	struct arena mem;
	struct map names;
	struct hessian_input *inputs;
	struct hessian *at;
	int n_inputs, cap_inputs, n, cap;
	int passes;
	/* one pass over the text */
	int looking; /* 1: first pass, which only lists the inputs */
	struct pool *pool;
	int how;     /* register width, as in struct type */
	float *rows; /* scratch: rows of an input in panels */
	struct infer_inputs
		last; /* last input observed, as the parts of a product report the same input */
	struct hessian_input *last_input;
	infer_error err; /* error found by the observer callback, which cannot return it */
};

static inline int hessian_parts(int64_t k) { return (int)((k + HESSIAN_MOST - 1) / HESSIAN_MOST); }
/* Return the input of a tensor.  NULL: no product of the text uses it, or its shape differs. */
const struct hessian_input *hessian_find(const struct infer_gptq *g, const struct infer_tensor *t);
/* Measure the Hessians order[0 .. *got), *got <= n: as many as fit into memory, at least one.
 * Frees all Hessians measured before.  INFER_ENAN: one is not finite; INFER_ENOMEM; other errors as
 * infer_engine_step. */
int hessian_measure(struct infer_gptq *g, struct pool *pool, int how, const int *order, int n,
                    int *got, infer_error *err);
/* Compute h->u.  INFER_ENAN: the Hessian cannot be inverted. */
int hessian_factor(struct infer_gptq *g, struct hessian *h, infer_error *err);
void hessian_drop(struct infer_gptq *g); /* free all measured Hessians */
/* Add x' x, summed over n rows x, to the upper triangle h.  rows: scratch [HESSIAN_ROWS * (k +
 * 64)]; how: register width, as in struct type. */
enum { HESSIAN_ROWS = 128 };
void hessian_add(double *h, int64_t k, const float *const *x, int n, float *rows, struct pool *pool,
                 int how);
#endif
