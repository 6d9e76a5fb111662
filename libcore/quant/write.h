/* quant/write.h - (private) state of writing a model, for write.c and write_gptq.c. */
#ifndef QUANT_WRITE_H
#define QUANT_WRITE_H
#include "base/pool.h"
#include "quant/partial.h"

#include <stdatomic.h>

/* WRITE_PIECE: elements of a piece.  WRITE_STEP: pieces per worker in a step. */
enum { WRITE_PIECE = 1 << 16, WRITE_STEP = 32 };

struct scratch {
	float x[WRITE_PIECE], w[WRITE_PIECE];
	unsigned char out[WRITE_PIECE * sizeof(float)], back[WRITE_PIECE * sizeof(float)];
	unsigned char in[WRITE_PIECE * sizeof(float)]; /* input elements that are not contiguous */
	float *row; /* [adapt_columns] a row that adapters change */
};
struct error_sum {
	double error, square;
};
struct write_gptq {
	struct gptq_job *jobs;
	int *order;                   /* [n]: index of each job's Hessian */
	int n, next, measured;        /* the Hessians of jobs before `measured` are measured */
	struct gptq_scratch *scratch; /* [threads] */
	const struct gptq_job *job;
	int unread; /* number of matrices that no token of the text uses */
};
struct work {
	infer_quant *q;
	struct pool *pool;
	struct scratch *scratch; /* [threads] */
	float *rows;             /* those of scratch */
	struct error_sum *sums;  /* [WRITE_STEP * threads + 1]: one for each item of a step */
	struct partial part;
	const struct infer_watch *watch;
	/* progress in bytes of input and of compression; both count twice with verify */
	uint64_t done, all;
	int64_t marked_ns;
	int verify; /* 1: compare with the file instead of writing it */
	/* one step of a tensor */
	const struct quant_tensor *t;
	uint64_t from, to;           /* elements [from, to) of t */
	uint64_t tidy_from, tidy_to; /* elements of the previous step, for finish_previous */
	/* first element that is not finite, first that differs from the file; UINT64_MAX: none */
	_Atomic uint64_t bad, differs;
	_Atomic int errnum;
	struct write_gptq gptq;
};

/* ---- write.c ---- */

size_t write_bytes(int type, uint64_t elements);
/* True if x [n], elements [from, from + n) of the tensor, is finite.  Otherwise lowers k->bad to
 * the first element that is not. */
int write_finite(struct work *k, const float *x, uint64_t from, size_t n);
/* Write the bytes of elements [from, from + n) of the tensor, n <= WRITE_PIECE.  With k->verify,
 * compare them with the file instead, and add their errors to k->sums[item]. */
void write_put(struct work *k, int worker, int64_t item, uint64_t from, size_t n, const void *out);
/* Encode and write elements [k->from, k->to) of the tensor.  Errors as write_run. */
int write_step(struct work *k, struct error_sum *sum, infer_error *err);
/* Run n pool items, at most WRITE_STEP * threads + 1, and add their errors to *sum.
 * INFER_EIO; INFER_ENAN: a weight is not finite. */
int write_run(struct work *k, int64_t n, pool_fn *fn, struct error_sum *sum, infer_error *err);
void write_tell(struct work *k, uint64_t done); /* report the progress */

/* ---- write_gptq.c ---- */

/* Allocate jobs and scratch for the tensors from `first` on.  Does nothing without GPTQ.
 * INFER_ENOMEM */
int write_gptq_begin(struct work *k, uint64_t first, infer_error *err);
void write_gptq_end(struct work *k);
/* Write k->t, which is tensor i.  start: bytes of the input before it.  Errors as write_run and
 * hessian_measure. */
int write_gptq(struct work *k, uint64_t i, uint64_t start, struct error_sum *sum, infer_error *err);
#endif
