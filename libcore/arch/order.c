/* arch/order.c - act-order of GPTQ: weights whose inputs are permuted. "X.order" is the column of
 * the input that each column of "X.weight" is multiplied by. */
#include "arch/order.h"
#include "base/err.h"
#include "base/mem.h"
#include "file/file.h"

#include <string.h>

/* weights and nodes searched for an equal act-order: about one layer */
enum { NEAR = 32 };

static int check_permutation(const struct infer_tensor *t, infer_error *err)
{
	const struct infer_tensor *o = t->aux[INFER_AUX_ORDER];
	const int32_t *at = o->data;
	unsigned char *seen;
	int64_t i = 0;

	if (o->type != INFER_I32 || o->ne[0] != t->ne[0] || o->ne[1] != 1 || o->ne[2] != 1 ||
	    o->ne[3] != 1 || o->ne[0] > INT32_MAX || !at || (uintptr_t)at % sizeof *at)
		return err_set(err, INFER_EFORMAT, "tensor %.*s: must be %lld aligned I32",
		               (int)o->name.len, o->name.at, (long long)t->ne[0]);
	seen = mem_zalloc(MEM_ARCH, (size_t)o->ne[0], 1);
	if (!seen)
		return err_set(err, INFER_ENOMEM, "out of memory while checking tensor %.*s",
		               (int)o->name.len, o->name.at);
	for (; i < o->ne[0] && at[i] >= 0 && at[i] < o->ne[0] && !seen[at[i]]; i++)
		seen[at[i]] = 1;
	mem_free(seen);
	return i == o->ne[0] ? INFER_OK
	                     : err_set(err, INFER_EFORMAT,
	                               "tensor %.*s: element %lld is %d: not a permutation",
	                               (int)o->name.len, o->name.at, (long long)i, at[i]);
}

/* Return a bound act-order equal to o, or -1. */
static int32_t find_order(const infer_model *m, const struct infer_tensor *o)
{
	for (int32_t i = m->n_weights - 1; i >= 0 && i >= m->n_weights - NEAR; i--) {
		const struct weight *w = &m->weights[i];

		if (w->type == INFER_I32 && w->ne[0] == o->ne[0] &&
		    !memcmp(w->at[0], o->data, (size_t)o->ne[0] * sizeof(int32_t)))
			return i;
	}
	return -1;
}

int arch_bind_order(infer_model *m, const struct infer_tensor *t, int32_t weight, infer_error *err)
{
	const struct infer_tensor *o = t->aux[INFER_AUX_ORDER];
	const void **at;
	int32_t found;

	if (!o)
		return INFER_OK;
	TRY(check_permutation(t, err));
	found = find_order(m, o);
	if (found < 0) {
		at = arena_alloc(&m->arena, 1, sizeof *at);
		if (!at)
			return err_set(err, INFER_ENOMEM, "out of memory while binding tensor %.*s",
			               (int)o->name.len, o->name.at);
		*at = o->data;
		found = m->n_weights++;
		m->weights[found] =
			(struct weight){ .type = INFER_I32,
			                 .n = 1,
			                 .ne = { o->ne[0], 1 },
			                 .scale = 1,
			                 .at = at,
			                 .row_bytes = (size_t)o->ne[0] * sizeof(int32_t) };
		m->tensors[found] = o;
	}
	m->order[weight] = found + 1;
	return INFER_OK;
}

int32_t arch_permute(struct graph *g, const infer_model *m, int32_t w, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_PERMUTE);

	if (w < 0 || !m->order[w])
		return x;
	n.src[0] = x;
	n.w[0] = m->order[w] - 1;
	for (int32_t i = g->n - 1; i > x && i >= g->n - NEAR; i--)
		if (g->nodes[i].op == GRAPH_PERMUTE && g->nodes[i].src[0] == x &&
		    g->nodes[i].w[0] == n.w[0])
			return i;
	return graph_add(g, n);
}

int arch_check_orders(const infer_model *m, infer_error *err)
{
	for (int32_t i = 0; i < m->graph.n; i++)
		for (int k = 0; k < GRAPH_W; k++) {
			const struct graph_node *n = &m->graph.nodes[i], *src;
			int32_t order = n->w[k] < 0 ? 0 : m->order[n->w[k]];

			if (!order)
				continue;
			src = n->op == GRAPH_MM && k == 0 ? &m->graph.nodes[n->src[0]] : n;
			if (src->op != GRAPH_PERMUTE || src->w[0] != order - 1)
				return err_set(err, INFER_EUNSUP,
				               "tensor %.*s: act-order is not supported for it",
				               (int)m->tensors[n->w[k]]->name.len,
				               m->tensors[n->w[k]]->name.at);
		}
	return INFER_OK;
}
