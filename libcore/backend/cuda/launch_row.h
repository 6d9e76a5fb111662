/* backend/cuda/launch_row.h (private) - operations on rows: chains, angles of rotary embeddings,
 * experts around their products, choice of tokens.  The numerics are in launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_ROW_H
#define BACKEND_CUDA_LAUNCH_ROW_H
#include "backend/cuda/launch_mm.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- chains: one block of GPU_ROW_THREADS threads a row runs a list of operations ---- */
enum { GPU_OP_ACT = GRAPH_OPS }; /* make act of a */
struct gpu_op {
	struct graph_node node; /* its parameters; node.op may be GPU_OP_ACT */
	const float *a, *b, *c; /* values of its sources, rows of the columns below */
	float *y;               /* may be a: ROPE and others that work in place */
	int32_t a_cols, b_cols, c_cols;
	const void *w0, *w1; /* vectors f32; EMBED: tiles of w0 */
	int32_t w_type;      /* EMBED: type of the table; -1: f32 rows, no tiles */
	int32_t w_rows;      /* EMBED, NORM: rows of w0; SCALE: elements of w0 */
	float w_scale;       /* EMBED */
	struct gpu_act act;  /* GPU_OP_ACT */
};
struct gpu_chain {
	struct gpu_op ops[GPU_CHAIN];
	int32_t n, out; /* out 1: rows are those of step.out (GRAPH_OUT) */
	int32_t max_rows;
	struct gpu_rows rows;
};
int gpu_chain(const struct gpu_chain *c, cudaStream_t s);

/* Compute cos and sin for every row of the step into rows.cs: in double by fm_cos and fm_sin,
 * rounded once. */
struct gpu_angles {
	struct gpu_rows rows;
	int32_t n_ropes, max_rows;
	int32_t half[GPU_ROPES];
	const double *freq[GPU_ROPES]; /* [half] on the device */
	double mscale[GPU_ROPES];
};
int gpu_angles(const struct gpu_angles *a, cudaStream_t s);

/* ---- experts ----
 * gpu_moe_group  write the pairs of route
 * gpu_moe_mid    mid = act(gate) * up, and mid_act
 * gpu_moe_sum    y = sum of down over a row's pairs, in the order of rank; each times its weight
 *                unless `inside` */
struct gpu_moe {
	struct gpu_rows rows;
	int32_t out, max_rows, used, experts, cols, ff, act, inside;
	float limit;
	const float *route;                        /* [rows][2 used]: ids, weights */
	int32_t *first, *pair, *active, *n_active; /* as struct gpu_pairs; written */
	const float *gate, *up;                    /* [pairs][ff] */
	float *mid;                                /* [pairs][ff]; may be gate */
	struct gpu_act mid_act;                    /* made from mid */
	const float *down;                         /* [pairs][cols] */
	float *y;                                  /* [rows][cols] */
};
int gpu_moe_group(const struct gpu_moe *m, cudaStream_t s);
int gpu_moe_mid(const struct gpu_moe *m, cudaStream_t s);
int gpu_moe_sum(const struct gpu_moe *m, cudaStream_t s);

/* ---- choice of tokens ----
 * The k largest logits of each row, descending, ties to the lower id; past n: -1 and -inf.  k is at
 * most GPU_TOP. */
struct gpu_top {
	const float *logits; /* [rows][n] */
	const int32_t *rows; /* on the device */
	int32_t n, k, max_rows;
	int32_t *ids;  /* [rows][k] */
	float *values; /* [rows][k] their logits */
	float *lse;    /* [rows] ln sum exp; NaN if a logit is NaN */
	float *part;   /* gpu_top_bytes, for partial results */
	size_t part_bytes;
};
int gpu_top(const struct gpu_top *t, cudaStream_t s);
size_t gpu_top_bytes(int n, int k, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
