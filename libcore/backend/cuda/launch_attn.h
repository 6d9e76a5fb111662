/* backend/cuda/launch_attn.h (private) - attention, the KV cache, recurrent layers.  Numerics:
 * launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_ATTN_H
#define BACKEND_CUDA_LAUNCH_ATTN_H
#include "backend/cuda/launch_step.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention ---- */
struct gpu_attn {
	struct gpu_rows rows;
	const float *q;                                                 /* [rows][heads][dk] */
	float *y;                                                       /* [rows][heads][dv] */
	const float *sinks;                                             /* [heads] or NULL */
	int32_t layer, heads, kv_heads, dk, dv, window, chunked, later; /* as in op_list.h, ATTN */
	float scale, cap;
	int32_t k_type, v_type; /* enum infer_type of K and V in the cache */
	float *part;            /* scratch: partial results of splits */
	size_t part_bytes;      /* of part: gpu_attn_bytes; fewer: splits are not shared */
	/* upper bounds: rows, runs, rows of the longest run, splits of the longest context */
	int32_t max_rows, max_runs, max_run_rows, max_splits;
};
int gpu_attn(const struct gpu_attn *a, cudaStream_t s);
/* Return the bytes that gpu_attn.part needs for launches of up to these sizes. */
size_t gpu_attn_bytes(int heads, int dv, int64_t rows, int64_t splits);
/* Return the bytes of K (or V) of one KV head in a page; 0 if the type is not supported or dim is
 * not a multiple of its block. */
size_t gpu_kv_bytes(int type, int dim);

/* ---- recurrent layers ----
 * A page contains the f32 states of its layers after the last position computed in that page.  A
 * run reads the state from the page of the position before the run.  It writes the state to each
 * page that it fills, and to the page of its last position, except to released pages. */

/* Causal convolution (CONV1D of op_list.h). */
struct gpu_conv {
	struct gpu_rows rows;
	const float *x;    /* [rows][cols] */
	const float *w;    /* [cols][taps] */
	const float *bias; /* [cols] or NULL */
	float *y;          /* [rows][cols] */
	int32_t layer, at; /* at: index of this operation's first float in the state of the layer */
	int32_t cols, taps, no_silu;
	int32_t max_runs, max_run_rows;
};
int gpu_conv(const struct gpu_conv *c, cudaStream_t s);
enum { GPU_DELTA_DK = 256 }; /* largest dk */
/* Gated delta rule, or SSM scan (GATED_DELTA of op_list.h). */
struct gpu_delta {
	struct gpu_rows rows;
	const float *q, *k;               /* [rows][k_heads][dk] */
	const float *v;                   /* [rows][heads][dv] */
	const float *beta, *decay;        /* [rows][heads], inputs of the gates (state_gate.cuh) */
	const float *rate, *shift, *skip; /* [heads]; skip NULL: none */
	float *y;                         /* [rows][heads][dv] */
	int32_t layer, at, heads, k_heads, dk, dv, tiled, ssm;
	float scale;
	int32_t max_runs, max_run_rows;
};
int gpu_delta(const struct gpu_delta *d, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
