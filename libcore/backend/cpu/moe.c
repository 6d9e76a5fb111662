/* backend/cpu/moe.c - mixture of experts.  The router chooses some experts for each row.  The rows
 * of an expert are multiplied by its matrices like any product.  Each row sums the results of its
 * experts in the order of rank.  Only weights of chosen experts are read. Shazeer+ 2017,
 * arXiv:1701.06538; Mixtral: Jiang+ 2024, arXiv:2401.04088 */
#include "backend/cpu/row_op.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"

#include <string.h>

/* Compute y = softmax(x), summed in ascending order, or sigmoid(x). */
static void score_experts(float *y, const float *x, int n, int sigmoid)
{
	float most = x[0], sum = 0;

	if (sigmoid) {
		for (int i = 0; i < n; i++)
			y[i] = fm_sigmoidf(x[i]);
		return;
	}
	for (int i = 1; i < n; i++)
		most = x[i] > most ? x[i] : most;
	for (int i = 0; i < n; i++) {
		y[i] = fm_expf(x[i] - most);
		sum += y[i];
	}
	for (int i = 0; i < n; i++)
		y[i] /= sum;
}

/* Return the index of the highest of n scores; ties: the lower index. Experts already chosen have
 * score NaN. */
static int find_best(const float *score, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (score[i] > score[best] || (isnan(score[best]) && !isnan(score[i])))
			best = i;
	return best;
}

/* Set to NaN the scores of experts outside the groups_used best groups.  The score of a group is
 * the sum of its group_best best experts, best first.  room: scratch for groups + experts / groups
 * floats. */
static void keep_groups(const struct graph_node *n, float *score, int experts, float *room)
{
	int groups = n->route.groups, each = experts / groups;
	float *of = room, *left = room + groups;

	for (int g = 0; g < groups; g++) {
		memcpy(left, score + g * each, (size_t)each * sizeof *left);
		of[g] = 0;
		for (int i = 0; i < n->route.group_best; i++) {
			int best = find_best(left, each);
			of[g] += left[best];
			left[best] = NAN;
		}
	}
	for (int i = 0; i < n->route.groups_used; i++) {
		int best = find_best(of, groups);
		of[best] = NAN;
	}
	for (int g = 0; g < groups; g++)
		for (int e = 0; e < each && !isnan(of[g]); e++)
			score[g * each + e] = NAN;
}

/* Scratch: probabilities, scores of the experts not yet chosen, and the room of keep_groups. */
size_t cpu_route_scratch(const struct backend_plan *p, const struct graph_node *n)
{
	return 4 * (size_t)cpu_node(p, n->src[0])->cols * sizeof(float);
}

void cpu_run_route(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	const float *bias = row_op_weight(o, 0), *own = row_op_weight(o, 1), *x = o->a;
	int experts = cpu_node(o->p, n->src[0])->cols, used = n->route.used;
	float *prob = o->scratch, *left = prob + experts, *y = o->y, sum = 0,
	      mul = n->route.mul == 0 ? 1 : n->route.mul;

	/* Sigmoids of large logits round to one value, so compare the logits themselves. */
	int by_logit = n->route.sigmoid && n->route.groups < 2;

	score_experts(prob, x, experts, n->route.sigmoid);
	for (int e = 0; e < experts; e++)
		left[e] = bias ? prob[e] + bias[e] : by_logit ? x[e] : prob[e];
	if (n->route.groups > 1)
		keep_groups(n, left, experts, prob + 2 * experts);
	for (int r = 0; r < used; r++) {
		int best = find_best(left, experts);
		left[best] = NAN;
		y[r] = (float)best;
		y[used + r] = prob[best];
		sum += prob[best];
	}
	for (int r = 0; r < used; r++)
		y[used + r] = (n->route.norm ? y[used + r] / sum : y[used + r]) *
		              (own ? mul * own[(int)y[r]] : mul);
}

struct moe {
	struct backend_plan *p;
	const struct graph_node *n;
	int32_t node, rows, used, pairs;
	struct kern_act in[KERN_FORMS], mid[KERN_FORMS];
	int adapted; /* 1: adapters read the inputs of gate or up as f32 */
};

/* Return the form of rows that the products with weight w0, w1 or w2 read. */
static enum kern_form expert_form(const struct moe *m, int slot)
{
	return cpu_mm(m->p->b, m->p->m.weights[m->n->w[slot]].type)->form;
}

