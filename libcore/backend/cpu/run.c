/* backend/cpu/run.c - run a step of the model: compute positions and RoPE tables, then run the
 * steps of the plan in order. */
#include "backend/cpu/row_op.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"
#include "base/redzone.h"
#include "kern/kv.h"
#include "type/type.h"

#include <string.h>

/* floats below which one thread runs a chain faster than two */
enum { SMALL = 8 << 10 };

/* Return the row of the table that the node looks up: token id, position or segment. */
static int32_t table_row(const struct row_op *o, const struct weight *table)
{
	const struct backend_run *run = &o->p->s->runs[o->p->run_of[o->row]];
	int32_t pos = o->p->pos[o->row];

	if (o->n->embed.index == GRAPH_TOKEN_ID)
		return o->p->s->ids[o->row];
	if (o->n->embed.index == GRAPH_POSITION)
		return pos;
	return (int32_t)num_min(run->second && pos >= run->second, table->ne[1] - 1);
}

static void run_embed(const struct row_op *o)
{
	const int on = o->p->adapt.on;
	const struct weight *w =
		on ? cpu_adapt_table(o->p, o->n->w[0], o->row) : &o->p->m.weights[o->n->w[0]];
	const struct type *t = type_get(w->type);
	float mul = (o->n->embed.mul == 0 ? 1 : o->n->embed.mul) * w->scale;
	int32_t id = table_row(o, w);

	t->decode(o->y, (const unsigned char *)w->at[0] + (size_t)id * w->row_bytes,
	          (size_t)(o->n->cols / t->info.block));
	if (on)
		cpu_adapt_look(o->p, o->n->w[0], o->row, id, o->y, o->scratch);
	if (mul != 1)
		o->k->scale(o->y, o->y, mul, o->n->cols);
}

static void run_norm(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	const float *gain = row_op_weight(o, 0), *bias = row_op_weight(o, 1), *x = o->a;
	float *y = o->y;
	int cols = n->norm.first ? n->norm.first : n->cols / n->norm.groups,
	    step = gain && o->p->m.weights[n->w[0]].ne[1] > 1 ? cols : 0; /* a gain a group */

	if (n->norm.first && y != x)
		memcpy(y + cols, x + cols, (size_t)(n->cols - cols) * sizeof *y);
	for (int i = 0; i < n->norm.groups; i++)
		if (n->norm.centred)
			o->k->layer_norm(y + i * cols, x + i * cols, gain, bias, cols, n->norm.eps);
		else
			o->k->rms_norm(y + i * cols, x + i * cols, gain ? gain + i * step : NULL,
			               cols, n->norm.eps);
}

static void run_rope(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	int table = n->rope.table, half = o->p->m.ropes[table].half;
	const float *cs = o->p->cs[table] + (size_t)o->row * 2 * (size_t)half;

	if (o->y != o->a)
		memcpy(o->y, o->a, (size_t)n->cols * sizeof(float));
	(n->rope.halves ? o->k->rope_halves : o->k->rope_pairs)(
		o->y + n->rope.from, cs, n->rope.heads, n->rope.dk, n->rope.rot);
}

static void run_kv_put(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	const struct backend_step *s = o->p->s;
	const struct backend_kv_layer *l = &s->kv->layers[n->kv_put.layer];
	const struct backend_cache *c = s->kv->caches[l->group];
	int32_t pos = o->p->pos[o->row];
	uint32_t page = s->runs[o->p->run_of[o->row]].pages[l->group][pos / KERN_PAGE];
	int at = pos % KERN_PAGE;

	must(page != BACKEND_NO_PAGE);
	unsigned char *base = cpu_kv_page(c, l, page);
	for (int h = 0; h < n->kv_put.heads; h++) {
		kern_k_put(o->k, base + (size_t)h * c->k_head, c->k_type, at,
		           o->a + h * n->kv_put.dk, n->kv_put.dk);
		if (n->kv_put.mla)
			continue;
		kern_v_put(o->k, base + c->v_at + (size_t)h * c->v_head, c->v_type, at,
		           o->b + h * n->kv_put.dv, n->kv_put.dv);
	}
}

