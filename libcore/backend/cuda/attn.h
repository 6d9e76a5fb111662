/* backend/cuda/attn.h (private) - the attention kernels: how a launch is divided into blocks, and
 * the functions of each kernel.  attn.cu chooses the kernel; the choice changes no bits. */
#ifndef BACKEND_CUDA_ATTN_H
#define BACKEND_CUDA_ATTN_H
#include "backend/cuda/launch.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The arguments of a kernel: those of the launch, and how it is divided into blocks.  A tile is
 * rows of one run that share K and V (attn_row.cuh). */
struct attn_args {
	struct gpu_attn a;
	int32_t group;      /* query heads of a KV head */
	int32_t tokens;     /* of a tile */
	int32_t head_tiles; /* tiles of the query heads of one KV head */
	int32_t parts;      /* blocks that share the splits of a tile; 1: no partial results */
	int32_t run_least;  /* the launch computes the runs of run_least ... run_most rows */
	int32_t run_most;
	int32_t scan;  /* 1: tiles are numbered over these runs; 0: tile i begins at row i */
	int32_t tiles; /* the grid's y: most tiles of one KV head */
	int32_t slots; /* tokens with partial results */
};

/* The kernels.  x_supports: true if the kernel supports the types and sizes of a.  x_run: launch
 * it; returns a cudaError_t.
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
