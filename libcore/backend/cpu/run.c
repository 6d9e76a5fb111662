/* backend/cpu/run.c - a step of the model: positions and rotations first, then the steps of the
 * plan in order. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"
#include "base/redzone.h"
#include "kern/kv.h"
#include "type/type.h"

#include <string.h>

/* below this many floats a chain is quicker on one thread than on two */
enum { SMALL = 8 << 10 };

static void embed(const struct backend_plan *p, const struct graph_node *n, float *y, int32_t row)
{
	const struct weight *w = &p->m.weights[n->w[0]];
	const struct type *t = type_get(w->type);
	float mul = (n->embed.mul == 0 ? 1 : n->embed.mul) * w->scale;
	const struct backend_run *run = &p->s->runs[p->run_of[row]];
	int32_t at =
		n->embed.index == 0 ? p->s->ids[row]
		: n->embed.index == 1
			? p->pos[row]
			: (int32_t)num_min(run->second && p->pos[row] >= run->second, w->ne[1] - 1);

	t->decode(y, (const unsigned char *)w->at[0] + (size_t)at * w->row_bytes,
	          (size_t)(n->cols / t->info.block));
	if (mul != 1)
		p->b->kern.scale(y, y, mul, n->cols);
}

static void norm(const struct backend_plan *p, const struct graph_node *n, float *y, const float *x)
{
	const float *gain = n->w[0] < 0 ? NULL : p->m.weights[n->w[0]].at[0],
		    *bias = n->w[1] < 0 ? NULL : p->m.weights[n->w[1]].at[0];
	int cols = n->norm.first ? n->norm.first : n->cols / n->norm.groups,
	    step = gain && p->m.weights[n->w[0]].ne[1] > 1 ? cols : 0; /* its own for each group */

	if (n->norm.first && y != x)
		memcpy(y + cols, x + cols, (size_t)(n->cols - cols) * sizeof *y);
	for (int i = 0; i < n->norm.groups; i++)
		if (n->norm.centred)
			p->b->kern.layer_norm(y + i * cols, x + i * cols, gain, bias, cols,
			                      n->norm.eps);
		else
			p->b->kern.rms_norm(y + i * cols, x + i * cols,
			                    gain ? gain + i * step : NULL, cols, n->norm.eps);
}

static void rope(const struct backend_plan *p, const struct graph_node *n, float *y, const float *x,
                 int32_t row)
{
	int table = n->rope.table, half = p->m.ropes[table].half;
	const float *cs = p->cs[table] + (size_t)row * 2 * (size_t)half;

	if (y != x)
		memcpy(y, x, (size_t)n->cols * sizeof(float));
	(n->rope.halves ? p->b->kern.rope_halves : p->b->kern.rope_pairs)(
		y + n->rope.from, cs, n->rope.heads, n->rope.dk, n->rope.rot);
}

static void kv_put(const struct backend_plan *p, const struct graph_node *n, const float *k,
                   const float *v, int32_t row)
{
	const struct backend_kv_layer *l = &p->s->kv->layers[n->kv_put.layer];
	const struct backend_cache *c = p->s->kv->caches[l->group];
	const struct backend_run *run = &p->s->runs[p->run_of[row]];
	uint32_t page = run->pages[l->group][p->pos[row] / KERN_PAGE];
	int at = p->pos[row] % KERN_PAGE;

	must(page != BACKEND_NO_PAGE);
	unsigned char *base = cpu_kv_page(c, l, page);
	for (int h = 0; h < n->kv_put.heads; h++) {
		kern_k_put(&p->b->kern, base + (size_t)h * c->k_head, c->k_type, at,
		           k + h * n->kv_put.dk, n->kv_put.dk);
		if (n->kv_put.mla)
			continue;
		kern_v_put(&p->b->kern, base + c->v_at + (size_t)h * c->v_head, c->v_type, at,
		           v + h * n->kv_put.dv, n->kv_put.dv);
	}
}