static void run_gate(const struct row_op *o)
{
	int cols = o->n->cols;

	if (cpu_node(o->p, o->n->src[1])->cols == 1)
		o->k->scale(o->y, o->a, o->n->gate.no_sigmoid ? *o->b : fm_sigmoidf(*o->b), cols);
	else if (o->n->gate.no_sigmoid)
		for (int i = 0; i < cols; i++)
			o->y[i] = o->a[i] * o->b[i];
	else
		o->k->sigmoid_mul(o->y, o->a, o->b, cols);
}

static void run_attn_temp(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	int steps = (o->p->pos[o->row] + n->attn_temp.from) / n->attn_temp.length;

	o->k->scale(o->y, o->a, (float)(1 + (double)n->attn_temp.beta * fm_log(1 + steps)),
	            n->cols);
}

static void run_scale(const struct row_op *o)
{
	const float *by = row_op_weight(o, 0);
	int one = by && o->p->m.weights[o->n->w[0]].ne[0] == 1;

	o->k->scale(o->y, o->a, one ? o->n->scale.mul * by[0] : o->n->scale.mul, o->n->cols);
	for (int i = 0; by && !one && i < o->n->cols; i++)
		o->y[i] *= by[i];
}

/* Return this row of the buffer of an edge. */
static float *edge_row(const struct row_op *o, int32_t edge, int cols)
{
	return o->p->s->edges[edge] + (size_t)o->row * (size_t)cols;
}

static void run_recv(const struct row_op *o)
{
	memcpy(o->y, edge_row(o, o->n->recv.edge, o->n->cols), (size_t)o->n->cols * sizeof *o->y);
}

static void run_send(const struct row_op *o)
{
	int cols = cpu_node(o->p, o->n->src[0])->cols;

	memcpy(edge_row(o, o->n->send.edge, cols), o->a, (size_t)cols * sizeof *o->a);
}

static void run_get_rows(const struct row_op *o)
{
	memcpy(o->y, cpu_value(o->p, o->n->src[0], o->p->s->out[o->row]),
	       (size_t)o->n->cols * sizeof *o->y);
}

static void run_silu_mul(const struct row_op *o) { o->k->silu_mul(o->y, o->a, o->b, o->n->cols); }

static void run_gelu(const struct row_op *o) { o->k->gelu_erf_mul(o->y, o->a, NULL, o->n->cols); }

static void run_gelu_mul(const struct row_op *o)
{
	(o->n->gelu_mul.erf ? o->k->gelu_erf_mul : o->k->gelu_mul)(o->y, o->a, o->b, o->n->cols);
}

/* Element-wise operations and moves; other kinds are steps of their own (plan.c). */
static void (*const row_ops[])(const struct row_op *o) = {
#define run_add cpu_run_add
#define run_gauss_topk cpu_run_gauss_topk
#define run_slice cpu_run_slice
#define run_permute cpu_run_permute
#define run_altup_mix cpu_run_altup_mix
#define run_altup_rescale cpu_run_altup_rescale
#define run_route cpu_run_route
#define RUN_ELEMENT(member) run_##member
#define RUN_MOVE(member) run_##member
#define RUN_PRODUCT(member) NULL
#define RUN_ATTENTION(member) NULL
#define RUN_STATE(member) NULL
#define OP(name, member, kind, n_src, n_w, cols, over) [GRAPH_##name] = RUN_##kind(member),
#include "graph/op_list.h"
};

static void run_row_op(const struct backend_plan *p, int32_t i, int32_t row, void *scratch)
{
	const struct graph_node *n = cpu_node(p, i);
	struct row_op o = { .p = p, .k = &p->b->kern, .n = n, .row = row, .scratch = scratch };

	o.y = n->cols ? cpu_value(p, i, row) : NULL;
	o.a = n->src[0] < 0 || n->op == GRAPH_GET_ROWS ? NULL : cpu_value(p, n->src[0], row);
	o.b = n->src[1] < 0 ? NULL : cpu_value(p, n->src[1], row);
	o.c = n->src[2] < 0 ? NULL : cpu_value(p, n->src[2], row);
	row_ops[n->op](&o);
}

struct chain {
	struct backend_plan *p;
	const struct cpu_step *step;
};

