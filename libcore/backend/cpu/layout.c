/* What one block of memory holds for a plan.  The same walk counts the bytes and hands them out. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum {
	ALIGN = 64,
	PART_BYTES = 16
	             /* partial results of attention that are kept before they are merged, about */
	             << 20,
};

void *cpu_space_take(struct cpu_space *s, size_t n, size_t size)
{
	size_t bytes, at = s->used;

	if (num_mul(&bytes, n, size) || bytes > SIZE_MAX / 4 ||
	    num_add(&s->used, s->used, num_round_up(bytes, ALIGN))) {
		s->bad = 1;
		s->used = at;
		return NULL;
	}
	return s->base ? s->base + at : NULL;
}

/* of the turned copy of a form, for steps of few rows, or of any number */
static size_t turned_bytes(const struct backend_plan *p, const struct cpu_act *a, int rows)
{
	int most = 0;

	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct kern_mm *mm = cpu_mm(p->b, t);
		if (a->types >> t & 1)
			most = mm->tile_turned                ? rows
			       : mm->few && most < CPU_TURNED ? CPU_TURNED
			                                      : most;
	}
	return kern_turned_bytes(a->form, (int)num_min(rows, most), cpu_node(p, a->node)->cols);
}

/* Offsets of values and of activations in other forms; both follow from the steps. */
int cpu_place(struct backend_plan *p, infer_error *err)
{
	struct graph_span *span;
	int rc;

	TRY(graph_place(p->m.graph, p->stage, p->size.rows, p->size.out, p->offset, &p->value_bytes,
	                err));
	span = mem_alloc(MEM_BACKEND, (size_t)p->n_acts + 1, sizeof(*span));
	if (!span)
		return err_set(err, INFER_ENOMEM, "no memory to place %d activations", p->n_acts);
	for (int i = 0; i < p->n_acts; i++) {
		const struct graph_node *n = cpu_node(p, p->acts[i].node);
		int rows = n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
		span[i] = (struct graph_span){ .from = p->acts[i].from,
			                       .to = p->acts[i].to,
			                       .bytes = kern_act_bytes(p->acts[i].form, rows,
			                                               n->cols) +
			                                turned_bytes(p, &p->acts[i], rows) };
	}
	rc = graph_place_spans(span, p->n_acts, &p->act_bytes, err);
	for (int i = 0; i < p->n_acts && !rc; i++)
		p->acts[i].offset = span[i].offset;
	mem_free(span);
	return rc;
}

static void lay_acts(struct backend_plan *p, struct cpu_space *s)
{
	unsigned char *at = cpu_space_take(s, p->act_bytes, 1);

	for (int i = 0; i < p->n_acts && at; i++) {
		const struct graph_node *n = cpu_node(p, p->acts[i].node);
		struct cpu_act *a = &p->acts[i];
		int rows = n->rows == GRAPH_OUT ? p->size.out : p->size.rows;
		kern_act_init(&a->x, a->form, at + a->offset, rows, n->cols);
		if (turned_bytes(p, a, rows))
			a->x.turned = at + a->offset + kern_act_bytes(a->form, rows, n->cols);
	}
}

/* Partial results: as many (row, split) slots as the budget takes, at least those of one row over
 * the whole context. */
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
	p->blocks = cpu_space_take(s, (size_t)p->size.rows, sizeof(*p->blocks));
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
	for (int f = 0; f < KERN_FORMS; f++) {
		m->in[f] = cpu_space_take(s, in[f], 1);
		m->mid[f] = cpu_space_take(s, mid[f], 1);
	}
	m->count = cpu_space_take(s, (size_t)experts + 1, sizeof(*m->count));
	m->row = cpu_space_take(s, (size_t)pairs, sizeof(*m->row));
	m->slot = cpu_space_take(s, (size_t)pairs, sizeof(*m->slot));
	m->gate = cpu_space_take(s, (size_t)(pairs * ff), sizeof(float));
	m->up = cpu_space_take(s, (size_t)(pairs * ff), sizeof(float));
	m->out = cpu_space_take(s, (size_t)(pairs * cols), sizeof(float));
}

static size_t scratch_bytes(const struct backend_plan *p)
{
	size_t most = 0;

	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		size_t bytes = n->op == GRAPH_ATTN    ? cpu_attn_scratch(n)
		               : n->op == GRAPH_ROUTE ? cpu_route_scratch(p, n)
		                                      : 0;
		most = bytes > most ? bytes : most;
		for (int w = 0; w < (n->op == GRAPH_MM ? 1 : n->op == GRAPH_MOE ? 3 : 0); w++) {
			const struct weight *m = &p->m.weights[n->w[w]];
			bytes = cpu_tile_scratch(p->b, m->type, m->ne[0]);
			most = bytes > most ? bytes : most;
		}
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
	p->pos = cpu_space_take(s, rows, sizeof(*p->pos));
	p->run_of = cpu_space_take(s, rows, sizeof(*p->run_of));
	lay_attention(p, s);
	lay_moe(p, s);
	p->scratch_bytes = scratch_bytes(p);
	p->scratch = cpu_space_take(s, (size_t)pool_threads(p->b->pool), p->scratch_bytes);
}
