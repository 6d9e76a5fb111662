/* backend/cpu/cpu.h (private) - inside the CPU backend: a plan is a list of steps, each one
 * parallel region or a few.
 *
 * Nodes run in the order of the graph.  Neighbours become one step where that needs no barrier: row
 * operations as a chain that each row goes through by itself, matrix products with one source as
 * the union of their tiles.  What a product reads in another form (quantised activations) is made
 * at the end of the chain before it, once per source. */
#ifndef BACKEND_CPU_CPU_H
#define BACKEND_CPU_CPU_H
#include "backend/backend.h"
#include "backend/check.h"
#include "backend/cpu/cache.h"
#include "base/ahead.h"
#include "base/pool.h"
#include "kern/kern.h"
#include "kern/dispatch.h"

struct backend { /* pool: borrowed from the host; kern: a copy of its table */
	struct pool *pool;
	struct kern kern;
};
struct backend_weights {
	const struct weight *at;
	int n;
};
enum cpu_step_kind { CPU_ROWS, CPU_MM, CPU_ATTN, CPU_MOE, CPU_STATE, CPU_HEADS };
struct cpu_step {
	uint8_t kind, rows;  /* enum cpu_step_kind, graph_rows */
	int32_t first, n;    /* nodes */
	int32_t act, n_acts; /* CPU_ROWS: forms to make once the nodes are done */
	int64_t work;        /* CPU_ROWS: floats that a row goes through */
};

/* A value in the form a product reads: made by one step, read by later ones. */
struct cpu_act {
	int32_t node, from, to;
	int type;       /* weight type; its kernels quantise and transpose the rows */
	uint64_t types; /* of the weights that read it, a bit each */
	enum kern_form form;
	size_t offset;
	struct kern_act x;
};

/* y[m][n] = x W^T, then scale, bias and cap. It is cut into items: blocks of weight rows; where
 * these are too few for the threads, x rows are cut too. */
struct cpu_job {
	int type, n, k, m, x_row;
	const unsigned char *w;
	size_t row_bytes;
	const struct kern_act *x;
	float *y;
	size_t ldy;
	const float *bias;    /* [n] or NULL */
	float mul, cap;       /* 1, 0: none */
	int block;            /* weight rows of an item */
	int parts, part_rows; /* of x rows */
	int tiled, transposed;
	int64_t first;             /* number of its first item */
	const unsigned char *then; /* the next weights in order of reading, or NULL */
	int64_t then_bytes;
};

/* Rows of one sequence that go through attention together, the splits they see, and what a task
 * takes: kv KV heads and all that share them, or q query heads of one. */
struct cpu_block {
	int32_t run, row, n, s0, s1, kv, q;
	int64_t first, slot;
};

/* Pairs (row, expert) of a step, by expert; sized for all rows. */
struct cpu_moe {
	int32_t *count;                         /* [experts + 1] first pair of each expert */
	int32_t *row, *slot;                    /* [pairs] row of a pair; pair of [row][rank] */
	void *in[KERN_FORMS], *mid[KERN_FORMS]; /* rows of pairs, for gate and up; for down */
	float *gate, *up, *out;                 /* [pairs][ff] twice, [pairs][cols] */
};

struct backend_plan {
	struct backend *b;
	struct backend_model m;
	struct backend_size size;
	struct cpu_step *steps;
	int n_steps;
	struct cpu_act *acts;
	int n_acts;
	int32_t *stage; /* [nodes] step of a node */
	size_t *offset; /* [nodes] in values */
	struct backend_checked checked;
	struct cpu_job *jobs;
	int max_jobs;
	size_t value_bytes, act_bytes;
	unsigned char *mem;
	size_t bytes;
	/* parts of mem */
	unsigned char *values, *act_mem, *scratch;
	size_t scratch_bytes;            /* of one thread */
	float *cs[2];                    /* [rows][half][2] of each frequency table */
	int32_t *pos, *run_of;           /* [rows] */
	float *part_m, *part_l, *part_o; /* [slots][heads], again, [slots][heads * dv] */
	int64_t slots;
	struct cpu_block *blocks; /* [rows] */
	struct cpu_moe moe;
	struct ahead *ahead;        /* reads the weights of the first step, or NULL */
	void *heads;                /* rows of a product by heads in another form than f32 */
	struct kern_act *head_acts; /* of each of its jobs */
	/* of the step that runs */
	const struct backend_step *s;
};

