/* backend/check_adapter.c - check that a model has all that an adapter changes. */
#include "backend/check.h"
#include "base/err.h"
#include "type/type.h"

enum slot_use { SLOT_NONE, SLOT_MATRIX, SLOT_VECTOR, SLOT_TABLE };

/* Return how a node reads its weight `slot`, if adapters may change it. */
static enum slot_use use_of(const struct graph_node *n, int slot)
{
	switch ((enum graph_op)n->op) {
	case GRAPH_EMBED:
		return SLOT_TABLE;
	case GRAPH_MM:
		return slot ? SLOT_VECTOR : SLOT_MATRIX;
	case GRAPH_MOE:
		return slot < 3 ? SLOT_MATRIX : SLOT_VECTOR;
	case GRAPH_HEAD_MM:
		return SLOT_MATRIX;
	case GRAPH_NORM:
	case GRAPH_ROUTE:
	case GRAPH_SCALE:
		return SLOT_VECTOR;
	default:
		return SLOT_NONE;
	}
}

static int is_float(int type)
{
	return type == INFER_F32 || type == INFER_F16 || type == INFER_BF16;
}

static int check_deltas(const struct backend_adapter *a, const struct backend_delta *d, int n,
                        int w, infer_error *err)
{
	for (int i = 0; d && i < n; i++) {
		if (d[i].rank < 0 || d[i].rank > a->max_rank)
			return err_set(err, INFER_EINVAL,
			               "weight %d: an adapter of rank %d; its largest is %d", w,
			               d[i].rank, a->max_rank);
		if (d[i].rank && (!is_float(d[i].a_type) || !is_float(d[i].b_type)))
			return err_set(err, INFER_EINVAL,
			               "weight %d: an adapter must be F32, F16 or BF16", w);
	}
	return INFER_OK;
}

static int check_whole(const struct weight *w, const struct weight *own, int i, infer_error *err)
{
	const struct type *t = own ? type_get(own->type) : NULL;

	if (!own)
		return INFER_OK;
	if (!t || !t->decode || t->info.file_only)
		return err_set(err, INFER_EUNSUP, "weight %d: type %s is not supported", i,
		               t ? t->info.name : "(unknown)");
	if (own->n != w->n || own->ne[0] != w->ne[0] || own->ne[1] != w->ne[1])
		return err_set(err, INFER_EINVAL,
		               "weight %d: %d matrices of %lld x %lld replace %d of %lld x %lld", i,
		               own->n, (long long)own->ne[0], (long long)own->ne[1], w->n,
		               (long long)w->ne[0], (long long)w->ne[1]);
	return INFER_OK;
}

/* The nodes that read a weight. */
struct reads {
	int matrix, vector, table;
};

/* Find what reads weight w.  INFER_EUNSUP: a node that adapters cannot change does, too. */
static int find_reads(struct reads *r, const struct backend_model *m, int w, infer_error *err)
{
	for (int32_t i = 0; i < m->graph->n; i++)
		for (int s = 0; s < GRAPH_W; s++) {
			const struct graph_node *n = &m->graph->nodes[i];
			enum slot_use use = n->w[s] == w ? use_of(n, s) : SLOT_NONE;

			if (n->w[s] == w && use == SLOT_NONE)
				return err_set(err, INFER_EUNSUP,
				               "weight %d: an adapter cannot change a %s", w,
				               graph_op_name(n->op));
			r->matrix += use == SLOT_MATRIX;
			r->vector += use == SLOT_VECTOR;
			r->table += use == SLOT_TABLE;
		}
	return INFER_OK;
}

static int check_weight(const struct backend_model *m, const struct backend_adapter *a, int i,
                        infer_error *err)
{
	const struct backend_change *p = &a->product[i], *t = &a->table[i];
	const struct weight *w = &m->weights[i];
	struct reads r = { 0 };

	if (!p->deltas && !p->whole && !t->deltas && !t->whole)
		return INFER_OK;
	TRY(find_reads(&r, m, i, err));
	if ((p->deltas && !r.matrix) || (p->whole && !r.matrix && !r.vector) ||
	    ((t->deltas || t->whole) && !r.table))
		return err_set(err, INFER_EUNSUP, "weight %d: nothing reads it as the adapter says",
		               i);
	TRY(check_deltas(a, p->deltas, w->n, i, err));
	TRY(check_deltas(a, t->deltas, 1, i, err));
	TRY(check_whole(w, p->whole, i, err));
	TRY(check_whole(w, t->whole, i, err));
	if (p->whole && r.vector &&
	    (p->whole->type != INFER_F32 || (uintptr_t)p->whole->at[0] % sizeof(float)))
		return err_set(err, INFER_EINVAL, "weight %d: a vector must be aligned floats", i);
	return INFER_OK;
}

int backend_check_adapter(const struct backend_model *m, const struct backend_adapter *a,
                          infer_error *err)
{
	if (a->n_weights != m->n_weights || a->max_rank < 1)
		return err_set(err, INFER_EINVAL,
		               "an adapter of %d weights and rank %d: the model has %d weights",
		               a->n_weights, a->max_rank, m->n_weights);
	for (int i = 0; i < m->n_weights; i++)
		TRY(check_weight(m, a, i, err));
	return INFER_OK;
}
