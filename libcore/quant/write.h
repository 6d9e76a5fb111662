/* quant/write.h - (private) what the files that write tensors share. */
#ifndef QUANT_WRITE_H
#define QUANT_WRITE_H
#include "base/pool.h"
#include "quant/partial.h"

#include <stdatomic.h>

/* WRITE_STEP: pieces for a worker between two looks at the clock. */
enum { WRITE_PIECE = 1 << 16, WRITE_STEP = 32 };

struct scratch {
	float x[WRITE_PIECE], w[WRITE_PIECE];
	unsigned char out[WRITE_PIECE * sizeof(float)], back[WRITE_PIECE * sizeof(float)];
	unsigned char in[WRITE_PIECE * sizeof(float)]; /* of matrices that are apart */
};
struct error_sum {
	double error, square;
};
struct write_gptq {
	struct gptq_job *jobs;
	int *order;                   /* [n] Hessians of the jobs */
	int n, next, measured;        /* jobs before `measured` have what they need */
	struct gptq_scratch *scratch; /* [threads] */
	const struct gptq_job *job;
	int unread; /* matrices that the text does not reach */
};
struct work {
	infer_quant *q;
	struct pool *pool;
	struct scratch *scratch; /* [threads] */
	struct error_sum *sums;  /* [WRITE_STEP * threads + 1], of the items of a step */
	struct partial part;
	const struct infer_watch *watch;
	/* bytes of the input, once or twice, and of what is compressed, once or twice */
	uint64_t done, all;
	int64_t marked_ns;
	int verify; /* compare with the file instead of writing it */
	/* of one step of a tensor */
	const struct quant_tensor *t;
	uint64_t from, to;           /* elements */
	uint64_t tidy_from, tidy_to; /* of the step before: its pages are no longer needed */
	/* the first element that is not finite, that differs; UINT64_MAX: none */
	_Atomic uint64_t bad, differs;
	_Atomic int errnum;
	struct write_gptq gptq;
};

/* ---- write.c ---- */

size_t write_bytes(int type, uint64_t elements);
/* The first element that is not finite of n from `from` on, which are in x. */
int write_finite(struct work *k, const float *x, uint64_t from, size_t n);
/* Write, or compare, the bytes of elements [from, from + n) of the tensor, n up to WRITE_PIECE; sum
 * is item `item` of the sums of errors. */
void write_put(struct work *k, int worker, int64_t item, uint64_t from, size_t n, const void *out);
/* Encode elements [k->from, k->to) of the tensor, piece by piece. */
int write_step(struct work *k, struct error_sum *sum, infer_error *err);
/* Let items of the pool run, at most WRITE_STEP for a thread and one more; adds up their errors. */
int write_run(struct work *k, int64_t n, pool_fn *fn, struct error_sum *sum, infer_error *err);
void write_tell(struct work *k, uint64_t done);

/* ---- write_gptq.c ---- */

/* What tensors from `first` on need; nothing where there is no GPTQ. */
int write_gptq_begin(struct work *k, uint64_t first, infer_error *err);
void write_gptq_end(struct work *k);
/* Tensor i, all of it; k->t is set, start: bytes of the input before it. */
int write_gptq(struct work *k, uint64_t i, uint64_t start, struct error_sum *sum, infer_error *err);
#endif
