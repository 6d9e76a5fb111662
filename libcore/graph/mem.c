/* graph/mem.c - places values in the workspace.  In order of time, each value gets the lowest
 * offset that is free while it lives; only values that live at the same time are compared, so a
 * node of a deep graph costs no more than one of a shallow graph. */
#include "graph/graph.h"
#include "base/err.h"
#include "base/num.h"

enum { ALIGN = 64 };

/* The live spans in ascending offset, as a list through next[]. */
struct live {
	int32_t first, *next;
};

static void place_one(struct graph_span *s, int32_t i, struct live *live)
{
	int32_t *link = &live->first;
	size_t at = 0;

	while (*link >= 0) {
		const struct graph_span *o = &s[*link];
		if (o->to < s[i].from) {
			*link = live->next[*link];
			continue;
		}
		if (o->offset - at >= s[i].bytes)
			break;
		at = o->offset + o->bytes;
		link = &live->next[*link];
	}
	s[i].offset = at;
	live->next[i] = *link;
	*link = i;
}

int graph_place_spans(struct graph_span *s, int n, size_t *bytes, infer_error *err)
{
	struct live live = { .first = -1 };
	size_t sum = 0;

	*bytes = 0;
	for (int i = 0; i < n; i++) {
		must(!i || s[i].from >= s[i - 1].from);
		if (s[i].bytes > SIZE_MAX / 2 ||
		    num_add(&sum, sum, num_round_up(s[i].bytes, ALIGN)))
			return err_set(err, INFER_ENOMEM,
			               "a step's values do not fit the address space");
		s[i].bytes = num_round_up(s[i].bytes, ALIGN);
	}
	live.next = mem_alloc(MEM_GRAPH, (size_t)n, sizeof *live.next);
	if (!live.next)
		return err_set(err, INFER_ENOMEM, "no memory to place %d values", n);
	for (int32_t i = 0; i < n; i++) {
		place_one(s, i, &live);
		if (s[i].offset + s[i].bytes > *bytes)
			*bytes = s[i].offset + s[i].bytes;
	}
	mem_free(live.next);
	return INFER_OK;
}

static int lasts(const struct graph *g, int32_t i) { return i == g->output || i == g->hidden; }

/* For each node: the last node that reads it; what lasts: the end. */
static void last_reads(const struct graph *g, int32_t *last)
{
	for (int32_t i = 0; i < g->n; i++) {
		last[i] = i;
		for (int s = 0; s < graph_op_srcs(g->nodes[i].op); s++)
			last[g->nodes[i].src[s]] = i;
	}
	for (int32_t i = 0; i < g->n; i++)
		if (lasts(g, i))
			last[i] = g->n - 1;
}

/* Find values that share a place: home[i] is the first node of the chain that i overwrites. */
static void share(const struct graph *g, const int32_t *last, int32_t *home)
{
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		int32_t a = graph_op_over(n->op) ? n->src[0] : -1;

		home[i] = i;
		if (a >= 0 && last[a] == i && !lasts(g, a) && g->nodes[a].cols == n->cols &&
		    g->nodes[a].rows == n->rows)
			home[i] = home[a];
	}
}

static int place(const struct graph *g, const int32_t *stage, int64_t rows, int64_t out, size_t gap,
                 size_t *offset, size_t *bytes, struct graph_span *span, int32_t *last,
                 int32_t *home, infer_error *err)
{
	int32_t end = stage ? stage[g->n - 1] : g->n - 1;

	last_reads(g, last);
	share(g, last, home);
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		int32_t to = lasts(g, i) ? end : stage ? stage[last[i]] : last[i];
		size_t of_row = (size_t)n->cols * sizeof(float);

		span[i] = (struct graph_span){ .from = stage ? stage[i] : i, .to = to };
		if (home[i] == i) {
			if (num_mul(&span[i].bytes, of_row,
			            (size_t)(n->rows == GRAPH_OUT ? out : rows)) ||
			    num_add(&span[i].bytes, span[i].bytes, gap))
				span[i].bytes = SIZE_MAX;
		} else if (to > span[home[i]].to) {
			span[home[i]].to = to;
		}
	}
	TRY(graph_place_spans(span, g->n, bytes, err));
	for (int32_t i = 0; i < g->n; i++)
		offset[i] = g->nodes[i].cols ? span[home[i]].offset : SIZE_MAX;
	return INFER_OK;
}

int graph_place(const struct graph *g, const int32_t *stage, int64_t rows, int64_t out, size_t gap,
                size_t *offset, size_t *bytes, infer_error *err)
{
	size_t n = (size_t)g->n;
	int rc;

	*bytes = 0;
	if (!n)
		return INFER_OK;
	struct graph_span *span = mem_alloc(MEM_GRAPH, n, sizeof *span);
	int32_t *last = mem_alloc(MEM_GRAPH, n, 2 * sizeof *last);
	if (span && last)
		rc = place(g, stage, rows, out, gap, offset, bytes, span, last, last + n, err);
	else
		rc = err_set(err, INFER_ENOMEM, "no memory to place %d values", g->n);
	mem_free(last);
	mem_free(span);
	return rc;
}
