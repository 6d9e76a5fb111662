/* infer/plan.h - memory, time and cost of running a model on a machine.   floor: plan
 *
 * A limit is the least time that the machine's peaks allow; a prediction is the time at the rates
 * that its kernels, or published measurements of such machines, reach.  Functions of shapes and
 * machines are pure.  Any thread. */
#ifndef INFER_PLAN_H
#define INFER_PLAN_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/engine.h>
#include <infer/machine.h>
#include <infer/probe.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The work of one step. */
struct infer_load {
	int64_t rows; /* of all sequences */
	int64_t out;  /* rows that produce logits */
	int64_t seqs; /* sequences; each reads its own cache once */
	int64_t ctx;  /* positions that a row attends to */
};
struct infer_cost {
	double weight_bytes, kv_bytes;
	/* operations, by the kind of product that each weight type uses */
	double fma_ops, dot_ops, bf16_ops;
	double attn_ops; /* of attention, in fp32 for any cache type */
};
/* Add the cost of a step to *c.  INFER_ENOMEM */
int infer_cost_add(struct infer_cost *c, const infer_model *m, const struct infer_engine_info *info,
                   const struct infer_load *l, infer_error *err);
/* Return the least time in seconds: of the products with weights, then of attention, each the
 * longer of reading its bytes and computing.  Without bf16 tiles, bf16_ops count as fma.  *limit:
 * the limit of the longer phase, INFER_LIMIT_MEMORY, KV or COMPUTE. */
double infer_cost_seconds(const struct infer_cost *c, const struct infer_ceilings *top, int *limit);

/* ---- the shape of a model: its graph, with equal nodes counted together ---- */
enum infer_work_kind {
	INFER_WORK_MATRIX,
	INFER_WORK_EXPERTS,
	INFER_WORK_ATTN,
	INFER_WORK_STATE, /* recurrent layers: heads of dk x dv floats */
	INFER_WORK_ROWS,  /* row operations: norms, activations ... */
	INFER_WORK_PUT    /* K and V of a row into the cache */
};
struct infer_work {
	int kind, times;   /* enum infer_work_kind; equal nodes */
	int out;           /* 1: only for rows that produce logits */
	int type;          /* MATRIX, EXPERTS: of the weights, enum infer_type */
	int64_t n, k;      /* rows of the matrix and their length; ROWS: k floats */
	int experts, used; /* of a layer; chosen per row */
	int heads, kv_heads, dk, dv, window;
	int latent, borrows; /* 1: MLA, K is also V; 1: KV shared, stored by another layer */
	int adapter;         /* 1: of an adapter: it keeps its type */
	int slot;            /* ROWS: index of infer_machine.slots */
	/* parallel regions that each of the nodes begins; products with the same source share one */
	int starts;
	int64_t region; /* MATRIX, EXPERTS: weights of the region of a node, for one row */
};
enum { INFER_WORKS = 256 };
struct infer_shape {
	struct infer_work work[INFER_WORKS];
	int32_t n_work, layers, vocab, embd, ctx_train;
	int32_t nodes, regions; /* of the graph; parts between barriers, if all are parallel */
	int32_t experts, used, window;
	double params, active_params;
	double header_bytes; /* of the file: metadata with the vocabulary */
	double weight_bytes; /* of the file's tensors */
	double state_bytes;  /* of the states of all recurrent layers, for one position */
	/* of tables that are read by look-ups only */
	double table_bytes, table_elements;
};
/* Fill the shape of a model.  INFER_EUNSUP: it has more than INFER_WORKS kinds of nodes. */
int infer_shape_of(struct infer_shape *s, const infer_model *m, infer_error *err);
/* Change the shape to matrices of another type (enum infer_type), except those whose rows are not
 * whole blocks of it; the output is at least Q6_K, and of Q5_K, Q4_K, Q3_K and Q2_K it is the mix
 * that half of the down projections have a better type in.  File sizes are estimates. */
void infer_shape_retype(struct infer_shape *s, int type);
/* Add an adapter that every row uses, to the work and the weights.  Errors as infer_shape_of. */
int infer_shape_adapt(struct infer_shape *s, const infer_lora *l, infer_error *err);
/* Add the cost in a step of an adapter that every row uses, without tensors that replace the model's. */
void infer_cost_adapt(struct infer_cost *c, const infer_lora *l, const struct infer_load *load);
/* Return the cache bytes of a sequence of n positions; of states, the pages held during prefill. */
double infer_shape_kv(const struct infer_shape *s, int64_t n, int k_type, int v_type);
/* Return the expected number of experts that `rows` rows choose, `used` each at random. */
double infer_experts_touched(int experts, int used, double rows);

/* ---- the time of a step ---- */
enum infer_bound {
	INFER_BOUND_MEMORY,    /* reading weights */
	INFER_BOUND_KV,        /* reading the cache */
	INFER_BOUND_COMPUTE,   /* arithmetic */
	INFER_BOUND_LINK,      /* transfers between accelerators, or between them and the host */
	INFER_BOUND_RUNTIME,   /* barriers, sampling, rows that one thread computes */
	INFER_BOUND_SCHEDULER, /* waiting for prompts of other users */
	INFER_BOUND_COUNT
};
const char *infer_bound_name(int bound); /* "memory", "kv" ...; else "unknown".  Static */

