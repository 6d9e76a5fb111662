/* graph/mem.c - place values in the workspace.  In order of time, each value gets the lowest offset
 * that is free during its lifetime.  Only values that are live then are compared, so the time for a
 * node does not grow with the depth of the graph. */
#include "graph/graph.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { ALIGN = 64 };

/* The live spans by ascending offset: a list linked through next[]. */
struct live {
	int32_t first, *next;
};

/* Give span i its offset and insert it in the list.  Drops spans that have ended. */
static void place_span(struct graph_span *s, int32_t i, struct live *live)
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
		return err_set(err, INFER_ENOMEM, "out of memory while placing %d values", n);
	for (int32_t i = 0; i < n; i++) {
		place_span(s, i, &live);
		if (s[i].offset + s[i].bytes > *bytes)
			*bytes = s[i].offset + s[i].bytes;
	}
	mem_free(live.next);
	return INFER_OK;
}

/* True if the value of node i must last to the end of the step. */
static int is_kept(const struct graph *g, int32_t i) { return i == g->output || i == g->hidden; }

/* Set last[i] to the last node that reads node i, or to the last node of all if its value is
 * kept. */
static void find_last_reads(const struct graph *g, int32_t *last)
{
	for (int32_t i = 0; i < g->n; i++) {
		last[i] = i;
		for (int s = 0; s < graph_op_srcs(g->nodes[i].op); s++)
			last[g->nodes[i].src[s]] = i;
	}
	for (int32_t i = 0; i < g->n; i++)
		if (is_kept(g, i))
			last[i] = g->n - 1;
}

/* Set home[i] to the node whose place node i uses: i itself, or the first of a chain of nodes that
 * overwrite their src0. */
static void find_homes(const struct graph *g, const int32_t *last, int32_t *home)
{
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		int32_t a = graph_op_over(n->op) ? n->src[0] : -1;

		home[i] = i;
		if (a >= 0 && last[a] == i && !is_kept(g, a) && g->nodes[a].cols == n->cols &&
		    g->nodes[a].rows == n->rows)
			home[i] = home[a];
	}
}

static int place_values(const struct graph *g, const int32_t *stage, int64_t rows, int64_t out,
                        size_t gap, size_t *offset, size_t *bytes, struct graph_span *span,
                        int32_t *last, int32_t *home, infer_error *err)
{
	int32_t end = stage ? stage[g->n - 1] : g->n - 1;

	find_last_reads(g, last);
	find_homes(g, last, home);
	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = &g->nodes[i];
		int32_t to = is_kept(g, i) ? end : stage ? stage[last[i]] : last[i];
		size_t row_bytes = (size_t)n->cols * sizeof(float);

		span[i] = (struct graph_span){ .from = stage ? stage[i] : i, .to = to };
		if (home[i] == i) {
			if (num_mul(&span[i].bytes, row_bytes,
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
		rc = place_values(g, stage, rows, out, gap, offset, bytes, span, last, last + n,
		                  err);
	else
		rc = err_set(err, INFER_ENOMEM, "out of memory while placing %d values", g->n);
	mem_free(last);
	mem_free(span);
	return rc;
}