/* Sort the pairs (row, rank of expert) by expert, then by row. */
static void sort_pairs(const struct moe *m)
{
	struct cpu_moe *o = &m->p->moe;
	int experts = m->p->m.weights[m->n->w[0]].n;

	memset(o->count, 0, ((size_t)experts + 1) * sizeof *o->count);
	for (int32_t r = 0; r < m->rows; r++)
		for (int i = 0; i < m->used; i++)
			o->count[(int)cpu_value(m->p, m->n->src[1], r)[i] + 1]++;
	for (int e = 0; e < experts; e++)
		o->count[e + 1] += o->count[e];
	for (int32_t r = 0; r < m->rows; r++)
		for (int i = 0; i < m->used; i++) {
			int32_t pair = o->count[(int)cpu_value(m->p, m->n->src[1], r)[i]]++;
			o->row[pair] = r;
			o->slot[r * m->used + i] = pair;
		}
	for (int e = experts; e; e--) /* count[e] is the end of e's pairs: make it the start */
		o->count[e] = o->count[e - 1];
	o->count[0] = 0;
}

static void copy_row(struct kern_act *to, int32_t a, const struct kern_act *from, int32_t b)
{
	memcpy((char *)to->q + (size_t)a * to->q_row,
	       (const char *)from->q + (size_t)b * from->q_row,
	       from->q_row < to->q_row ? from->q_row : to->q_row);
}

/* Copy the row of a pair to the inputs of gate and up. */
static void gather_pair(void *user, int64_t pair, int worker)
{
	struct moe *m = user;
	int32_t src = m->n->src[0];

	(void)worker;
	for (int s = 0; s < 2; s++) {
		enum kern_form f = expert_form(m, s);
		const struct cpu_act *a = cpu_act_find(m->p, src, m->p->m.weights[m->n->w[s]].type);
		struct kern_act direct = { .q = cpu_value(m->p, src, 0),
			                   .q_row = (size_t)m->n->cols * sizeof(float) };
		if (!s || f != expert_form(m, 0))
			copy_row(&m->in[f], (int32_t)pair, a ? &a->x : &direct,
			         m->p->moe.row[pair]);
		if (!s && m->adapted)
			copy_row(&m->in[KERN_FORM_F32], (int32_t)pair, &direct,
			         m->p->moe.row[pair]);
	}
}

/* Return the router's weight of a pair. */
static float pair_weight(const struct moe *m, int64_t pair)
{
	int32_t row = m->p->moe.row[pair], rank = 0;

	while (m->p->moe.slot[row * m->used + rank] != pair)
		rank++;
	return cpu_value(m->p, m->n->src[1], row)[m->used + rank];
}

/* Compute act(gate, up) of a pair in the form that down reads. */
static void activate_pair(void *user, int64_t pair, int worker)
{
	struct moe *m = user;
	const struct kern *k = &m->p->b->kern;
	int type = m->p->m.weights[m->n->w[2]].type, ff = m->n->moe.ff;
	float *g = m->p->moe.gate + (size_t)pair * (size_t)ff;
	float *u = m->p->moe.up + (size_t)pair * (size_t)ff;

	(void)worker;
	if (m->n->moe.weight_before_ffn) {
		k->scale(g, g, pair_weight(m, pair), ff);
		k->scale(u, u, pair_weight(m, pair), ff);
	}
	if (m->n->moe.act == GRAPH_ACT_SWIGLU)
		k->swiglu_mul(g, g, u, m->n->moe.limit, ff);
	else
		(m->n->moe.act == GRAPH_ACT_GELU ? k->gelu_mul : k->silu_mul)(g, g, u, ff);
	cpu_mm(m->p->b, type)->quant(&m->mid[expert_form(m, 2)], (int)pair, g, ff);
}

static void sum_experts(void *user, int64_t row, int worker)
{
	const struct moe *m = user;
	const float *weights = cpu_value(m->p, m->n->src[1], (int32_t)row) + m->used;
	float *y = cpu_value(m->p, m->node, (int32_t)row);

	(void)worker;
	memset(y, 0, (size_t)m->n->cols * sizeof(float));
	for (int i = 0; i < m->used; i++)
		m->p->b->kern.add_scaled(y, y,
		                         m->p->moe.out + (size_t)m->p->moe.slot[row * m->used + i] *
		                                                 (size_t)m->n->cols,
		                         m->n->moe.weight_before_ffn ? 1 : weights[i], m->n->cols);
}