/* How the model is placed on the machine. */
enum infer_split { INFER_SPLIT_NONE, INFER_SPLIT_TENSOR, INFER_SPLIT_PIPELINE, INFER_SPLIT_EXPERT };
struct infer_setup {
	int k_type, v_type;
	int32_t threads; /* 0: all */
	/* fraction of layers on accelerators, 0 ... 1; number of accelerators; how they share the
	 * model */
	double gpu_part;
	int32_t gpus;
	int split; /* enum infer_split */
	/* time of a decode step on the host, divided by its prediction from kernels alone, as
	 * infer_plan_rehearse measures it; 0: unknown, counts as 1 */
	double decode_times;
};
struct infer_step_time {
	double weight_bytes, kv_bytes, ops;
	double limit; /* seconds: the least time */
	int limit_by; /* enum infer_bound */
	int partial; /* 1: the machine's arithmetic is unknown, so the limit is that of memory alone */
	double total;                   /* seconds: predicted; 0: no efficiency is known */
	int total_by;                   /* enum infer_bound: the largest part of total */
	double part[INFER_BOUND_COUNT]; /* seconds of total */
};
/* Fill *t with the limit and the prediction for a step. */
void infer_step_time(struct infer_step_time *t, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_setup *how,
                     const struct infer_load *l);

/* Measure decode steps of one sequence in an engine on this machine, and set *times to their time divided by
 * that of infer_step_time.  The matrices are random, of the types and shapes of the model; of its file only
 * vectors are read.  A model whose step takes long is cut to its first layers.  It takes less than a
 * second.  how: threads and types of the cache.
 * INFER_EAGAIN: other programs had the processors.  INFER_EUNSUP: a type without kernels, or long steps that
 * cannot be cut.  INFER_ENOMEM; other errors as infer_engine_open. */
int infer_plan_rehearse(double *times, const infer_model *model, const struct infer_machine *m,
                        const struct infer_setup *how, infer_error *err);

/* ---- a plan ---- */
struct infer_plan_ask {
	int32_t ctx, users, prompt, output; /* tokens; ctx 0: prompt + output */
	int32_t shared;                     /* leading tokens that all prompts have in common */
	int32_t lora_rank;                  /* sum of the ranks of all adapters; 0: none */
	int32_t chunk;                      /* most prompt tokens of a step; 0: 512 */
	double ttft_ms, tpot_ms;            /* targets; 0: none */
	uint64_t budget_bytes;              /* memory; 0: all that the machine has */
	double price;                       /* of the machine per hour; 0: unknown */
	struct infer_setup how;
};
/* Bytes: on the host as the engine's own plan counts them, on accelerators from the shape. */
struct infer_plan_need {
	double weights, kv, workspace, process; /* kv: of all users */
	double host, gpu;                       /* the sum by place; gpu: of each */
	double host_there, gpu_there;           /* memory that the machine has */
	/* most memory that a run on the host touches: without rows of the embedding table that are
	 * not looked up, and workspace of other steps; 0: unknown */
	double peak;
	int fits;
};
struct infer_plan {
	struct infer_plan_need need;
	struct infer_step_time prefill, decode, alone; /* decode: all users in a step; alone: one */
	double prefill_tok_s, decode_tok_s,
		all_tok_s; /* predicted: one user, one user, all users */
	double limit_prefill_tok_s, limit_decode_tok_s, limit_all_tok_s;
	double ttft_ms, ttft_alone_ms, tpot_ms, request_ms;
	/* tpot_ms while other prompts are prefilled; enum infer_bound: its largest part */
	double tpot_prompts_ms;
	int tpot_by;
	int32_t users_memory;  /* users that fit into memory */
	int32_t users_latency; /* of those, users within the targets; -1: nothing is predicted */
	double prefix_ms;      /* time saved per request by a shared prefix */
	double prefix_bytes;   /* cache saved by a shared prefix, for all users */
	double cost;           /* of a million output tokens, with their prompts; 0: unknown */
	int slower;            /* 0: a request takes longer in prefill, 1: in decode */
};
/* Make a plan.  need: of infer_plan_engine, for the host; NULL: from the shape, without peak. */
void infer_plan_make(struct infer_plan *p, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask,
                     const struct infer_engine_need *need);
/* Fill the memory of *need alone, estimated from the shape. */
void infer_plan_fits(struct infer_plan_need *need, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask);
/* Return the largest fraction of the layers that fits on the accelerators of ask->how. */
double infer_plan_gpu_part(const struct infer_shape *s, const struct infer_machine *m,
                           const struct infer_plan_ask *ask);
/* Choose the placement of a model: on one accelerator if it fits, else whole layers on all of them,
 * else as many layers as fit there and the rest on the host, else the host.  The types and threads are
 * those of ask->how.  Returns 0 if the model fits nowhere; *how is then its preferred placement. */
int infer_plan_place(struct infer_setup *how, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask);
/* Compute the memory that the engine would need for an ask; errors as infer_engine_need. */
int infer_plan_engine(struct infer_engine_need *need, const infer_model *model,
                      const struct infer_plan_ask *ask, int32_t threads, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
