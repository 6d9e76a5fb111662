/* backend/cuda/plan.h (private) - plans of the CUDA backend.
 *
 * A plan turns the nodes of a graph into launches (launch.h).  Consecutive nodes become one launch
 * if no row needs another row: row operations as a chain, products with one source as jobs of one
 * launch.  The form of x that a product reads is made at the end of the chain before it.
 *
 * Each step uploads one block of host memory (struct cuda_block), then runs the launches on the
 * device's stream.  Steps in which every sequence decodes one token replay a CUDA graph, captured
 * once for each class of row counts, context lengths and tokens of a row.
 *
 * Experts whose weights are on_host are computed by the host between two launches (host_experts.c).
 * Then begin launches as far as the first of these results, end the rest, and there are no graphs. */
#ifndef BACKEND_CUDA_PLAN_H
#define BACKEND_CUDA_PLAN_H
#include "backend/check.h"
#include "backend/cuda/cuda.h"
#include "backend/cuda/host_experts.h"

enum cuda_stage_kind {
	CUDA_CHAIN,
	CUDA_MM,
	CUDA_ATTN,
	CUDA_MOE,
	CUDA_HOST, /* a MOE that the host computes */
	CUDA_HEADS,
	CUDA_STATE,
	CUDA_COPY
};
struct cuda_stage {
	uint8_t kind, rows;  /* enum cuda_stage_kind, graph_rows */
	int32_t first, n;    /* nodes */
	int32_t act, n_acts; /* CUDA_CHAIN: forms to make after the nodes */
};
/* A value in the form that products read: made by one stage, read by later ones. */
struct cuda_act {
	int32_t node, from, to;
	int form; /* enum gpu_form */
	size_t offset;
	struct gpu_act x;
};
enum cuda_launch_kind {
	CUDA_DO_CHAIN,
	CUDA_DO_MM,
	CUDA_DO_ATTN,
	CUDA_DO_GROUP,
	CUDA_DO_MID,
	CUDA_DO_SUM,
	CUDA_DO_HEADS,
	CUDA_DO_CONV,
	CUDA_DO_DELTA,
	CUDA_DO_RECV,
	CUDA_DO_SEND,
	CUDA_DO_TOP,
	CUDA_DO_ASK,   /* copy the rows of a MOE to the host */
	CUDA_DO_ANSWER /* wait for them, compute on the host, copy the results to the device */
};
struct cuda_copy { /* RECV, SEND */
	float *value;
	int32_t edge, cols;
};
struct cuda_launch {
	uint8_t kind, rows;          /* enum cuda_launch_kind, graph_rows */
	uint8_t after;               /* after the states: left out where only states are wanted */
	const struct gpu_type *type; /* CUDA_DO_MM */
	union {
		struct gpu_chain chain;
		struct gpu_mm mm;
		struct gpu_attn attn;
		struct gpu_moe moe;
		struct gpu_heads heads;
		struct gpu_conv conv;
		struct gpu_delta delta;
		struct cuda_copy copy;
		struct gpu_top top;
		struct cuda_host host;
	};
};

/* Buffers of experts, sized for the largest node; pairs as in struct gpu_pairs. */
struct cuda_moe {
	int32_t *first, *pair, *active, *n_active;
	float *gate, *up, *down;
	unsigned char *mid; /* activations of down */
};
/* Buffers of products by heads, sized for the largest node. */
struct cuda_heads {
	int32_t *first, *pair, *active, *n_active;
	unsigned char *act;
};

/* The best tokens of each row of logits and their lse: ids and values [out][GPU_TOP], of which a step
 * uses [n_out][tokens]; on the device and in pinned memory. */
struct cuda_top {
	int32_t *ids;
	float *values, *lse;
};

/* The upload of a step: one block of pinned memory and one of the device, the same offsets in
 * both.  Offsets are constant, page tables are last, and only the part in use is copied. */
struct cuda_block {
	unsigned char *host, *device;
	size_t step, runs, layers, id, pos, run, out, tables, bytes; /* offsets; all bytes */
	size_t max_tables;                                           /* entries */
};

/* Counts that size the grids of a step's launches. */
/* types: of the caches, which choose kernels of attention */
struct cuda_counts {
	uint64_t types;
	int32_t rows, out, runs, run_rows, splits, top;
};
struct cuda_graph {
	struct cuda_counts at;
	cudaGraphExec_t exec;
};
enum { CUDA_GRAPHS = 96 };

struct backend_plan {
	struct backend *b;
	struct backend_model m;
	const struct backend_weights *w;
	struct backend_size size;
	struct cuda_stage *stages;
	int n_stages;
	struct cuda_act *acts;
	int n_acts;
	int32_t *stage; /* [nodes] */
	size_t *offset; /* [nodes] in values */
	struct cuda_launch *launches;
	int n_launches, max_launches;
	struct gpu_angles angles;
	struct backend_checked checked;
	int n_layers; /* of the model, as steps name them */
	size_t value_bytes, act_bytes;
	/* device: one block, and its parts */
	unsigned char *mem;
	size_t bytes;
	unsigned char *values, *act_mem;
	float *part;
	size_t part_bytes;
	struct gpu_rows rows;
	struct cuda_moe moe;
	struct cuda_heads heads;
	unsigned char *vectors; /* tiles of vectors, by node */
	/* pinned: the block to upload, logits and states */
	struct cuda_block block;
	unsigned char *pinned;
	size_t pinned_bytes;
	float *logits, *hidden;
	struct cuda_top top, top_host;
	float *top_part; /* device: partial results of top */
	size_t top_bytes;
	struct cuda_graph graphs[CUDA_GRAPHS];
	int n_graphs;
	struct cuda_experts host;
	/* of the step that runs */
	const struct backend_step *s;
	struct cuda_counts counts;
	int32_t n_top; /* tokens of a row of its top */
	int brief;     /* states only */
	int next;      /* the launch to go on with */
};

/* plan.c: stages of a graph, checks by name */
int cuda_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
              const struct backend_size *size, infer_error *err);
int cuda_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
              const struct backend_model *m, const struct backend_size *size, infer_error *err);
void cuda_plan_free(struct backend_plan *p);
const struct cuda_act *cuda_act_find(const struct backend_plan *p, int32_t node, int form);
/* layout.c: parts of the workspace and of pinned memory; with NULL bases it only counts */
int cuda_place_values(struct backend_plan *p, infer_error *err);
int cuda_layout(struct backend_plan *p, unsigned char *device, unsigned char *pinned,
                infer_error *err);
/* Bytes of the tiles of MM node i's weight if it is a vector, which struct cuda_weight keeps raw;
 * else 0. */
size_t cuda_vector_bytes(const struct backend_plan *p, int32_t i);
unsigned char *cuda_vector_tiles(const struct backend_plan *p, int32_t i);
struct gpu_act cuda_act_at(int form, int terms, unsigned char *at, int64_t rows, int64_t k);
size_t cuda_act_bytes(int form, int terms, int64_t rows, int64_t k);
/* emit.c: the launches of the stages */
int cuda_emit(struct backend_plan *p, infer_error *err);

/* run.c */
int cuda_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err);
int cuda_end(struct backend_plan *p, struct backend_result *r, infer_error *err);

static inline const struct graph_node *cuda_node(const struct backend_plan *p, int32_t i)
{
	return &p->m.graph->nodes[i];
}
static inline float *cuda_value(const struct backend_plan *p, int32_t node)
{
	return (float *)(void *)(p->values + p->offset[node]);
}
#endif
