/* backend/cpu/job.h (private) - matrix products: the jobs of a parallel region. */
#ifndef BACKEND_CPU_JOB_H
#define BACKEND_CPU_JOB_H
#include <stddef.h>
#include <stdint.h>
#include "kern/kern.h"

struct backend;
struct backend_plan;

/* A matrix product y[m][n] = x W^T, then scale, bias and cap.  It is divided into items, blocks of
 * weight rows.  If these are too few for the threads, the rows of x are divided too. */
struct cpu_job {
	int type, n, k, m, x_row;
	const unsigned char *w;
	size_t row_bytes;
	const struct kern_act *x;
	float *y;
	size_t ldy;
	const float *bias;     /* [n] or NULL */
	float mul, scale, cap; /* mul 1, scale 1, cap 0: none; scale: of the weight */
	int plain;             /* 1: x is f32 and all types but the float ones are decoded */
	/* what adapters change; weight and bias_at are not read if no run has any */
	int32_t weight, bias_weight; /* index of the model; bias_weight -1: no bias */
	int32_t matrix;              /* of the weight */
	size_t bias_at;              /* first float of the bias in its weight */
	/* row i is row rows[from + i] of the node, or from + i if rows is NULL */
	const int32_t *rows;
	int from;
	int out;            /* 1: the rows of the node are output rows */
	struct kern_act in; /* x as f32, from row in_row on */
	int in_row;
	float *t; /* [m][rank of the plan] A x of the adapters of each row; NULL: none changes y */
	/* how it is divided */
	int block;            /* weight rows of an item */
	int parts, part_rows; /* parts of the rows of x, and rows of a part */
	int tiled, transposed;
	int64_t first;             /* its first item, counted over all jobs */
	const unsigned char *next; /* the weights to read after these, to prefetch; or NULL */
	int64_t next_bytes;
};

/* ---- tile.c ---- */

/* Divide the jobs into items and run all items as one parallel region. */
void cpu_jobs_run(struct backend_plan *p, struct cpu_job *jobs, int n);
/* Bytes of scratch that a worker needs for weights of a type with rows of k elements. */
size_t cpu_tile_scratch(const struct backend *b, int type, int64_t k);
size_t cpu_plain_scratch(const struct backend *b, int64_t k); /* the same for plain jobs */
#endif
