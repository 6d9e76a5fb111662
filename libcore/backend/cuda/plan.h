/* backend/cuda/plan.h (private) - plans of the CUDA backend.
 *
 * A plan turns the nodes of a graph into stages, and the stages into launches (launch.h).
 * Consecutive nodes become one stage: row operations as a chain, products with the same source as
 * jobs of one launch.  A product reads x in one of the forms of enum gpu_form; the chain before the
 * product writes that form.
 *
 * Each step uploads one block of host memory (struct cuda_block), then runs the launches on the
 * device's stream.  Steps in which every sequence decodes one token replay a CUDA graph; one is
 * captured for each class of row counts, context lengths and top-k counts (struct cuda_counts).
 *
 * The host computes experts whose weights are on_host, between two launches (host_experts.c).  In
 * such a plan cuda_begin launches up to the first CUDA_DO_HOST_COMPUTE and cuda_end runs the rest.
 * Such a plan captures no CUDA graphs.
 *
 * Confined to the backend's thread.  A plan borrows b, w and all pointers of m. */
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
	CUDA_HOST, /* a MOE node that the host computes */
	CUDA_HEADS,
	CUDA_STATE,
	CUDA_COPY
};
/* Nodes [first, first + n) of the graph, launched together. */
struct cuda_stage {
	uint8_t kind, rows;  /* enum cuda_stage_kind, enum graph_rows */
	int32_t first, n;    /* nodes */
	int32_t act, n_acts; /* CUDA_CHAIN: acts[act, act + n_acts) are written after the nodes */
};
/* Activations of a node in one form.  Stage `from` writes them, stage `to` reads them last. */
struct cuda_act {
	int32_t node, from, to;
	int form;      /* enum gpu_form */
	size_t offset; /* bytes from backend_plan.act_mem */
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
	CUDA_DO_HOST_SEND,   /* copy the rows of a MOE node to the host */
	CUDA_DO_HOST_COMPUTE /* wait for that copy, compute, copy the results to the device */
};
struct cuda_copy { /* RECV, SEND */
	float *value;
	int32_t edge, cols;
};
struct cuda_launch {
	uint8_t kind, rows;   /* enum cuda_launch_kind, enum graph_rows */
	uint8_t after_hidden; /* 1: its nodes come after graph.hidden; skipped if hidden_only */
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
		struct cuda_host_moe host;
	};
};

/* Device buffers of experts, sized for the largest MOE node; pairs as in struct gpu_pairs. */
struct cuda_moe {
	int32_t *first, *pair, *active, *n_active;
	float *gate, *up, *down;
	unsigned char *mid; /* activations that the product with down reads */
};
/* Device buffers of products by heads, sized for the largest HEAD_MM node. */
struct cuda_heads {
	int32_t *first, *pair, *active, *n_active;
	unsigned char *act;
};

/* Results of gpu_top, once on the device and once in pinned memory, allocated for ids and values
 * [out][GPU_TOP], lse [out].  A step stores ids and values as [n_out][n_top]. */
struct cuda_top {
	int32_t *ids;
	float *values, *lse;
};

/* The upload of a step: one block of pinned memory and one of device memory, with the arrays of
 * struct gpu_rows at the same offsets.  Page tables are last, so only their used part is copied. */
struct cuda_block {
	unsigned char *host, *device;
	size_t step, runs, layers, id, pos, run, out, tables; /* offsets in bytes */
	size_t bytes;                                         /* bytes of the whole block */
	size_t max_tables;                                    /* most entries of the page tables */
};

/* The counts that determine the kernels and grids of a step's launches. */
struct cuda_counts {
	uint64_t types; /* K and V types of the caches, 16 bits a group */
	int32_t rows, out, runs;
	int32_t run_rows; /* rows of the longest run */
	int32_t splits;   /* GPU_SPLIT splits of the longest context */
	int32_t top;      /* logits of a TOP row to find, rounded up to a power of two */
};
/* A captured CUDA graph, replayed for all steps with these counts. */
struct cuda_graph {
	struct cuda_counts at;
	cudaGraphExec_t exec;
};
enum { CUDA_GRAPHS = 96 }; /* most graphs of a plan; a new one replaces the oldest */

struct backend_plan {
	struct backend *b;
	struct backend_model m;
	const struct backend_weights *w;
	struct backend_size size;
	struct cuda_stage *stages;
	int n_stages;
	struct cuda_act *acts;
	int n_acts;
	int32_t *stage; /* [nodes] the stage of each node */
	size_t *offset; /* [nodes] bytes from `values` to the value of each node */
	struct cuda_launch *launches;
	int n_launches, max_launches;
	struct gpu_angles angles;
	struct backend_checked checked;
	int n_layers; /* layers of the model */
	size_t value_bytes, act_bytes;
	/* device: one allocation, and its parts */
	unsigned char *mem;
	size_t bytes;
	unsigned char *values, *act_mem;
	float *part; /* partial results of attention */
	size_t part_bytes;
	struct gpu_rows rows;
	struct cuda_moe moe;
	struct cuda_heads heads;
	unsigned char *vectors; /* tiles of weights that are vectors: cuda_vector_tiles */
	/* pinned host memory: the block to upload, logits and hidden states */
	struct cuda_block block;
	unsigned char *pinned;
	size_t pinned_bytes;
	float *logits, *hidden;
	struct cuda_top top, top_host;
	float *top_part; /* device: partial results of gpu_top */
	size_t top_bytes;
	struct cuda_graph graphs[CUDA_GRAPHS];
	int n_graphs;
	struct cuda_host_experts host_experts;
	/* the running step; s NULL: none runs */
	const struct backend_step *s;
	struct cuda_counts counts;
	int32_t n_top;   /* entries in each row of ids and values */
	int hidden_only; /* 1: only hidden states are wanted; skip launches after_hidden */
	int next_launch; /* first launch that is not enqueued yet */
};

/* plan.c: slots of struct backend_kind; *out is NULL on failure.  INFER_EUNSUP: the message names
 * the node; INFER_EINVAL: a bad graph; INFER_ENOMEM; cuda_plan: also INFER_EDEVICE */
int cuda_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
              const struct backend_size *size, infer_error *err);
int cuda_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
              const struct backend_model *m, const struct backend_size *size, infer_error *err);
void cuda_plan_free(struct backend_plan *p);
/* Return the activations of a node in a form, from the last stage that writes them; borrowed from
 * p.  NULL: no stage writes them. */
const struct cuda_act *cuda_act_find(const struct backend_plan *p, int32_t node, int form);

/* emit.c: fill in the launches of all stages, upload the constants of the plan.  INFER_EDEVICE */
int cuda_emit(struct backend_plan *p, infer_error *err);

/* run.c: slots of struct backend_kind; they also return INFER_EDEVICE, INFER_ENOMEM */
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