static void chain_row(void *user, int64_t row, int worker)
{
	const struct chain *c = user;
	struct backend_plan *p = c->p;

	for (int32_t i = 0; i < c->step->n; i++)
		run_row_op(p, c->step->first + i, (int32_t)row,
		           p->scratch + (size_t)worker * p->scratch_bytes);
	for (int32_t i = c->step->act; i < c->step->act + c->step->n_acts; i++) {
		struct cpu_act *a = &p->acts[i];
		p->b->kern.mm[a->type].quant(&a->x, (int)row, cpu_value(p, a->node, (int32_t)row),
		                             cpu_node(p, a->node)->cols);
	}
}

/* columns (of 16 rows) that a thread transposes at a time */
enum { TRANSPOSE_COLS = 512 };

static int64_t transpose_parts(const struct backend_plan *p, const struct cpu_act *a)
{
	return (cpu_node(p, a->node)->cols + TRANSPOSE_COLS - 1) / TRANSPOSE_COLS;
}

struct transpose {
	struct backend_plan *p;
	struct cpu_act *a;
	int32_t rows;
};

static void transpose_part(void *user, int64_t i, int worker)
{
	const struct transpose *t = user;
	const struct kern_mm *mm = cpu_mm(t->p->b, t->a->type);
	int k = cpu_node(t->p, t->a->node)->cols;
	int64_t parts = transpose_parts(t->p, t->a), row = i / parts * KERN_LANES,
		from = i % parts * TRANSPOSE_COLS;

	(void)worker;
	mm->transpose(&t->a->x, (int)row, (int)num_min(KERN_LANES, t->rows - row), k, (int)from,
	              (int)num_min(from + TRANSPOSE_COLS, k));
}

static int needs_transpose(const struct backend *b, const struct cpu_act *a, int rows)
{
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (a->types >> t & 1 && cpu_transposed(b, t, rows))
			return 1;
	return 0;
}

/* Make the transposed copies that products read.  All rows must be complete, since 16 of them share
 * each cache line. */
static void transpose_acts(struct backend_plan *p, const struct cpu_step *step, int32_t rows)
{
	for (int32_t i = step->act; i < step->act + step->n_acts; i++) {
		struct cpu_act *a = &p->acts[i];
		struct transpose t = { p, a, rows };
		if (a->x.transposed && needs_transpose(p->b, a, rows))
			pool_run(p->b->pool,
			         (rows + KERN_LANES - 1) / KERN_LANES * transpose_parts(p, a),
			         transpose_part, &t);
	}
}

static void run_chain(struct backend_plan *p, const struct cpu_step *step)
{
	struct chain c = { p, step };
	int32_t rows = cpu_rows(p, step->rows);

	if (rows > 1 && rows * step->work > SMALL) {
		pool_run(p->b->pool, rows, chain_row, &c);
	} else {
		for (int32_t i = 0; i < rows; i++)
			chain_row(&c, i, 0);
	}
	transpose_acts(p, step, rows);
}

static void fill_rope_tables(void *user, int64_t row, int worker)
{
	const struct backend_plan *p = user;

	(void)worker;
	for (int t = 0; t < p->m.n_ropes; t++) {
		const struct backend_rope *r = &p->m.ropes[t];
		float *cs = p->cs[t] + (size_t)row * 2 * (size_t)r->half;
		for (int i = 0; i < r->half; i++) {
			double angle = p->pos[row] * r->freq[i];
			cs[2 * i] = (float)(fm_cos(angle) * r->mscale);
			cs[2 * i + 1] = (float)(fm_sin(angle) * r->mscale);
		}
	}
}

int cpu_begin(struct backend_plan *p, const struct backend_step *s, infer_error *err)
{
	TRY(backend_check_step(&p->checked, &p->size, s, err));
	TRY(backend_check_wants(s, "cpu", 0, err));
	p->s = s;
	return INFER_OK;
}

