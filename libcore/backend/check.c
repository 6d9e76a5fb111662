/* backend/check.c - checks of graphs, weights and steps that all backends share. */
#include "backend/check.h"
#include "base/err.h"
#include "base/num.h"
#include "type/type.h"

struct scope {
	const struct backend_model *m;
	const struct backend_size *size;
};

static const struct graph_node *node_of(const struct scope *p, int32_t i)
{
	return &p->m->graph->nodes[i];
}

static int check_matrix(const struct scope *p, int32_t i, int slot, int64_t k, int64_t n,
                        infer_error *err)
{
	const struct graph_node *node = node_of(p, i);
	const struct weight *w = &p->m->weights[node->w[slot]];
	const struct type *t = type_get(w->type);

	if (!t || !t->decode || t->info.file_only)
		return err_set(err, INFER_EUNSUP,
		               "node %d (%s): weights of type %s are not supported", i,
		               graph_op_name(node->op), t ? t->info.name : "(unknown)");
	if (w->ne[0] != k || w->ne[1] != n || w->n < 1)
		return err_set(err, INFER_EINVAL,
		               "node %d (%s): its weight must be %lld x %lld, not %lld x %lld", i,
		               graph_op_name(node->op), (long long)k, (long long)n,
		               (long long)w->ne[0], (long long)w->ne[1]);
	return INFER_OK;
}

static int check_vector(const struct scope *p, int32_t i, int slot, int64_t n, infer_error *err)
{
	const struct graph_node *node = node_of(p, i);

	if (node->w[slot] < 0)
		return INFER_OK;
	const struct weight *w = &p->m->weights[node->w[slot]];
	if (w->type != INFER_F32 || w->ne[0] != n || (uintptr_t)w->at[0] % sizeof(float))
		return err_set(err, INFER_EINVAL,
		               "node %d (%s): its vector must be %lld aligned floats", i,
		               graph_op_name(node->op), (long long)n);
	return INFER_OK;
}

static int check_pair(const struct scope *p, int32_t i, int64_t n, infer_error *err)
{
	TRY(check_vector(p, i, 0, n, err));
	return check_vector(p, i, 1, n, err);
}

static int is_one(const struct scope *p, int32_t w)
{
	return w >= 0 && p->m->weights[w].ne[0] == 1;
}

static int check_moe(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	int experts = p->m->weights[n->w[0]].n;

	TRY(check_matrix(p, i, 0, n->cols, n->moe.ff, err));
	TRY(check_matrix(p, i, 1, n->cols, n->moe.ff, err));
	TRY(check_matrix(p, i, 2, n->moe.ff, n->cols, err));
	for (int s = 0; s < 3; s++)
		if (p->m->weights[n->w[s]].n != experts)
			return err_set(
				err, INFER_EINVAL,
				"node %d (MOE): its weights must have equal numbers of experts", i);
	for (int s = 3; s < 6; s++)
		if (n->w[s] >= 0) {
			const struct weight *w = &p->m->weights[n->w[s]];
			TRY(check_matrix(p, i, s, s == 5 ? n->cols : n->moe.ff, experts, err));
			if (w->type != INFER_F32 || (uintptr_t)w->at[0] % sizeof(float))
				return err_set(err, INFER_EUNSUP,
				               "node %d (MOE): its biases must be aligned floats",
				               i);
		}
	if (node_of(p, n->src[1])->op == GRAPH_ROUTE &&
	    node_of(p, node_of(p, n->src[1])->src[0])->cols != experts)
		return err_set(err, INFER_EINVAL,
		               "node %d (MOE): its router must have as many experts", i);
	return INFER_OK;
}

static int check_conv1d(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	const struct weight *w = &p->m->weights[n->w[0]];

	TRY(check_matrix(p, i, 0, n->conv1d.taps, n->cols, err));
	TRY(check_vector(p, i, 1, n->cols, err));
	return w->type == INFER_F32 && (uintptr_t)w->at[0] % sizeof(float) == 0
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "node %d (CONV1D): its weight must be aligned floats", i);
}

static int check_head_mm(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	const struct weight *w = &p->m->weights[n->w[0]];
	int64_t from = node_of(p, n->src[0])->cols / n->head_mm.heads,
		to = n->cols / n->head_mm.heads;

	TRY(check_matrix(p, i, 0, w->ne[0], w->ne[1], err));
	if (w->n != n->head_mm.heads || w->ne[0] > from || w->ne[1] + from - w->ne[0] != to)
		return err_set(
			err, INFER_EINVAL,
			"node %d (HEAD_MM): %d matrices of %lld x %lld do not fit %d heads of %lld",
			i, w->n, (long long)w->ne[0], (long long)w->ne[1], n->head_mm.heads,
			(long long)from);
	return INFER_OK;
}

