/* backend/cpu/layout.c - the workspace of a plan, one block of memory.  The same functions count
 * its bytes and hand out its parts.
 *
 *   mem                                                                              mem + bytes
 *   | values | acts | cos sin | pos, run_of | attention | experts | heads | adapters |
 *   | scratch of workers |
 *
 *   values     what nodes compute, f32 [rows][cols]
 *                | x | h = norm x | q | k | v | ...      a value reuses the space of a dead one, or
 *                | x |   gate |   up   |                 overwrites its source if op_list.h allows
 *   acts       rows in the forms that products read, placed by lifetime like values; each is
 *              | rows | their transposed copy, if the kernel set reads it |
 *   cos sin    [rows][half][2] of each frequency table
 *   pos ...    position and run of each row
 *   attention  | m | l | o | partial results of a wave, by (row, split); blocks of rows
 *   experts    inputs of gate, up and down, by (row, expert) pair; lists of pairs; gate, up, out
 *   heads      [head][row] of HEAD_MM, in the form that the product reads
 *   adapters   t = A x of the jobs of a step; jobs (adapt.c); only if the plan has a rank
 *   scratch    of each worker, for one item of work
 *
 * Every part begins at a multiple of ALIGN.  Under the address sanitizer a red zone follows each
 * part, value, act and scratch (base/redzone.h).  Before a step runs, the memory after the actual
 * rows of each of its results is poisoned. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/redzone.h"

enum {
	ALIGN = 64,
	/* approximate memory for the partial results of a wave of attention */
	PART_BYTES = 16 << 20,
};

void *cpu_space_take(struct cpu_space *s, size_t n, size_t size)
{
	size_t bytes, at = s->used;

	if (num_mul(&bytes, n, size) || bytes > SIZE_MAX / 4 ||
	    num_add(&s->used, s->used, num_round_up(bytes, ALIGN) + REDZONE)) {
		s->bad = 1;
		s->used = at;
		return NULL;
	}
	if (!s->base)
		return NULL;
	redzone_set(s->base + at + bytes, s->used - at - bytes);
	return s->base + at;
}

/* Bytes of the transposed copy of `a` in steps of up to `rows` rows. */
static size_t transposed_bytes(const struct backend_plan *p, const struct cpu_act *a, int rows)
{
	int most = 0;

	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (a->types >> t & 1)
			most = (int)num_max(most, kern_transposed_max(cpu_mm(p->b, t), rows));
	return kern_transposed_bytes(a->form, most, cpu_node(p, a->node)->cols);
}

int cpu_place(struct backend_plan *p, infer_error *err)
{
	struct graph_span *span;
	int rc;

	TRY(graph_place(p->m.graph, p->stage, p->size.rows, p->size.out, REDZONE, p->offset,
	                &p->value_bytes, err));
	span = mem_alloc(MEM_BACKEND, (size_t)p->n_acts + 1, sizeof *span);
	if (!span)
		return err_set(err, INFER_ENOMEM, "out of memory while placing %d activations",
		               p->n_acts);
	for (int i = 0; i < p->n_acts; i++) {
		const struct graph_node *n = cpu_node(p, p->acts[i].node);
		int rows = n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
		span[i] = (struct graph_span){
			.from = p->acts[i].from,
			.to = p->acts[i].to,
			.bytes = kern_act_bytes(p->acts[i].form, rows, n->cols) +
			         transposed_bytes(p, &p->acts[i], rows) + REDZONE
		};
	}
	rc = graph_place_spans(span, p->n_acts, &p->act_bytes, err);
	for (int i = 0; i < p->n_acts && !rc; i++)
		p->acts[i].offset = span[i].offset;
	mem_free(span);
	return rc;
}

static void lay_acts(struct backend_plan *p, struct cpu_space *s)
{
	unsigned char *at = p->act_mem = cpu_space_take(s, p->act_bytes, 1);

	for (int i = 0; i < p->n_acts && at; i++) {
		const struct graph_node *n = cpu_node(p, p->acts[i].node);
		struct cpu_act *a = &p->acts[i];
		int rows = n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
		kern_act_init(&a->x, a->form, at + a->offset, rows, n->cols);
		if (transposed_bytes(p, a, rows))
			a->x.transposed = at + a->offset + kern_act_bytes(a->form, rows, n->cols);
	}
}

/* Memory for partial results: the (row, split) slots that fit PART_BYTES, but at least those of one
 * row over the whole context. */
static void lay_attention(struct backend_plan *p, struct cpu_space *s)
{
	int64_t splits = (p->size.ctx - 1) / KERN_SPLIT + 1, heads = 0, width = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		if (n->op != GRAPH_ATTN)
			continue;
		heads = num_max(heads, n->attn.heads);
		width = num_max(width, n->cols);
	}
	if (!heads)
		return;
	p->slots = num_max(splits,
	                   num_min(p->size.rows * splits, PART_BYTES / ((width + 2 * heads) * 4)));
	p->part_m = cpu_space_take(s, (size_t)(p->slots * heads), sizeof(float));
	p->part_l = cpu_space_take(s, (size_t)(p->slots * heads), sizeof(float));
	p->part_o = cpu_space_take(s, (size_t)(p->slots * width), sizeof(float));
	p->blocks = cpu_space_take(s, (size_t)p->size.rows, sizeof *p->blocks);
}

