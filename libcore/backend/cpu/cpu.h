/* backend/cpu/cpu.h (private) - the CPU backend: a plan is a list of steps.
 *
 * A step is one or a few parallel regions. The nodes of a graph run in order.  Consecutive nodes
 * become one step if they need no barrier between them: element-wise operations and moves are a
 * chain that each row passes through independently, and matrix products with one source share their
 * tiles.  If a product reads its rows in another form (quantised activations), the chain before it
 * converts them, once for each source and form. */
#ifndef BACKEND_CPU_CPU_H
#define BACKEND_CPU_CPU_H
#include "backend/backend.h"
#include "backend/check.h"
#include "backend/cpu/adapt.h"
#include "backend/cpu/cache.h"
#include "backend/cpu/job.h"
#include "base/ahead.h"
#include "base/pool.h"
#include "kern/kern.h"
#include "kern/dispatch.h"

struct backend {
	struct pool *pool; /* borrowed from the host */
	struct kern kern;  /* a copy of the host's table */
};
struct backend_weights {
	const struct weight *at;
	int n;
};
enum cpu_step_kind { CPU_ROWS, CPU_MM, CPU_ATTN, CPU_MOE, CPU_STATE, CPU_HEADS };
struct cpu_step {
	uint8_t kind, rows;  /* enum cpu_step_kind, graph_rows */
	int32_t first, n;    /* nodes [first, first + n) */
	int32_t act, n_acts; /* CPU_ROWS: cpu_acts that the chain writes after its nodes */
	int64_t work;        /* CPU_ROWS: floats computed for a row */
};

/* The value of a node in the form that a product reads: written by step `from`, last read by step
 * `to`. */
struct cpu_act {
	int32_t node, from, to;
	int type;       /* weight type whose kernels convert the rows */
	uint64_t types; /* weight types that read it, one bit each */
	enum kern_form form;
	size_t offset;
	struct kern_act x;
};

/* Rows of one sequence that attention processes together, with the splits [s0, s1) of the context
 * that they attend to.  A task computes kv KV heads with all their query heads, or q query heads of
 * one KV head. */
struct cpu_block {
	int32_t run, row, n, s0, s1, kv, q;
	int64_t first, slot;
};

/* The pairs (row, chosen expert) of a step, sorted by expert; allocated for the most rows. */
struct cpu_moe {
	int32_t *count;      /* [experts + 1] first pair of an expert */
	int32_t *row, *slot; /* [pair] row; [row][rank] pair */
	/* rows for gate and up, also as f32 if adapters read them; rows for down */
	void *in[KERN_FORMS], *mid[KERN_FORMS];
	float *gate, *up, *out; /* [pairs][ff] twice, [pairs][cols] */
};

struct backend_plan {
	struct backend *b;
	struct backend_model m;
	struct backend_size size;
	struct cpu_step *steps;
	int n_steps;
	struct cpu_act *acts;
	int n_acts;
	int32_t *stage; /* [nodes] index of the step that runs it */
	size_t *offset; /* [nodes] offset of its value in `values` */
	struct backend_checked checked;
	struct cpu_job *jobs;
	int max_jobs;
	size_t value_bytes, act_bytes;
	unsigned char *mem;
	size_t bytes;
	/* parts of mem: see layout.c */
	unsigned char *values, *act_mem, *scratch;
	size_t scratch_bytes;  /* scratch of one thread */
	float *cs[2];          /* [rows][half][2] cos and sin, by frequency table */
	int32_t *pos, *run_of; /* [rows] position; index of its run */
	float *part_m, *part_l,
		*part_o; /* partial attention: [slots][heads] twice, [slots][heads * dv] */
	int64_t slots;
	struct cpu_block *blocks; /* [rows] blocks of a wave */
	struct cpu_moe moe;
	struct ahead *ahead;          /* prefetches weights during the first step, or NULL */
	void *heads;                  /* HEAD_MM: converted rows, if the form is not f32 */
	struct kern_act *head_acts;   /* HEAD_MM: rows of each head */
	struct cpu_adapt adapt;       /* what adapters add */
	const struct backend_step *s; /* the running step, or NULL */
};

