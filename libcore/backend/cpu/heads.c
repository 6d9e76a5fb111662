/* backend/cpu/heads.c - HEAD_MM: each head of a row is multiplied by its own matrix.
 *
 * The heads are the jobs of one region, like the experts of moe.c, but each job has all rows. */
#include "backend/cpu/cpu.h"

#include <string.h>

struct heads {
	struct backend_plan *p;
	const struct weight *w;
	const float *x;
	float *y;
	int heads, rows, in, out; /* in, out: columns of a head */
	struct kern_act act;      /* [head][row] converted rows; unused for f32 */
};

/* Convert the heads of a row to the form that the product reads, and copy their remaining
 * columns. */
static void prepare_head_row(void *user, int64_t row, int worker)
{
	struct heads *t = user;
	int k = (int)t->w->ne[0], n = (int)t->w->ne[1];

	(void)worker;
	for (int h = 0; h < t->heads; h++) {
		const float *x =
			t->x + ((size_t)row * (size_t)t->heads + (size_t)h) * (size_t)t->in;
		float *y = t->y + ((size_t)row * (size_t)t->heads + (size_t)h) * (size_t)t->out;
		if (t->act.form != KERN_FORM_F32)
			cpu_mm(t->p->b, t->w->type)->quant(&t->act, h * t->rows + (int)row, x, k);
		memcpy(y + n, x + k, (size_t)(t->in - k) * sizeof *y);
	}
}

static void prepare_head_rows(struct heads *t)
{
	if (t->act.form == KERN_FORM_F32 && t->in == t->w->ne[0])
		return;
	if (t->rows == 1)
		prepare_head_row(t, 0, 0);
	else
		pool_run(t->p->b->pool, t->rows, prepare_head_row, t);
}

/* Return the rows of a head as f32, in place. */
static struct kern_act head_rows(const struct heads *t, int h)
{
	return (struct kern_act){ .form = KERN_FORM_F32,
		                  .q = (float *)(uintptr_t)t->x + (size_t)h * (size_t)t->in,
		                  .q_row = (size_t)(t->in * t->heads) * sizeof(float) };
}

void cpu_heads_run(struct backend_plan *p, int32_t node)
{
	const struct graph_node *n = cpu_node(p, node);
	const struct weight *w = &p->m.weights[n->w[0]];
	struct heads t = { .p = p,
		           .w = w,
		           .x = cpu_value(p, n->src[0], 0),
		           .y = cpu_value(p, node, 0),
		           .heads = n->head_mm.heads,
		           .rows = cpu_rows(p, n->rows),
		           .in = cpu_node(p, n->src[0])->cols / n->head_mm.heads,
		           .out = n->cols / n->head_mm.heads };
	enum kern_form form = cpu_mm(p->b, w->type)->form;

	t.act.form = (uint8_t)form;
	if (form != KERN_FORM_F32)
		kern_act_init(&t.act, form, p->heads, t.rows * t.heads, (int)w->ne[0]);
	prepare_head_rows(&t);
	/* f32 rows are read in place: one kern_act a head, with the address of the head */
	for (int h = 0; h < t.heads; h++) {
		struct kern_act *x = &p->head_acts[h];
		*x = t.act;
		if (form == KERN_FORM_F32)
			*x = head_rows(&t, h);
		p->jobs[h] = (struct cpu_job){ .type = w->type,
			                       .n = (int)w->ne[1],
			                       .k = (int)w->ne[0],
			                       .m = t.rows,
			                       .x_row = form == KERN_FORM_F32 ? 0 : h * t.rows,
			                       .w = w->at[h],
			                       .weight = n->w[0],
			                       .bias_weight = -1,
			                       .matrix = h,
			                       .out = n->rows == GRAPH_OUT,
			                       .in = head_rows(&t, h),
			                       .row_bytes = w->row_bytes,
			                       .x = x,
			                       .y = t.y + (size_t)h * (size_t)t.out,
			                       .ldy = (size_t)n->cols,
			                       .mul = 1,
			                       .scale = w->scale };
	}
	cpu_products_run(p, p->jobs, t.heads);
}

void cpu_heads_show(const struct backend_plan *p, int32_t node)
{
	const struct backend_observer *o = p->s->observer;
	const struct graph_node *n = cpu_node(p, node);
	size_t cols = (size_t)cpu_node(p, n->src[0])->cols;

	for (int h = 0; h < n->head_mm.heads; h++)
		o->fn(o->user, n->w[0], h,
		      cpu_value(p, n->src[0], 0) + (size_t)h * (cols / (size_t)n->head_mm.heads),
		      cols, NULL, cpu_rows(p, n->rows), (int)p->m.weights[n->w[0]].ne[0]);
}