static void gate(const struct backend_plan *p, const struct graph_node *n, float *y, const float *x,
                 const float *by)
{
	int one = cpu_node(p, n->src[1])->cols == 1;

	if (one)
		p->b->kern.scale(y, x, n->gate.no_sigmoid ? *by : fm_sigmoidf(*by), n->cols);
	else if (n->gate.no_sigmoid)
		for (int i = 0; i < n->cols; i++)
			y[i] = x[i] * by[i];
	else
		p->b->kern.sigmoid_mul(y, x, by, n->cols);
}

/* By a number, or a vector; or as a query grows with the position. */
static void scale(const struct backend_plan *p, const struct graph_node *n, float *y,
                  const float *x, int pos)
{
	const struct weight *w = n->w[0] < 0 ? NULL : &p->m.weights[n->w[0]];
	const float *by = w ? w->at[0] : NULL;
	float mul = w && w->ne[0] == 1 ? n->scale.mul * by[0] : n->scale.mul;

	if (n->op == GRAPH_ATTN_TEMP)
		mul = (float)(1 +
		              (double)n->attn_temp.beta *
		                      fm_log(1 + (pos + n->attn_temp.from) / n->attn_temp.length));
	p->b->kern.scale(y, x, mul, n->cols);
	for (int i = 0; w && w->ne[0] > 1 && i < n->cols; i++)
		y[i] *= by[i];
}

static float *edge_row(const struct backend_plan *p, int32_t edge, int cols, int32_t row)
{
	return p->s->edges[edge] + (size_t)row * (size_t)cols;
}

/* A row over an edge: in to y, or out from x. */
static void cross(const struct backend_plan *p, const struct graph_node *n, float *y,
                  const float *x, int32_t row)
{
	int cols = y ? n->cols : cpu_node(p, n->src[0])->cols;

	if (y)
		memcpy(y, edge_row(p, n->recv.edge, cols, row), (size_t)cols * sizeof *y);
	else
		memcpy(edge_row(p, n->send.edge, cols, row), x, (size_t)cols * sizeof *x);
}

static void activate(const struct kern *k, const struct graph_node *n, float *y, const float *x,
                     const float *by)
{
	int erf = n->op == GRAPH_GELU || n->gelu_mul.erf;

	(n->op == GRAPH_SILU_MUL ? k->silu_mul
	 : erf                   ? k->gelu_erf_mul
	                         : k->gelu_mul)(y, x, by, n->cols);
}

static void row_op(const struct backend_plan *p, int32_t i, int32_t row, void *scratch)
{
	const struct graph_node *n = cpu_node(p, i);
	const struct kern *k = &p->b->kern;
	float *y = n->cols ? cpu_value(p, i, row) : NULL;
	const float *a =
		n->src[0] < 0 || n->op == GRAPH_GET_ROWS ? NULL : cpu_value(p, n->src[0], row);
	const float *b = n->src[1] < 0 ? NULL : cpu_value(p, n->src[1], row);

	switch ((enum graph_op)n->op) {
	case GRAPH_EMBED:
		embed(p, n, y, row);
		break;
	case GRAPH_NORM:
		norm(p, n, y, a);
		break;
	case GRAPH_ROPE:
		rope(p, n, y, a, row);
		break;
	case GRAPH_KV_PUT:
		kv_put(p, n, a, b, row);
		break;
	case GRAPH_ADD:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_SLICE:
	case GRAPH_PERMUTE:
	case GRAPH_ALTUP_MIX:
	case GRAPH_ALTUP_RESCALE:
		cpu_pieces_row(p, i, row);
		break;
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
		activate(k, n, y, a, b);
		break;
	case GRAPH_GATE:
		gate(p, n, y, a, b);
		break;
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
		scale(p, n, y, a, p->pos[row]);
		break;
	case GRAPH_RECV:
	case GRAPH_SEND:
		cross(p, n, y, a, row);
		break;
	case GRAPH_GET_ROWS:
		memcpy(y, cpu_value(p, n->src[0], p->s->out[row]), (size_t)n->cols * sizeof *y);
		break;
	case GRAPH_ROUTE:
		cpu_route_row(p, i, row, scratch);
		break;
	case GRAPH_MM:
	case GRAPH_HEAD_MM:
	case GRAPH_ATTN:
	case GRAPH_MOE:
	case GRAPH_CONV1D:
	case GRAPH_GATED_DELTA:
	case GRAPH_OPS:
		break; /* steps of their own: plan.c:kind_of */
	}
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
		row_op(p, c->step->first + i, (int32_t)row,
		       p->scratch + (size_t)worker * p->scratch_bytes);
	for (int32_t i = c->step->act; i < c->step->act + c->step->n_acts; i++) {
		struct cpu_act *a = &p->acts[i];
		p->b->kern.mm[a->type].quant(&a->x, (int)row, cpu_value(p, a->node, (int32_t)row),
		                             cpu_node(p, a->node)->cols);
	}
}