static void lay_moe(struct backend_plan *p, struct cpu_space *s)
{
	int64_t pairs = 0, experts = 0, cols = 0, ff = 0, rows = p->size.rows;
	size_t in[KERN_FORMS] = { 0 }, mid[KERN_FORMS] = { 0 };
	struct cpu_moe *m = &p->moe;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		if (n->op != GRAPH_MOE)
			continue;
		pairs = num_max(pairs, rows * n->moe.used);
		experts = num_max(experts, p->m.weights[n->w[0]].n);
		cols = num_max(cols, n->cols);
		ff = num_max(ff, n->moe.ff);
		for (int w = 0; w < 3; w++) {
			enum kern_form form = cpu_mm(p->b, p->m.weights[n->w[w]].type)->form;
			size_t *most = w < 2 ? &in[form] : &mid[form];
			size_t bytes = kern_act_bytes(form, (int)(rows * n->moe.used),
			                              w < 2 ? n->cols : n->moe.ff);
			*most = bytes > *most ? bytes : *most;
		}
	}
	if (!pairs)
		return;
	if (p->size.rank) { /* the largest of a form: its rows are cols wide */
		size_t bytes = kern_act_bytes(KERN_FORM_F32, (int)pairs, (int)cols);

		in[KERN_FORM_F32] = bytes > in[KERN_FORM_F32] ? bytes : in[KERN_FORM_F32];
	}
	for (int f = 0; f < KERN_FORMS; f++) {
		m->in[f] = cpu_space_take(s, in[f], 1);
		m->mid[f] = cpu_space_take(s, mid[f], 1);
	}
	m->count = cpu_space_take(s, (size_t)experts + 1, sizeof *m->count);
	m->row = cpu_space_take(s, (size_t)pairs, sizeof *m->row);
	m->slot = cpu_space_take(s, (size_t)pairs, sizeof *m->slot);
	m->gate = cpu_space_take(s, (size_t)(pairs * ff), sizeof(float));
	m->up = cpu_space_take(s, (size_t)(pairs * ff), sizeof(float));
	m->out = cpu_space_take(s, (size_t)(pairs * cols), sizeof(float));
}

static void lay_heads(struct backend_plan *p, struct cpu_space *s)
{
	size_t most = 0, heads = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		if (n->op != GRAPH_HEAD_MM)
			continue;
		heads = (size_t)num_max((int64_t)heads, n->head_mm.heads);
		const struct weight *w = &p->m.weights[n->w[0]];
		enum kern_form form = cpu_mm(p->b, w->type)->form;
		size_t bytes = form == KERN_FORM_F32
		                       ? 0
		                       : kern_act_bytes(form, p->size.rows * n->head_mm.heads,
		                                        (int)w->ne[0]);
		most = bytes > most ? bytes : most;
	}
	p->heads = most ? cpu_space_take(s, most, 1) : NULL;
	p->head_acts = heads ? cpu_space_take(s, heads, sizeof *p->head_acts) : NULL;
}

static size_t scratch_bytes(const struct backend_plan *p)
{
	size_t most = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		size_t bytes = n->op == GRAPH_ATTN    ? cpu_attn_scratch(p, n)
		               : n->op == GRAPH_ROUTE ? cpu_route_scratch(p, n)
		                                      : cpu_state_scratch(n);
		most = bytes > most ? bytes : most;
		int weights = n->op == GRAPH_MOE                            ? 3
		              : n->op == GRAPH_MM || n->op == GRAPH_HEAD_MM ? 1
		                                                            : 0;
		for (int w = 0; w < weights; w++) {
			const struct weight *m = &p->m.weights[n->w[w]];
			bytes = cpu_tile_scratch(p->b, m->type, m->ne[0]);
			most = bytes > most ? bytes : most;
		}
		bytes = cpu_adapt_scratch(p, n);
		most = bytes > most ? bytes : most;
	}
	return num_round_up(most, ALIGN);
}

void cpu_layout(struct backend_plan *p, struct cpu_space *s)
{
	size_t rows = (size_t)p->size.rows;

	p->values = cpu_space_take(s, p->value_bytes, 1);
	lay_acts(p, s);
	for (int i = 0; i < p->m.n_ropes; i++)
		p->cs[i] = cpu_space_take(s, rows * 2 * (size_t)p->m.ropes[i].half, sizeof(float));
	p->pos = cpu_space_take(s, rows, sizeof *p->pos);
	p->run_of = cpu_space_take(s, rows, sizeof *p->run_of);
	lay_attention(p, s);
	lay_moe(p, s);
	lay_heads(p, s);
	cpu_adapt_lay(p, s);
	p->scratch_bytes = scratch_bytes(p) + REDZONE;
	p->scratch = cpu_space_take(s, (size_t)pool_threads(p->b->pool), p->scratch_bytes);
	for (int i = 0; i < pool_threads(p->b->pool) && p->scratch && REDZONE; i++)
		redzone_set(p->scratch + (size_t)(i + 1) * p->scratch_bytes - REDZONE, REDZONE);
}

/* Allow writes to `bytes` bytes at `at`, and poison the memory after them up to the end of the red
 * zone, which follows `most` bytes. */
static void set_fence(unsigned char *at, size_t bytes, size_t most)
{
	redzone_clear(at, bytes);
	redzone_set(at + bytes, most - bytes + REDZONE);
}

void cpu_fences(const struct backend_plan *p, const struct cpu_step *step)
{
	for (int32_t i = step->first; i < step->first + step->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		size_t row = (size_t)n->cols * sizeof(float);
		if (row)
			set_fence(p->values + p->offset[i], (size_t)cpu_rows(p, n->rows) * row,
			          (size_t)(n->rows == GRAPH_OUT ? p->size.out : p->size.rows) *
			                  row);
	}
	for (int i = step->act; i < step->act + step->n_acts; i++) {
		const struct cpu_act *a = &p->acts[i];
		const struct graph_node *n = cpu_node(p, a->node);
		int rows = n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
		size_t bytes =
			kern_act_bytes(a->form, rows, n->cols) + transposed_bytes(p, a, rows);
		set_fence(p->act_mem + a->offset, bytes, bytes);
	}
}
