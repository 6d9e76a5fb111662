/* backend/cuda/attn.h (private) - the attention kernels: how a launch is divided into blocks, and
 * two functions for each kernel.  attn.cu chooses the kernel; the number of rows changes no
 * bits. */
#ifndef BACKEND_CUDA_ATTN_H
#define BACKEND_CUDA_ATTN_H
#include "backend/cuda/launch.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of an attention kernel: those of gpu_attn, and how the launch is divided into
 * blocks.  A tile is rows of one run that share K and V (attn_row.cuh). */
struct attn_args {
	struct gpu_attn a;
	int32_t group;      /* query heads of a KV head */
	int32_t tokens;     /* tokens of a tile */
	int32_t head_tiles; /* tiles that the query heads of one KV head need */
	int32_t parts; /* blocks that share the splits of a tile; 1: the block writes y itself */
	int32_t run_least; /* only runs of run_least ... run_most rows are computed */
	int32_t run_most;
	int32_t scan;  /* 1: tiles are counted over these runs; 0: tile i begins at row i */
	int32_t tiles; /* upper bound of the tiles of one KV head: grid.y */
	int32_t slots; /* tokens with partial results */
};

/* Functions of kernel x. x_supports: true if the kernel supports the types and sizes of a.  x_run:
 * launch the kernel; returns a cudaError_t.
 *
 * attn_tile.cu: a block computes 16 rows (heads of neighbouring tokens).  K and V of one type: F16,
 * Q8_0, Q4_0; dv <= 512. */
int attn_tile_supports(const struct gpu_attn *a);
int attn_tile_run(const struct attn_args *g, cudaStream_t s);
/* attn_plain.cu: a warp computes one row.  Any types; dv <= 512. */
int attn_plain_supports(const struct gpu_attn *a);
int attn_plain_run(const struct attn_args *g, cudaStream_t s);
/* attn_mm.cu: a block computes 128 rows; K and V of a page are in shared memory.  F16, Q8_0; dk and
 * dv <= 128.  attn_mm_rows returns the rows of a block; 0 if the kernel does not support a, or the
 * device has too little shared memory. */
int attn_mm_rows(const struct gpu_attn *a);
int attn_mm_run(const struct attn_args *g, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