/* elements of k that a thread transposes at a time, in 16 rows */
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

/* Make the transposed copies that products read. All rows must be ready, since 16 of them share
 * each cache line. */
static void transpose_run(struct backend_plan *p, const struct cpu_step *step, int32_t rows)
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

static void rows_run(struct backend_plan *p, const struct cpu_step *step)
{
	struct chain c = { p, step };
	int32_t rows = cpu_rows(p, step->rows);

	if (rows > 1 && rows * step->work > SMALL) {
		pool_run(p->b->pool, rows, chain_row, &c);
	} else {
		for (int32_t i = 0; i < rows; i++)
			chain_row(&c, i, 0);
	}
	transpose_run(p, step, rows);
}

static void angles(void *user, int64_t row, int worker)
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

/* Operations of a step, about: shares of them tell how far the whole is. */
static uint64_t ops(const struct backend_plan *p, const struct cpu_step *step)
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

/* Show what the products of a step have read: the values are there until the next step. */
static void show(const struct backend_plan *p, const struct cpu_step *step)
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
		rows_run(p, step);
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
		show(p, step);
}

/* What every row wants is known before the last product, which is then left out. */
static int no_logits(const struct backend_plan *p, const struct backend_step *s)
{
	int32_t i = 0;

	if (!s->want || !s->n_out || p->m.graph->hidden < 0 || p->m.graph->output < 0)
		return 0;
	while (i < s->n_out && s->want[i] == BACKEND_HIDDEN)
		i++;
	return i == s->n_out;
}

/* The calling thread is one of the workers, so all work is done here. */
int cpu_end(struct backend_plan *p, struct backend_result *r, infer_error *err)
{
	const struct backend_step *s = p->s;
	uint64_t done = 0, all = 0;
	int brief = no_logits(p, s);

	*r = (struct backend_result){ 0 };
	must(s);
	for (int i = 0; s->watch && i < p->n_steps; i++)
		all += ops(p, &p->steps[i]);
	for (int32_t i = 0; i < s->n_runs; i++)
		for (int32_t k = 0; k < s->runs[i].n; k++) {
			p->pos[s->runs[i].row + k] = s->runs[i].pos + k;
			p->run_of[s->runs[i].row + k] = i;
		}
	if (s->n > 1)
		pool_run(p->b->pool, s->n, angles, p);
	else
		angles(p, 0, 0);
	for (int i = 0; i < p->n_steps; i++) {
		const struct cpu_step *step = &p->steps[i];
		if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
			return err_set(err, INFER_ECANCEL, "the step was stopped");
		if (!cpu_rows(p, step->rows) || (brief && step->first > p->m.graph->hidden))
			continue;
		ahead_reach(p->ahead, i);
		cpu_step_run(p, step);
		if (s->watch)
			s->watch->fn(s->watch->user, done += ops(p, step), all);
	}
	if (s->n_out && p->m.graph->output >= 0 && !brief)
		r->logits = cpu_value(p, p->m.graph->output, 0);
	if (s->n_out && p->m.graph->hidden >= 0)
		r->hidden = cpu_value(p, p->m.graph->hidden, 0);
	p->s = NULL;
	return INFER_OK;
}
