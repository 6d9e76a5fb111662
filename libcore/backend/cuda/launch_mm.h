/* backend/cuda/launch_mm.h (private) - products: activations, weights, jobs, pairs of rows and
 * experts, products by heads.  The numerics are in launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_MM_H
#define BACKEND_CUDA_LAUNCH_MM_H
#include "backend/cuda/launch_step.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations in the form that products read ----
 * I8    d = amax / 127 over a block of GPU_BLOCK, q = x (1 / d) to the nearest, ties to even; tiny
 *       and non-finite d by the rules of kern/act.h
 * F16   x / 2^e rounded to f16 in `terms` terms (hi, then the rest); 2^e per block, in d, so that
 *       nothing overflows
 * BF16  x rounded to bf16 in `terms` terms
 * F32   the values themselves */
enum gpu_form { GPU_I8, GPU_F16, GPU_BF16, GPU_F32, GPU_FORMS };
/* Rows of x.  k is padded with zeros to whole blocks of GPU_BLOCK.
 * I8    int8 [k]; each 64 bytes in the order of mma.m16n8k32: byte 16 t + 8 h + 4 u + i holds k =
 *       32 h + 16 u + 4 t + i, so that lane t of a quad reads its part of two k32 steps in 16 bytes
 * F16, BF16  [terms][k] in order of k; lane t reads 16 bytes, k = 8 t ... 8 t + 7 of 32: two k16
 *       steps; step s has k = 8 t + 4 s + 2 u + i in register u */
struct gpu_act {
	void *q;
	size_t row_bytes; /* of q; F32: cols * 4 of the value */
	float *d;         /* [row][k / GPU_BLOCK] I8: scale; F16: 2^e; else NULL */
	int16_t *sum;     /* [row][k / 32] I8: sums of q; else NULL */
	int32_t form, terms;
};
/* Blocks of a row of k elements. */
static inline int32_t gpu_blocks(int64_t k) { return (int32_t)((k + GPU_BLOCK - 1) / GPU_BLOCK); }

/* ---- weights: tiles of GPU_GROUP rows by GPU_BLOCK of k ----
 * tile (group g, block b) of a matrix is at (g * blocks + b) * tile_bytes.  Inside: 4 chunks of 64
 * of k, each with the A fragments of its mma steps in order, 16 bytes a lane; after the chunks the
 * scales.  Rows past the last are zero.
 *
 * pack repacks n rows of k elements, row_bytes apart, in the file's layout at `raw` (aligned as the
 * type's file layout is, at least to 2) into tiles at `to`.  mv and mm compute products: mv for up
 * to GPU_MV_ROWS rows of x (with experts: of each expert), mm for any number. */
struct gpu_mm;
struct gpu_type {
	int type;             /* enum infer_type */
	int form;             /* enum gpu_form of x */
	uint32_t tile_bytes;  /* a multiple of 16 */
	uint32_t chunk_bytes; /* of a tile's 64-of-k chunk; a multiple of 16 */
	int (*pack)(void *to, const void *raw, size_t row_bytes, int64_t n, int64_t k,
	            cudaStream_t s);
	int (*mv)(const struct gpu_mm *m, cudaStream_t s);
	int (*mm)(const struct gpu_mm *m, cudaStream_t s);
};
/* X8, the form on the device of types that have no kernels of their own: recode.h.  Groups of
 * GPU_X8_K elements in GPU_X8_BYTES: f32 scale, then codes from byte GPU_X8_Q on.  Its number is
 * outside of enum infer_type. */
enum { GPU_TYPE_X8 = 1000, GPU_X8_K = 16, GPU_X8_Q = 4, GPU_X8_BYTES = GPU_X8_Q + GPU_X8_K };
/* The kernels of a type of weights; NULL if it has none.  types.c */
const struct gpu_type *gpu_type_find(int type);
/* The type in which weights of `type` are kept on the device: itself, or X8; NULL: neither. */
const struct gpu_type *gpu_type_stored(int type);

/* y[row][n] = x W^T mul + bias, then cap tanh(y / cap) */
struct gpu_job {
	const void *w;       /* tiles of matrix 0 */
	size_t matrix_bytes; /* from one expert's matrix to the next */
	const float *bias;   /* [n], experts: [matrix][n]; NULL: none */
	float *y;
	int64_t ldy;    /* floats from one row of y to the next */
	int32_t n;      /* weight rows */
	float mul, cap; /* cap 0: none */
};
/* Pairs (row, rank) of rows and chosen experts, written by gpu_moe_group.  Column c of the product
 * with expert e is pair p = pair[first[e] + c].  Row p of y is written; row p / used of x is read,
 * by by_pair 1 row p.  first NULL: no experts, column c is row c. */
struct gpu_pairs {
	const int32_t *first;  /* [experts + 1] */
	const int32_t *pair;   /* [pairs] row * used + rank, by expert, ascending inside each */
	const int32_t *active; /* [experts] experts that have pairs, ascending */
	const int32_t *n_active;
	int32_t used, experts, by_pair;
};
struct gpu_mm {
	struct gpu_job jobs[GPU_JOBS]; /* of one type and one k; they share x */
	int32_t n_jobs, k;
	struct gpu_act x;
	const int32_t *rows; /* on the device: rows (not pairs) of x: step.n or step.n_out */
	int32_t max_rows;    /* the most that *rows can be in this launch */
	struct gpu_pairs e;
};

/* ---- products by heads: prepare mv and mm with struct gpu_pairs ----
 * Expert: head; pair: row * heads + head; by_pair 1.  Columns of a head past the first k are copied
 * to y after the out - (in - k) columns of the product. */
struct gpu_heads {
	const float *x;      /* [rows][heads][in] */
	float *y;            /* [rows][heads][out] */
	const int32_t *rows; /* on the device */
	int32_t max_rows, heads, in, out, k;
	struct gpu_act act; /* row of a pair: the first k columns; F32: x itself, not written */
	int32_t *first, *pair, *active, *n_active; /* as struct gpu_pairs; written */
};
int gpu_heads(const struct gpu_heads *h, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