static int check_embed(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	int64_t rows = p->m->weights[n->w[0]].ne[1];

	if (n->embed.index == GRAPH_POSITION && rows < p->size->ctx)
		return err_set(
			err, INFER_EUNSUP,
			"the context must be at most %lld, the positions of the model, not %d",
			(long long)rows, p->size->ctx);
	return check_matrix(p, i, 0, n->cols, rows, err);
}

/* Check gain and bias. A gain for each group is a matrix w0 with one row a group. */
static int check_norm(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	const struct weight *w = n->w[0] < 0 ? NULL : &p->m->weights[n->w[0]];
	int64_t cols = n->norm.first ? n->norm.first : n->cols / n->norm.groups;

	if (w && w->ne[1] != 1) {
		TRY(check_matrix(p, i, 0, cols, n->norm.groups, err));
		if (n->norm.centred)
			return err_set(
				err, INFER_EINVAL,
				"node %d (NORM): centred 1 does not allow gains for each group", i);
	}
	TRY(check_vector(p, i, 1, cols, err));
	return check_vector(p, i, 0, cols, err);
}

/* Check that w0 is i32 and contains column numbers only. */
static int check_permute(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);
	const struct weight *w = &p->m->weights[n->w[0]];
	const int32_t *at = w->at[0];

	if (w->type != INFER_I32 || w->ne[0] != n->cols || (uintptr_t)at % sizeof *at)
		return err_set(err, INFER_EINVAL,
		               "node %d (PERMUTE): its order must be %d aligned I32", i, n->cols);
	for (int32_t c = 0; c < n->cols; c++)
		if (at[c] < 0 || at[c] >= n->cols)
			return err_set(err, INFER_EINVAL,
			               "node %d (PERMUTE): column %d is not one of %d", i, at[c],
			               n->cols);
	return INFER_OK;
}

static int check_mm(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);

	TRY(check_matrix(p, i, 0, node_of(p, n->src[0])->cols, n->cols, err));
	return check_vector(p, i, 1, n->cols, err);
}

static int check_attn(const struct scope *p, int32_t i, infer_error *err)
{
	return check_vector(p, i, 0, node_of(p, i)->attn.heads, err);
}

static int check_route(const struct scope *p, int32_t i, infer_error *err)
{
	return check_pair(p, i, node_of(p, node_of(p, i)->src[0])->cols, err);
}

static int check_scale(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);

	return check_vector(p, i, 0, is_one(p, n->w[0]) ? 1 : n->cols, err);
}

static int check_gated_delta(const struct scope *p, int32_t i, infer_error *err)
{
	int heads = node_of(p, i)->gated_delta.heads;

	TRY(check_vector(p, i, 2, heads, err));
	return check_pair(p, i, heads, err);
}

static int check_rope(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);

	if (n->rope.table < 0 || n->rope.table >= p->m->n_ropes ||
	    p->m->ropes[n->rope.table].half * 2 != n->rope.rot)
		return err_set(err, INFER_EINVAL,
		               "node %d (ROPE): it needs a frequency table of %d pairs", i,
		               n->rope.rot / 2);
	return INFER_OK;
}

/* Checks of weights, by operation.  An operation that has weights must have a check. */
static int (*const checks[])(const struct scope *p, int32_t i, infer_error *err) = {
#define CHECK_0(member) NULL
#define CHECK_1(member) check_##member
#define CHECK_2(member) check_##member
#define CHECK_3(member) check_##member
#define CHECK_6(member) check_##member
#define OP(name, member, kind, n_src, n_w, cols, over) [GRAPH_##name] = CHECK_##n_w(member),
#include "graph/op_list.h"
};

static int check_node(const struct scope *p, int32_t i, infer_error *err)
{
	const struct graph_node *n = node_of(p, i);

	if (n->rows == GRAPH_OUT &&
	    (n->op == GRAPH_ROPE || n->op == GRAPH_KV_PUT ||
	     graph_op_kind(n->op) == GRAPH_ATTENTION || graph_op_kind(n->op) == GRAPH_STATE))
		return err_set(err, INFER_EUNSUP,
		               "node %d (%s): it needs all rows of a step, not the output rows", i,
		               graph_op_name(n->op));
	if (n->op == GRAPH_ROPE)
		TRY(check_rope(p, i, err));
	return checks[n->op] ? checks[n->op](p, i, err) : INFER_OK;
}