/* ---- act.c: kernels and forms of rows ---- */

/* True if the kernel set multiplies weights of this type; others are decoded to f32 first. */
int cpu_has_loops(const struct backend *b, int type);
/* Return the kernels for weights of this type: its own, or those of f32. */
const struct kern_mm *cpu_mm(const struct backend *b, int type);
/* Return the kernels of a float type that read f32 rows, also if the others read BF16; NULL: none. */
const struct kern_mm *cpu_plain_mm(const struct backend *b, int type);
/* True if a product of m rows with weights of a type reads a transposed copy of the rows. */
int cpu_transposed(const struct backend *b, int type, int m);
/* Find the act of a node in the given form, or in the form that weights of `type` read.  NULL:
 * there is none; products read the value itself. */
struct cpu_act *cpu_act_of_form(const struct backend_plan *p, int32_t node, enum kern_form form);
const struct cpu_act *cpu_act_find(const struct backend_plan *p, int32_t node, int type);

/* ---- plan.c: see struct backend_kind ---- */

int cpu_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
             const struct backend_size *size, infer_error *err);
int cpu_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
             const struct backend_model *m, const struct backend_size *size, infer_error *err);
void cpu_plan_free(struct backend_plan *p);

/* ---- layout.c ---- */

/* A block of memory that is handed out from its start.  base NULL: only count the bytes. */
struct cpu_space {
	unsigned char *base;
	size_t used;
	int bad; /* 1: the sizes overflow */
};
/* Take n elements of `size` bytes, aligned to a cache line.  NULL if base is NULL or bad is set. */
void *cpu_space_take(struct cpu_space *s, size_t n, size_t size);
/* Compute the offsets of values and acts from the steps of the plan.  INFER_ENOMEM. */
int cpu_place(struct backend_plan *p, infer_error *err);
/* Take all parts of the workspace from s and set their pointers in p. */
void cpu_layout(struct backend_plan *p, struct cpu_space *s);
/* Poison the memory after each result of a step.  Call before the step runs. */
void cpu_fences(const struct backend_plan *p, const struct cpu_step *step);

static inline const struct graph_node *cpu_node(const struct backend_plan *p, int32_t i)
{
	return &p->m.graph->nodes[i];
}
/* Return a row of the value of a node. */
static inline float *cpu_value(const struct backend_plan *p, int32_t node, int32_t row)
{
	float *first = (float *)(void *)(p->values + p->offset[node]);

	return first + (size_t)row * (size_t)cpu_node(p, node)->cols;
}
/* Return the number of rows of the running step, by enum graph_rows. */
static inline int32_t cpu_rows(const struct backend_plan *p, int rows)
{
	return rows == GRAPH_OUT ? p->s->n_out : p->s->n;
}

/* ---- run.c ---- */

int cpu_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err);
int cpu_end(struct backend_plan *p, struct backend_result *r, infer_error *err);
/* Run one step of the plan for p->s. */
void cpu_step_run(struct backend_plan *p, const struct cpu_step *step);

/* ---- other steps: the scratch of a worker, and how to run and observe a node ---- */

void cpu_mm_run(struct backend_plan *p, const struct cpu_step *step);
size_t cpu_attn_scratch(const struct backend_plan *p, const struct graph_node *n);
void cpu_attn_run(struct backend_plan *p, int32_t node);
size_t cpu_state_scratch(const struct graph_node *n);
void cpu_state_run(struct backend_plan *p, int32_t node);
void cpu_heads_run(struct backend_plan *p, int32_t node);
size_t cpu_route_scratch(const struct backend_plan *p, const struct graph_node *n);
void cpu_moe_run(struct backend_plan *p, int32_t node);
/* Pass the rows that the products of a node have read to the observer of the step. */
void cpu_heads_show(const struct backend_plan *p, int32_t node);
void cpu_moe_show(const struct backend_plan *p, int32_t node);
#endif
