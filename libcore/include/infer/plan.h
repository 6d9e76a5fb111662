/* infer/plan.h - what a model takes of a machine, and what it does there.   floor: plan
 *
 * Bytes, the least time of a step, the time that it is predicted to take, users, cost.  A limit follows from what the machine can at most; a prediction from what its loops, or published
 * measurements of such machines, reach.  They are different figures.  All functions of shapes and
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

/* The work of a step of a model. */
struct infer_load {
	int64_t rows; /* of all sequences */
	int64_t out;  /* rows that produce logits */
	int64_t seqs; /* each reads its own cache once */
	int64_t ctx;  /* positions that a row attends to */
};
struct infer_cost {
	double weight_bytes, kv_bytes;
	/* counted by the kind of product that each weight type uses */
	double fma_ops, dot_ops, bf16_ops;
	double attn_ops; /* of attention, in fp32 whatever the type of the cache */
};
/* Add the cost of a step to *c.  Any thread.  INFER_ENOMEM */
int infer_cost_add(struct infer_cost *c, const infer_model *m, const struct infer_engine_info *info,
                   const struct infer_load *l, infer_error *err);
/* The minimum time in seconds of two phases, of weights and of attention: each takes the longer of
 * reading its bytes and of computing; bf16_ops by fma where there are no tiles of bf16.  *limit: of
 * the longer phase, MEMORY or KV or COMPUTE. */
double infer_cost_seconds(const struct infer_cost *c, const struct infer_ceilings *top, int *limit);

/* ---- a model as work: its graph, equal nodes counted together ---- */
enum infer_work_kind {
	INFER_WORK_MATRIX,
	INFER_WORK_EXPERTS,
	INFER_WORK_ATTN,
	INFER_WORK_STATE, /* of recurrent layers: heads of dk x dv floats */
	INFER_WORK_ROWS,
	INFER_WORK_PUT /* K and V of a row into the cache */
};
struct infer_work {
	int kind, times;
	int out;      /* 1: only for rows that produce logits */
	int type;     /* MATRIX, EXPERTS: of the weights */
	int64_t n, k; /* rows of the matrix and their length; ROWS: k floats */
	int experts, used;
	int heads, kv_heads, dk, dv, window;
	int latent, borrows; /* 1: K is V too; another layer keeps K and V */
	int slot;            /* ROWS: of infer_machine.slots */
};
enum { INFER_WORKS = 192 };
struct infer_shape {
	struct infer_work work[INFER_WORKS];
	int32_t n_work, layers, vocab, embd, ctx_train, regions; /* regions: between barriers */
	int32_t experts, used, window;
	double params, active_params;
	double header_bytes; /* of the file: metadata with the vocabulary */
	double weight_bytes; /* of the file's tensors */
	double state_bytes;  /* of the states of all recurrent layers, at one position */
	/* of the tables that tokens are looked up in, where no product reads them */
	double table_bytes, table_elements;
};
/* INFER_EUNSUP  a model of more kinds of nodes than fit */
int infer_shape_of(struct infer_shape *s, const infer_model *m, infer_error *err);
/* The same model with matrices of another type: those whose rows are whole blocks of it, the output
 * at least in Q6_K.  Bytes are those of matrices, so they are an estimate. */
void infer_shape_retype(struct infer_shape *s, int type);
/* Bytes of the cache of one sequence of n positions; of states, those of the pages that it holds while
 * a prompt is read. */
double infer_shape_kv(const struct infer_shape *s, int64_t n, int k_type, int v_type);
/* Of `experts`, those that `rows` rows are expected to choose, each `used` at random. */
double infer_experts_touched(int experts, int used, double rows);

/* ---- the time of a step ---- */
enum infer_bound {
	INFER_BOUND_MEMORY, /* reading weights */
	INFER_BOUND_KV,
	INFER_BOUND_COMPUTE,
	INFER_BOUND_LINK,    /* between accelerators, or between them and the host */
	INFER_BOUND_RUNTIME, /* barriers, drawing, rows that one thread computes */
	INFER_BOUND_SCHEDULER,
	INFER_BOUND_COUNT
};
const char *infer_bound_name(int bound); /* "memory"; static */

/* Where and how the model runs. */
enum infer_split { INFER_SPLIT_NONE, INFER_SPLIT_TENSOR, INFER_SPLIT_PIPELINE, INFER_SPLIT_EXPERT };
struct infer_setup {
	int k_type, v_type;
	int32_t threads; /* 0: all */
	/* the part of the layers on accelerators, 0 ... 1, on how many of them, and how it is cut */
	double gpu_part;
	int32_t gpus;
	int split; /* enum infer_split */
};
struct infer_step_time {
	double weight_bytes, kv_bytes, ops;
	double limit; /* seconds: the least */
	int limit_by; /* enum infer_bound */
	int partial;  /* 1: arithmetic is not described, so the limit is that of memory alone */
	double total; /* seconds: predicted; 0: nothing is known about the efficiency */
	int total_by; /* what takes the largest part of it */
	double part[INFER_BOUND_COUNT]; /* seconds of total */
};
void infer_step_time(struct infer_step_time *t, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_setup *how,
                     const struct infer_load *l);

/* ---- a plan ---- */
struct infer_plan_ask {
	int32_t ctx, users, prompt, output; /* tokens; ctx 0: prompt + output */
	int32_t shared;                     /* tokens that all prompts begin with */
	int32_t chunk;                      /* most prompt tokens of a step; 0: 512 */
	double ttft_ms, tpot_ms;            /* wanted; 0: no matter */
	uint64_t budget_bytes;              /* memory; 0: what the machine has */
	double price;                       /* of the machine for an hour; 0: unknown */
	struct infer_setup how;
};
/* Bytes that the engine's own plan counts; of accelerators what follows from the shape. */
struct infer_plan_need {
	double weights, kv, workspace, process; /* kv: of all users */
	double host, gpu;                       /* the same by place; gpu: of each */
	double host_there, gpu_there;
	/* what a run on the host comes to touch: of the weights not all rows of the table, of the
	 * workspace not what is there for other steps; the most memory that the process has */
	double peak;
	int fits;
};
struct infer_plan {
	struct infer_plan_need need;
	struct infer_step_time prefill, decode, alone; /* decode: all users in a step; alone: one */
	double prefill_tok_s, decode_tok_s, all_tok_s; /* predicted; of one user, of one, of all */
	double limit_prefill_tok_s, limit_decode_tok_s, limit_all_tok_s;
	double ttft_ms, ttft_alone_ms, tpot_ms, request_ms;
	/* of tpot_ms: while the scheduler lets prompts of other users be read; and what takes the
	 * largest part of it (enum infer_bound) */
	double tpot_prompts_ms;
	int tpot_by;
	int32_t users_memory;  /* that fit */
	int32_t users_latency; /* of them, as many as what is wanted allows; -1: none is predicted */
	double prefix_ms;      /* that sharing saves each request */
	double prefix_bytes;   /* and of the cache, of all users */
	double cost;           /* of a million tokens of output, with their prompts; 0: unknown */
	int slower;            /* 0: a request takes longer in prefill, 1: in decode */
};
/* need: what the engine says for the host (infer_plan_engine); NULL: estimated from the shape, and no
 * peak. */
void infer_plan_make(struct infer_plan *p, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_plan_ask *ask,
                     const struct infer_engine_need *need);
/* Memory of the engine for an ask, as it would be opened; errors as infer_engine_need. */
int infer_plan_engine(struct infer_engine_need *need, const infer_model *model,
                      const struct infer_plan_ask *ask, int32_t threads, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