int backend_check(struct backend_checked *out, const struct backend_model *m,
                  const struct backend_size *size, infer_error *err)
{
	const struct scope p = { m, size };

	*out = (struct backend_checked){ .n_ids = INT32_MAX, .n_weights = m->n_weights };
	TRY(graph_check(m->graph, m->n_weights, err));
	if (size->rows < 1 || size->out < 0 || size->out > size->rows || size->ctx < 1)
		return err_set(err, INFER_EINVAL,
		               "a plan needs rows and a context, and at most as many output rows: "
		               "not %d rows, %d of them output, context %d",
		               size->rows, size->out, size->ctx);
	if (size->rank < 0)
		return err_set(err, INFER_EINVAL, "the rank of a plan is %d: must be at least 0",
		               size->rank);
	if (m->n_ropes > 2)
		return err_set(err, INFER_EINVAL,
		               "at most 2 frequency tables are supported, not %d", m->n_ropes);
	for (int32_t i = 0; i < m->graph->n; i++) {
		const struct graph_node *n = node_of(&p, i);

		TRY(check_node(&p, i, err));
		out->has_edges |= n->op == GRAPH_RECV || n->op == GRAPH_SEND;
		if (n->op == GRAPH_EMBED && n->embed.index == GRAPH_TOKEN_ID)
			out->n_ids = num_min(out->n_ids, m->weights[n->w[0]].ne[1]);
	}
	return INFER_OK;
}

int backend_check_wants(const struct backend_step *s, const char *name, int top, infer_error *err)
{
	for (int32_t i = 0; s->want && i < s->n_out; i++) {
		if (s->want[i] == BACKEND_LOGITS || s->want[i] == BACKEND_HIDDEN)
			continue;
		if (s->want[i] != BACKEND_TOP || !top)
			return err_set(err, INFER_EUNSUP, "row %d: the %s does not compute %s",
			               s->out[i], name,
			               s->want[i] == BACKEND_TOP ? "TOP" : "the wanted output");
		if (s->top < 1 || s->top > top)
			return err_set(err, INFER_EUNSUP,
			               "row %d: the %s gives 1 to %d tokens, not %d", s->out[i],
			               name, top, s->top);
	}
	return INFER_OK;
}

int backend_check_rank(const struct backend_size *size, const char *name, infer_error *err)
{
	return size->rank ? err_set(err, INFER_EUNSUP,
	                            "%s cannot apply LoRA adapters: only device cpu can", name)
	                  : INFER_OK;
}

/* Check the adapters of a run. */
static int check_uses(const struct backend_checked *c, const struct backend_size *size,
                      const struct backend_run *r, infer_error *err)
{
	int64_t rank = 0;

	for (int32_t u = 0; u < r->n_uses; u++) {
		const struct backend_adapter *a = r->uses[u].adapter;

		if (a->n_weights != c->n_weights)
			return err_set(err, INFER_EINVAL,
			               "adapter %d is of a model of %d weights, not %d", u,
			               a->n_weights, c->n_weights);
		rank += a->max_rank;
	}
	if (r->n_uses < 0 || r->n_uses > BACKEND_USES || rank > size->rank)
		return err_set(err, INFER_EINVAL,
		               "%d adapters of rank %lld in all: the plan has %d adapters of rank "
		               "%d",
		               r->n_uses, (long long)rank, BACKEND_USES, size->rank);
	return INFER_OK;
}

int backend_check_step(const struct backend_checked *c, const struct backend_size *size,
                       const struct backend_step *s, infer_error *err)
{
	int32_t row = 0;

	if (s->n < 1 || s->n > size->rows || s->n_out < 0 || s->n_out > size->out ||
	    s->n_out > s->n)
		return err_set(
			err, INFER_EINVAL,
			"a step of %d rows, %d of them output, does not fit the plan (%d and %d)",
			s->n, s->n_out, size->rows, size->out);
	for (int32_t i = 0; i < s->n_runs; i++) {
		const struct backend_run *r = &s->runs[i];
		if (r->row != row || r->n < 1 || r->n > s->n - row || r->pos < 0 ||
		    r->pos > size->ctx - r->n)
			return err_set(err, INFER_EINVAL, "run %d: rows %d + %d at position %d", i,
			               r->row, r->n, r->pos);
		TRY(check_uses(c, size, r, err));
		row += r->n;
	}
	for (int32_t i = 0; i < s->n; i++)
		if (s->ids[i] < 0 || s->ids[i] >= c->n_ids)
			return err_set(err, INFER_EINVAL, "row %d: token id %d must be below %d", i,
			               s->ids[i], (int)c->n_ids);
	for (int32_t i = 0; i < s->n_out; i++)
		if (s->out[i] < 0 || s->out[i] >= s->n)
			return err_set(err, INFER_EINVAL, "output row %d is not one of the %d rows",
			               s->out[i], s->n);
	if (c->has_edges && !s->edges)
		return err_set(err, INFER_EINVAL, "the step of a part of a graph needs edges");
	return row == s->n
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL,
	                         "the runs must cover all rows: they cover %d of %d", row, s->n);
}
