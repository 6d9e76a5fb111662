/* backend/cuda/launch_row.h (private) - operations on rows: chains, RoPE angles, grouping and
 * summing of experts, the largest logits.  Numerics: launch.h. */
#ifndef BACKEND_CUDA_LAUNCH_ROW_H
#define BACKEND_CUDA_LAUNCH_ROW_H
#include "backend/cuda/launch_mm.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- chains: a list of operations that is applied to each row ---- */
enum { GPU_OP_ACT = GRAPH_OPS }; /* value of node.op: write the activations `act` of value a */
struct gpu_op {
	struct graph_node node; /* operation and parameters */
	const float *a, *b, *c; /* values of the sources: [rows][a_cols], ... */
	float *y;               /* may be a (ROPE in place) */
	int32_t a_cols, b_cols, c_cols;
	const void *w0, *w1; /* weights: f32 vectors; EMBED: w0 is tiles */
	int32_t w_type;      /* EMBED: type of the table; -1: f32 rows, no tiles */
	int32_t w_rows;      /* EMBED, NORM: rows of w0; SCALE: elements of w0 */
	float w_scale;       /* EMBED: factor of all weights of the table */
	struct gpu_act act;  /* GPU_OP_ACT */
};
struct gpu_chain {
	struct gpu_op ops[GPU_CHAIN];
	int32_t n, out; /* number of operations; out 1: values have output rows only (GRAPH_OUT) */
	int32_t max_rows;
	struct gpu_rows rows;
};
int gpu_chain(const struct gpu_chain *c, cudaStream_t s);

/* Write cos and sin of the RoPE angles of every row of the step to rows.cs, computed in double by
 * fm_cos and fm_sin and rounded once. */
struct gpu_angles {
	struct gpu_rows rows;
	int32_t n_ropes, max_rows;
	int32_t half[GPU_ROPES];
	const double *freq[GPU_ROPES]; /* device array [half] */
	double mscale[GPU_ROPES];
};
int gpu_angles(const struct gpu_angles *a, cudaStream_t s);

/* ---- experts ----
 * gpu_moe_group  write the pairs (struct gpu_pairs) of the experts in route
 * gpu_moe_mid    mid = act(gate) * up, and mid_act, the activations of mid; with weight_before_ffn
 *                gate and up are first multiplied by the weight of the pair
 * gpu_moe_sum    y = sum of down over the pairs of a row, in order of rank, each times the weight
 *                of the pair unless weight_before_ffn */
struct gpu_moe {
	struct gpu_rows rows;
	int32_t out, max_rows; /* out 1: output rows (GRAPH_OUT) */
	int32_t used, experts; /* experts of a row; experts of the layer */
	int32_t cols, ff;      /* columns of y; of gate, up and mid */
	int32_t act;           /* enum graph_act */
	int32_t weight_before_ffn;
	float limit;                               /* GRAPH_ACT_SWIGLU */
	const float *route;                        /* [rows][2 used]: ids, then weights */
	int32_t *first, *pair, *active, *n_active; /* as struct gpu_pairs; written */
	const float *gate, *up;                    /* [pairs][ff] */
	float *mid;                                /* [pairs][ff]; may be gate */
	struct gpu_act mid_act;                    /* activations of mid */
	const float *down;                         /* [pairs][cols] */
	float *y;                                  /* [rows][cols] */
};
int gpu_moe_group(const struct gpu_moe *m, cudaStream_t s);
int gpu_moe_mid(const struct gpu_moe *m, cudaStream_t s);
int gpu_moe_sum(const struct gpu_moe *m, cudaStream_t s);

/* ---- the largest logits ----
 * Find the k largest logits of each row, descending, ties by ascending id; k <= GPU_TOP.  If k > n,
 * the lists are padded with id -1 and logit -inf. */
struct gpu_top {
	const float *logits; /* [rows][n] */
	const int32_t *rows; /* device address of the number of rows */
	int32_t n, k, max_rows;
	int32_t *ids;  /* [rows][k] */
	float *values; /* [rows][k] logits of ids */
	float *lse;    /* [rows] log-sum-exp; NaN if a logit is NaN */
	float *part;   /* gpu_top_bytes bytes of scratch memory */
	size_t part_bytes;
};
int gpu_top(const struct gpu_top *t, cudaStream_t s);
/* Return the bytes that gpu_top.part needs for `rows` rows. */
size_t gpu_top_bytes(int n, int k, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