/* plan.c */
int cpu_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
             const struct backend_size *size, infer_error *err);
int cpu_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
             const struct backend_model *m, const struct backend_size *size, infer_error *err);
void cpu_plan_free(struct backend_plan *p);
/* threads that read the weights of products ahead of the first step, in its order; or NULL */
struct ahead *cpu_ahead(const struct backend_plan *p);
/* NULL: read as it is */
const struct cpu_act *cpu_act_find(const struct backend_plan *p, int32_t node, int type);

/* layout.c: hand out parts of one block; with base NULL it only counts */
int cpu_place(struct backend_plan *p, infer_error *err);
struct cpu_space {
	unsigned char *base;
	size_t used;
	int bad;
};
void *cpu_space_take(struct cpu_space *s, size_t n, size_t size);
void cpu_layout(struct backend_plan *p, struct cpu_space *s);
void cpu_fences(const struct backend_plan *p, const struct cpu_step *step); /* before it runs */

static inline const struct graph_node *cpu_node(const struct backend_plan *p, int32_t i)
{
	return &p->m.graph->nodes[i];
}
static inline float *cpu_value(const struct backend_plan *p, int32_t node, int32_t row)
{
	float *first = (float *)(void *)(p->values + p->offset[node]);

	return first + (size_t)row * (size_t)cpu_node(p, node)->cols;
}
static inline int32_t cpu_rows(const struct backend_plan *p, int rows)
{
	return rows == GRAPH_OUT ? p->s->n_out : p->s->n;
}

/* run.c */
int cpu_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err);
int cpu_end(struct backend_plan *p, struct backend_result *r, infer_error *err);
/* Run one step of the plan, for p->s. */
void cpu_step_run(struct backend_plan *p, const struct cpu_step *step);
/* tile.c: whether products of m rows of x with weights of a type read the transposed copy of x */
int cpu_transposed(const struct backend *b, int type, int m);
/* the loops for a type: its own or F32's */
const struct kern_mm *cpu_mm(const struct backend *b, int type);
/* cut the jobs into items and run all of these as one region */
void cpu_jobs_run(struct backend_plan *p, struct cpu_job *jobs, int n);
size_t cpu_tile_scratch(const struct backend *b, int type, int64_t k);
void cpu_mm_run(struct backend_plan *p, const struct cpu_step *step);
/* attn.c */
size_t cpu_attn_scratch(const struct backend_plan *p, const struct graph_node *n);
void cpu_attn_run(struct backend_plan *p, int32_t node);
/* state.c: CONV and DELTA */
size_t cpu_state_scratch(const struct graph_node *n);
void cpu_state_run(struct backend_plan *p, int32_t node);
/* heads.c */
void cpu_heads_run(struct backend_plan *p, int32_t node);
void cpu_heads_show(const struct backend_plan *p, int32_t node);
/* moe.c */
size_t cpu_route_scratch(const struct backend_plan *p, const struct graph_node *n);
void cpu_route_row(const struct backend_plan *p, int32_t node, int32_t row, float *scratch);
/* ADD, CUT, PART, MIX, LEVEL */
void cpu_pieces_row(const struct backend_plan *p, int32_t node, int32_t row);
/* what its products have read, by expert */
void cpu_moe_show(const struct backend_plan *p, int32_t node);
void cpu_moe_run(struct backend_plan *p, int32_t node);
#endif