/* Estimate the operations of a step, for progress reports. */
static uint64_t count_ops(const struct backend_plan *p, const struct cpu_step *step)
{
	int64_t rows = cpu_rows(p, step->rows), sum = 0;
	const struct backend_run *last = &p->s->runs[p->s->n_runs - 1];

	for (int32_t i = step->first; i < step->first + step->n; i++) {
		const struct graph_node *n = cpu_node(p, i);

		if (n->op == GRAPH_MM)
			sum += 2 * p->m.weights[n->w[0]].ne[0] * n->cols;
		else if (n->op == GRAPH_HEAD_MM)
			sum += 2 * p->m.weights[n->w[0]].ne[0] * p->m.weights[n->w[0]].ne[1] *
			       n->head_mm.heads;
		else if (n->op == GRAPH_MOE)
			sum += (int64_t)6 * n->moe.used * n->moe.ff * n->cols;
		else if (n->op == GRAPH_ATTN)
			sum += (int64_t)2 * (last->pos + last->n) * n->attn.heads *
			       (n->attn.dk + n->attn.dv);
		else if (n->op == GRAPH_GATED_DELTA)
			sum += (int64_t)7 * n->gated_delta.dk * n->cols;
		else
			sum += (int64_t)4 * n->cols;
	}
	return (uint64_t)(sum * rows);
}

/* Pass the rows that the products of a step have read to the observer. */
static void show_products(const struct backend_plan *p, const struct cpu_step *step)
{
	const struct backend_observer *o = p->s->observer;

	for (int32_t i = step->first; i < step->first + step->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		int32_t k;

		if (n->op == GRAPH_MOE)
			cpu_moe_show(p, i);
		if (n->op == GRAPH_HEAD_MM)
			cpu_heads_show(p, i);
		if (n->op != GRAPH_MM)
			continue;
		k = cpu_node(p, n->src[0])->cols;
		o->fn(o->user, n->w[0], 0, cpu_value(p, n->src[0], 0), (size_t)k, NULL,
		      cpu_rows(p, step->rows), k);
	}
}

void cpu_step_run(struct backend_plan *p, const struct cpu_step *step)
{
	if (REDZONE)
		cpu_fences(p, step);
	switch ((enum cpu_step_kind)step->kind) {
	case CPU_ROWS:
		run_chain(p, step);
		break;
	case CPU_MM:
		cpu_mm_run(p, step);
		break;
	case CPU_ATTN:
		cpu_attn_run(p, step->first);
		break;
	case CPU_MOE:
		cpu_moe_run(p, step->first);
		break;
	case CPU_STATE:
		cpu_state_run(p, step->first);
		break;
	case CPU_HEADS:
		cpu_heads_run(p, step->first);
		break;
	}
	if (p->s->observer)
		show_products(p, step);
}

/* True if all output rows are HIDDEN, so that the logits are not computed. */
static int skips_logits(const struct backend_plan *p, const struct backend_step *s)
{
	int32_t i = 0;

	if (!s->want || !s->n_out || p->m.graph->hidden < 0 || p->m.graph->output < 0)
		return 0;
	while (i < s->n_out && s->want[i] == BACKEND_HIDDEN)
		i++;
	return i == s->n_out;
}

/* Do all work of the step; the calling thread is one of the workers. */
int cpu_end(struct backend_plan *p, struct backend_result *r, infer_error *err)
{
	const struct backend_step *s = p->s;
	uint64_t done = 0, all = 0;
	int brief = skips_logits(p, s);

	*r = (struct backend_result){ 0 };
	must(s);
	for (int i = 0; s->watch && i < p->n_steps; i++)
		all += count_ops(p, &p->steps[i]);
	for (int32_t i = 0; i < s->n_runs; i++)
		for (int32_t k = 0; k < s->runs[i].n; k++) {
			p->pos[s->runs[i].row + k] = s->runs[i].pos + k;
			p->run_of[s->runs[i].row + k] = i;
		}
	cpu_adapt_begin(p);
	if (s->n > 1)
		pool_run(p->b->pool, s->n, fill_rope_tables, p);
	else
		fill_rope_tables(p, 0, 0);
	for (int i = 0; i < p->n_steps; i++) {
		const struct cpu_step *step = &p->steps[i];
		if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
			return err_set(err, INFER_ECANCEL, "the step was stopped");
		if (!cpu_rows(p, step->rows) || (brief && step->first > p->m.graph->hidden))
			continue;
		ahead_reach(p->ahead, i);
		cpu_step_run(p, step);
		if (s->watch)
			s->watch->fn(s->watch->user, done += count_ops(p, step), all);
	}
	if (s->n_out && p->m.graph->output >= 0 && !brief)
		r->logits = cpu_value(p, p->m.graph->output, 0);
	if (s->n_out && p->m.graph->hidden >= 0)
		r->hidden = cpu_value(p, p->m.graph->hidden, 0);
	p->s = NULL;
	return INFER_OK;
}