/* Set the bias of an expert for weight s. */
static void set_expert_bias(struct cpu_job *j, const struct moe *m, int s, int expert)
{
	const struct weight *w;

	j->bias_weight = m->n->w[3 + s];
	if (j->bias_weight < 0)
		return;
	w = &m->p->m.weights[j->bias_weight];
	j->bias_at = (size_t)expert * (size_t)w->ne[0];
	j->bias = (const float *)w->at[0] + j->bias_at;
}

/* Return the rows of gate and up (s < 2) or down as f32, by pair. */
static struct kern_act plain_rows(const struct moe *m, int s)
{
	return s < 2 ? m->in[KERN_FORM_F32]
	             : (struct kern_act){ .form = KERN_FORM_F32,
		                          .q = m->p->moe.gate,
		                          .q_row = (size_t)m->n->moe.ff * sizeof(float) };
}

/* Run the products of all chosen experts with weights [from, to), one job each. */
static void multiply_experts(struct moe *m, int from, int to)
{
	struct backend_plan *p = m->p;
	int jobs = 0, experts = p->m.weights[m->n->w[0]].n;

	for (int e = 0; e < experts; e++) {
		int32_t first = p->moe.count[e], rows = p->moe.count[e + 1] - first;
		for (int s = from; s < to && rows; s++) {
			const struct weight *w = &p->m.weights[m->n->w[s]];
			float *y = s == 0 ? p->moe.gate : s == 1 ? p->moe.up : p->moe.out;
			struct cpu_job *j = &p->jobs[jobs++];
			*j = (struct cpu_job){ .type = w->type,
				               .n = (int)w->ne[1],
				               .k = (int)w->ne[0],
				               .m = rows,
				               .x_row = first,
				               .w = w->at[e],
				               .weight = m->n->w[s],
				               .matrix = e,
				               .rows = p->moe.row,
				               .from = first,
				               .out = m->n->rows == GRAPH_OUT,
				               .in = plain_rows(m, s),
				               .in_row = first,
				               .row_bytes = w->row_bytes,
				               .x = s < 2 ? &m->in[expert_form(m, s)]
				                          : &m->mid[expert_form(m, s)],
				               .y = y + (size_t)first * (size_t)w->ne[1],
				               .ldy = (size_t)w->ne[1],
				               .mul = 1,
				               .scale = w->scale };
			set_expert_bias(j, m, s, e);
		}
	}
	cpu_products_run(p, p->jobs, jobs);
}

void cpu_moe_run(struct backend_plan *p, int32_t node)
{
	const struct graph_node *n = cpu_node(p, node);
	struct moe m = {
		.p = p, .n = n, .node = node, .rows = cpu_rows(p, n->rows), .used = n->moe.used
	};

	m.pairs = m.rows * m.used;
	m.adapted = cpu_adapt_touches(p, n->w[0]) || cpu_adapt_touches(p, n->w[1]);
	for (int s = 0; s < 3; s++) {
		enum kern_form f = expert_form(&m, s);
		if (s < 2)
			kern_act_init(&m.in[f], f, p->moe.in[f], m.pairs, n->cols);
		else
			kern_act_init(&m.mid[f], f, p->moe.mid[f], m.pairs, n->moe.ff);
	}
	if (m.adapted)
		kern_act_init(&m.in[KERN_FORM_F32], KERN_FORM_F32, p->moe.in[KERN_FORM_F32],
		              m.pairs, n->cols);
	sort_pairs(&m);
	pool_run(p->b->pool, m.pairs, gather_pair, &m);
	multiply_experts(&m, 0, 2);
	pool_run(p->b->pool, m.pairs, activate_pair, &m);
	multiply_experts(&m, 2, 3);
	pool_run(p->b->pool, m.rows, sum_experts, &m);
}

void cpu_moe_show(const struct backend_plan *p, int32_t node)
{
	const struct backend_observer *o = p->s->observer;
	const struct graph_node *n = cpu_node(p, node);
	int32_t src = n->src[0], k = cpu_node(p, src)->cols, ff = n->moe.ff;

	for (int e = 0; e < p->m.weights[n->w[0]].n; e++) {
		int32_t first = p->moe.count[e], rows = p->moe.count[e + 1] - first;

		if (!rows)
			continue;
		for (int s = 0; s < 2; s++)
			o->fn(o->user, n->w[s], e, cpu_value(p, src, 0), (size_t)k,
			      p->moe.row + first, rows, k);
		o->fn(o->user, n->w[2], e, p->moe.gate + (size_t)first * (size_t)ff, (size_t)ff,
		      NULL, rows, ff);
	}
}
