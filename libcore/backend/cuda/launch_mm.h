/* backend/cuda/launch_mm.h (private) - matrix products: forms of activations, tiles of weights,
 * jobs, pairs of rows and experts, products by heads.  Numerics: launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_MM_H
#define BACKEND_CUDA_LAUNCH_MM_H
#include "backend/cuda/launch_step.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations, in the forms that products read ----
 * I8    d = max |x| / 127 over a block of GPU_BLOCK, q = x (1 / d) to the nearest, ties to even;
 *       tiny and non-finite d as in kern/act.h
 * F16   x / 2^e as a sum of `terms` f16 numbers: x / 2^e rounded, then the remainder rounded, ...
 *       d is 2^e, one for each block, chosen so that no term overflows
 * BF16  x as a sum of `terms` bf16 numbers
 * F32   the values themselves */
enum gpu_form { GPU_I8, GPU_F16, GPU_BF16, GPU_F32, GPU_FORMS };
/* Rows of activations x [rows][k]; k is zero-padded to whole blocks of GPU_BLOCK.  A row of q:
 * I8         int8 [k]; each 64 in the order of mma.m16n8k32: byte 16 t + 8 h + 4 u + i contains
 *            k = 32 h + 16 u + 4 t + i, so lane t of a quad reads its part of two k32 steps at once
 * F16, BF16  [terms][k] in order of k; of each 32, lane t reads k = 8 t ... 8 t + 7, two k16 steps:
 *            k = 8 t + 4 s + 2 u + i is used in step s, register u
 * F32        f32 [k], not padded */
struct gpu_act {
	void *q;
	size_t row_bytes; /* bytes from one row of q to the next */
	float *d;         /* [row][block] I8: scale; F16: 2^e; otherwise NULL */
	int16_t *sum;     /* [row][k / 32] I8: sums of 32 elements of q; otherwise NULL */
	int32_t form, terms;
};
/* Return the number of GPU_BLOCK blocks in a row of k elements. */
static inline int32_t gpu_blocks(int64_t k) { return (int32_t)((k + GPU_BLOCK - 1) / GPU_BLOCK); }

/* ---- weights: tiles of GPU_GROUP rows by GPU_BLOCK of k ----
 * The tile of group g and block b of a matrix is at byte (g * blocks + b) * tile_bytes.  A tile
 * contains 4 chunks of 64 of k, then the scales.  A chunk contains the A fragments of its mma steps
 * in order, 16 bytes a lane.  The last group is padded with zero rows.
 *
 * pack: repack n rows of k elements, row_bytes apart, from the file's layout at `raw` (alignment:
 * at least 2) to tiles at `to`.  mv, mm: compute the products m; mv for up to GPU_MV_ROWS rows of x
 * (with experts: rows of each expert), mm for any number.  All three return a cudaError_t. */
struct gpu_mm;
struct gpu_type {
	int type;             /* enum infer_type */
	int form;             /* enum gpu_form of x */
	uint32_t tile_bytes;  /* a multiple of 16 */
	uint32_t chunk_bytes; /* bytes of a chunk of 64 of k; a multiple of 16 */
	int (*pack)(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
	            cudaStream_t s);
	int (*mv)(const struct gpu_mm *m, cudaStream_t s);
	int (*mm)(const struct gpu_mm *m, cudaStream_t s);
};
/* X8: the type to which weights of types without kernels are recoded (recode.h).  A group of
 * GPU_X8_K elements takes GPU_X8_BYTES: one f32 scale, then from byte GPU_X8_Q on int8 codes.
 * GPU_TYPE_X8 is not a value of enum infer_type. */
enum { GPU_TYPE_X8 = 1000, GPU_X8_K = 16, GPU_X8_Q = 4, GPU_X8_BYTES = GPU_X8_Q + GPU_X8_K };
/* types.c.  Return the kernels of a weight type; NULL: the type has none. */
const struct gpu_type *gpu_type_find(int type);
/* Return the type in which weights of `type` are stored on the device: `type`, or X8 if it is
 * recoded.  NULL: `type` is not supported. */
const struct gpu_type *gpu_type_stored(int type);

/* One product: y = x W^T mul + bias, then with a cap y = cap tanh(y / cap).  y [row][n]. */
struct gpu_job {
	const void *w;       /* tiles of matrix 0 */
	size_t matrix_bytes; /* bytes from one expert's matrix to the next */
	const float *bias;   /* [n], experts: [matrix][n]; NULL: none */
	float *y;
	int64_t ldy;    /* floats from one row of y to the next */
	int32_t n;      /* weight rows */
	float mul, cap; /* cap 0: none */
};
/* Pairs of a row and one of its experts, numbered row * used + rank and grouped by expert.
 * gpu_moe_group writes them.  Column c of the product with expert e is pair p = pair[first[e] + c]:
 * the product reads row p / used of x (by_pair 1: row p) and writes row p of y. first NULL: no
 * experts; column c is row c. */
struct gpu_pairs {
	const int32_t *first;  /* [experts + 1] */
	const int32_t *pair;   /* [pairs] by expert, ascending within an expert */
	const int32_t *active; /* [experts] experts that have pairs, ascending */
	const int32_t *n_active;
	int32_t used, experts, by_pair;
};
struct gpu_mm {
	struct gpu_job jobs[GPU_JOBS]; /* with the same x, weight type and k */
	int32_t n_jobs, k;
	struct gpu_act x;
	const int32_t *rows; /* on the device: step.n or step.n_out, rows and not pairs */
	int32_t max_rows;    /* upper bound of *rows */
	struct gpu_pairs e;
};

/* ---- products by heads ----
 * gpu_heads prepares a launch of mv or mm in which each head is an expert: it writes the pairs
 * (number row * heads + head, by_pair 1) and the activations of the first k columns of each head of
 * x.  It copies the other in - k columns of a head to the end of that head in y. */
struct gpu_heads {
	const float *x;      /* [rows][heads][in] */
	float *y;            /* [rows][heads][out] */
	const int32_t *rows; /* device address of the number of rows */
	int32_t max_rows, heads, in, out, k;
	struct gpu_act act;                        /* [pairs][k], written; F32: x itself */
	int32_t *first, *pair, *active, *n_active; /* as struct gpu_pairs; written */
};
int gpu_heads(const struct gpu_heads *h, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
