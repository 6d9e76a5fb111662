/* quant/hessian.h - (private) Hessians of the inputs of weight matrices, measured over a text, as many
 * at a time as the memory allows. */
#ifndef QUANT_HESSIAN_H
#define QUANT_HESSIAN_H
#include <infer/gptq.h>
#include "base/arena.h"
#include "base/map.h"
#include "base/pool.h"

/* HESSIAN_MOST: columns of one; more are cut into parts. */
enum { HESSIAN_MOST = 8192, HESSIAN_PIECE = 256 };

/* One for each input: matrices that read the same have the same. */
struct hessian {
	int64_t k; /* columns, from `from` of the input on */
	int64_t from;
	uint64_t rows; /* that it was summed over */
	/* [HESSIAN_ROWS * k] rows that are not summed yet: sums have one order, whatever the steps */
	float *left;
	int n_left;
	double *h;         /* [k * k], the upper triangle; NULL: not measured now */
	float *importance; /* [k] mean squares */
	const float *u;    /* after hessian_factor: the upper triangle U of U' U = inverse, in h */
};
/* A tensor that products read rows with. */
struct hessian_input {
	const char *name;
	int64_t k, matrices;
	int own;       /* 0: those of an input before it are the same */
	int first;     /* of its Hessians: parts, for each matrix */
	uint64_t hash; /* of the rows of the first window */
};
struct infer_gptq {
	struct infer_solver solver;
	char core[64];
	struct infer_gptq_text text;
	char id[65]; /* of the text and how it is read */
	struct arena mem;
	struct map names;
	struct hessian_input *inputs;
	struct hessian *at;
	int n_inputs, cap_inputs, n, cap;
	int passes;
	/* of a pass */
	int looking; /* 1: at which tensors there are; nothing is summed */
	struct pool *pool;
	int how;                  /* as in struct type: the registers */
	float *rows;              /* some rows of an input, by panels */
	struct infer_inputs last; /* parts of one tensor are counted once */
	struct hessian_input *last_input;
	infer_error err; /* of the observer, which cannot fail */
};

static inline int hessian_parts(int64_t k) { return (int)((k + HESSIAN_MOST - 1) / HESSIAN_MOST); }
/* The input of a tensor; NULL: the text does not reach it, or its columns are others. */
const struct hessian_input *hessian_find(const struct infer_gptq *g, const struct infer_tensor *t);
/* Measure the Hessians at [n], all or the first few of them, in the order of need: *got.  Those that
 * were there are gone. */
int hessian_measure(struct infer_gptq *g, struct pool *pool, int how, const int *order, int n,
                    int *got, infer_error *err);
/* INFER_ENAN: it cannot be inverted */
int hessian_factor(struct infer_gptq *g, struct hessian *h, infer_error *err);
void hessian_drop(struct infer_gptq *g);
/* h += x' x for n rows, its upper triangle; for tests too.  rows: [HESSIAN_ROWS * (k + 64)]; how: as
 * in struct type, the registers */
enum { HESSIAN_ROWS = 128 };
void hessian_add(double *h, int64_t k, const float *const *x, int n, float *rows, struct pool *pool,
                 int how);
#endif
