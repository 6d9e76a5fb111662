/* backend/cuda/launch_attn.h (private) - attention, the KV cache, recurrent layers.  The numerics
 * are in launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_ATTN_H
#define BACKEND_CUDA_LAUNCH_ATTN_H
#include "backend/cuda/launch_step.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention ---- */
struct gpu_attn {
	struct gpu_rows rows;
	const float *q;     /* [rows][heads][dk] */
	float *y;           /* [rows][heads][dv] */
	const float *sinks; /* [heads] or NULL */
	int32_t layer, heads, kv_heads, dk, dv, window, chunked, later;
	float scale, cap;
	int32_t k_type, v_type;
	float *part; /* gpu_attn_bytes, for partial results */
	size_t part_bytes;
	/* launch bounds: rows, runs, rows of the longest run, splits of the longest context */
	int32_t max_rows, max_runs, max_run_rows, max_splits;
};
int gpu_attn(const struct gpu_attn *a, cudaStream_t s);
/* Bytes of partial results that a plan for these sizes needs. */
size_t gpu_attn_bytes(int heads, int dv, int64_t rows, int64_t splits);
/* Bytes of K (or V) of one head in a page.  0 if the type is not supported or dim is not a multiple
 * of its block. */
size_t gpu_kv_bytes(int type, int dim);

/* ---- recurrent layers: pages of struct gpu_layer hold f32 states ----
 * A page holds the state after the last of its positions that was computed.  A run reads the state
 * from the page of the position before its first.  It writes the state at the end of each page that
 * it fills or ends in, unless that page was released. */
struct gpu_conv {
	struct gpu_rows rows;
	const float *x;    /* [rows][cols] */
	const float *w;    /* [cols][taps] */
	const float *bias; /* [cols] or NULL */
	float *y;          /* [rows][cols] */
	int32_t layer, at; /* at: first float of this operation in the layer's state */
	int32_t cols, taps, plain;
	int32_t max_runs, max_run_rows;
};
int gpu_conv(const struct gpu_conv *c, cudaStream_t s);
enum { GPU_DELTA_DK = 256 }; /* largest dk */
struct gpu_delta {
	struct gpu_rows rows;
	const float *q, *k;               /* [rows][k_heads][dk] */
	const float *v;                   /* [rows][heads][dv] */
	const float *beta, *decay;        /* [rows][heads]; before sigmoid and softplus */
	const float *rate, *shift, *skip; /* [heads]; skip NULL: none */
	float *y;                         /* [rows][heads][dv] */
	int32_t layer, at, heads, k_heads, dk, dv, tiled, plain;
	float scale;
	int32_t max_runs, max_run_rows;
};
int gpu_delta(const struct gpu_delta *d, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
