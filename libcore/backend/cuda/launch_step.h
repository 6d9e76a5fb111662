/* backend/cuda/launch_step.h (private) - limits of the kernels, and the arrays of a step on the
 * device.
 *
 * The arrays of a step are uploaded before its first kernel, as one block of memory with fixed
 * offsets. */
#ifndef BACKEND_CUDA_LAUNCH_STEP_H
#define BACKEND_CUDA_LAUNCH_STEP_H
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <infer/type.h>
#include "graph/graph.h"

enum {
	GPU_BLOCK = 256,       /* elements of k in a block of a product */
	GPU_GROUP = 16,        /* weight rows of a tile */
	GPU_MV_ROWS = 64,      /* most rows of x for mv; with more, mm is used */
	GPU_PAGE = 32,         /* positions of a page of the KV cache */
	GPU_SPLIT = 256,       /* positions of a split of attention */
	GPU_CHAIN = 12,        /* most operations of one gpu_chain launch */
	GPU_JOBS = 4,          /* most products with the same x in one launch */
	GPU_ROW_THREADS = 256, /* threads of a block that computes one row (gpu_chain) */
	GPU_ROPES = 2,         /* most RoPE tables */
	GPU_CACHES = 4,        /* BACKEND_GROUPS of backend/step.h */
	GPU_TOP = 64,          /* most logits of a row that gpu_top finds */
	GPU_EXPERTS = 512,     /* most experts */
	GPU_USED = 32,         /* most experts of a row */
};

/* Rows, output rows and runs of the step. */
struct gpu_step {
	int32_t n, n_out, n_runs, pad;
};
/* Rows of one sequence, as in struct backend_run.  tables[group]: index in gpu_rows.tables of the
 * run's first page. */
struct gpu_run {
	int32_t row, n, pos, second;
	uint32_t tables[GPU_CACHES];
};
/* The KV cache or recurrent state of one layer of the model.  base NULL: the layer is on another
 * device. */
struct gpu_layer {
	unsigned char *base;     /* address of the layer in page 0 */
	uint64_t page_bytes;     /* bytes from one page to the next */
	uint32_t k_head, v_head; /* bytes of K and of V of one KV head in a page */
	uint32_t v_at;           /* bytes from the first K to the first V */
	int16_t k_type, v_type;  /* enum infer_type */
	int32_t group;           /* index in gpu_run.tables */
};
/* Device addresses of the arrays of a step; constant for a plan. tables: page numbers of all runs
 * and groups; UINT32_MAX (BACKEND_NO_PAGE): the page was released. */
struct gpu_rows {
	const struct gpu_step *step;
	const struct gpu_run *runs;     /* [n_runs] */
	const struct gpu_layer *layers; /* [layers of the model] */
	const int32_t *id, *pos, *run;  /* [n] token id, position, index of the run */
	const int32_t *out;             /* [n_out] output rows */
	const uint32_t *tables;
	float *cs[GPU_ROPES]; /* [n][half][2] cos and sin; written by gpu_angles */
};
#endif
