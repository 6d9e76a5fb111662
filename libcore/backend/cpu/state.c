/* backend/cpu/state.c - CONV1D and GATED_DELTA, the operations of recurrent layers.
 *
 * A task runs the rows of one sequence in order through some channels of a convolution, or through
 * some columns of a head.  The operations on a row do not depend on the rest of the step.  No task
 * reads what another writes.
 *
 *   pages of a run of rows     | source |        | exists |        | exists |
 *                                   '-- state --> rows -->'-- a copy --> rows -->'
 * The source is the page of the position before the run. Rows update the state in the next page
 * that exists in the cache.  If a run begins inside a page, that page is source and destination. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"

#include <string.h>

enum {
	CHANNELS = 64,   /* channels of a task of CONV1D */
	ROWS = 64,       /* rows whose gates are computed at a time */
	SMALL = 16 << 10 /* floats of states below which one thread is faster */
};

size_t cpu_state_scratch(const struct graph_node *n)
{
	/* weights and previous rows by tap (one more for the bias), and pointers to rows */
	if (n->op == GRAPH_CONV1D)
		return (size_t)(n->conv1d.taps + 1) *
		       (2 * CHANNELS * sizeof(float) + sizeof(const float *));
	return n->op == GRAPH_GATED_DELTA ? 2 * ROWS * sizeof(float) : 0;
}

struct state {
	struct backend_plan *p;
	const struct graph_node *n;
	float *y;
	int layer, at;
	int blocks, parts; /* GATED_DELTA: column blocks of a head, tasks of a head */
};

/* Return the state of the layer in the page of position pos; NULL: the page does not exist. */
static float *page_state(const struct state *s, const struct backend_run *run, int pos)
{
	const struct backend_kv_layer *l = &s->p->s->kv->layers[s->layer];
	const struct backend_cache *c = s->p->s->kv->caches[l->group];
	uint32_t page = run->pages[l->group][pos / KERN_PAGE];

	if (page == BACKEND_NO_PAGE)
		return NULL;
	must(c->state);
	return (float *)(void *)cpu_kv_page(c, l, page) + s->at;
}

/* Return the state that rows from position pos on update: in the next page that exists.  *end: the
 * position after the last of these rows. */
static float *next_state(const struct state *s, const struct backend_run *run, int pos, int *end)
{
	int last = run->pos + run->n - 1;
	float *to;

	while (!(to = page_state(s, run, pos))) {
		pos = (pos / KERN_PAGE + 1) * KERN_PAGE;
		must(pos <= last);
	}
	*end = (int)num_min(last, pos / KERN_PAGE * KERN_PAGE + KERN_PAGE - 1) + 1;
	return to;
}

/* Inputs of some channels of CONV1D by position: rows of the step, rows from the state (old [taps -
 * 1][n]), or none before position 0. */
struct channels {
	const struct state *s;
	const struct backend_run *run;
	const float *x, *old; /* x: first row of the run; old: rows in the state */
	int n;
};

/* Return the channels at position pos; NULL: pos < 0. */
static const float *conv_input(const struct channels *c, int pos)
{
	int taps = c->s->n->conv1d.taps, at = pos - c->run->pos;

	if (pos < 0)
		return NULL;
	return at >= 0 ? c->x + (size_t)at * (size_t)c->s->n->cols
	               : c->old + (at + taps - 1) * c->n;
}

/* Store the taps - 1 rows before position end in the state. */
static void store_conv_rows(const struct channels *c, float *to, int end)
{
	const struct graph_node *n = c->s->n;

	for (int t = 0; t < n->conv1d.taps - 1; t++, to += n->cols) {
		const float *x = conv_input(c, end - n->conv1d.taps + 1 + t);
		for (int i = 0; i < c->n; i++)
			to[i] = x ? x[i] : 0;
	}
}

/* Compute the convolution of kern.conv, without silu. */
static void sum_taps(float *y, const float *const *x, const float *w, int taps, int n)
{
	memset(y, 0, (size_t)n * sizeof *y);
	for (int t = 0; t < taps; t++)
		for (int i = 0; i < n && x[t]; i++)
			y[i] += x[t][i] * w[t * n + i];
}

static void run_conv_task(void *user, int64_t i, int worker)
{
	const struct state *s = user;
	const struct graph_node *n = s->n;
	int parts = (n->cols + CHANNELS - 1) / CHANNELS, taps = n->conv1d.taps,
	    first = (int)(i % parts) * CHANNELS, end;
	const struct backend_run *run = &s->p->s->runs[i / parts];
	float *w = (float *)(void *)(s->p->scratch + (size_t)worker * s->p->scratch_bytes),
	      *old = w + (taps + 1) * CHANNELS, *ones = old + taps * CHANNELS,
	      *y = s->y + (size_t)run->row * (size_t)n->cols + first;
	const float **x = (const float **)(void *)(ones + CHANNELS);
	struct channels c = { .s = s,
		              .run = run,
		              .x = cpu_value(s->p, n->src[0], run->row) + first,
		              .old = old,
		              .n = (int)num_min(CHANNELS, n->cols - first) };

	for (int k = 0; k < c.n; k++)
		for (int t = 0; t < taps; t++)
			w[t * c.n + k] = ((const float *)s->p->m.weights[n->w[0]]
			                          .at[0])[(first + k) * taps + t];
	if (n->w[1] >= 0) { /* the bias is one more tap, last in the sum */
		memcpy(w + taps * c.n, (const float *)s->p->m.weights[n->w[1]].at[0] + first,
		       (size_t)c.n * sizeof *w);
		for (int k = 0; k < c.n; k++)
			ones[k] = 1;
		x[taps] = ones;
	}
	for (int t = 0; t < taps - 1 && run->pos; t++)
		memcpy(old + t * c.n,
		       page_state(s, run, run->pos - 1) + (size_t)t * (size_t)n->cols + first,
		       (size_t)c.n * sizeof *old);
	for (int pos = run->pos; pos < run->pos + run->n; pos++, y += n->cols) {
		for (int t = 0; t < taps; t++)
			x[t] = conv_input(&c, pos - taps + 1 + t);
		(n->conv1d.no_silu ? sum_taps : s->p->b->kern.conv)(y, x, w, taps + (n->w[1] >= 0),
		                                                    c.n);
	}
	for (int pos = run->pos; pos < run->pos + run->n; pos = end) {
		float *to = next_state(s, run, pos, &end) + first;
		store_conv_rows(&c, to, end);
	}
}

/* Compute g and beta of some rows of a head from `row` on; for an SSM beta is dt. */
static void compute_gates(const struct state *s, int head, int row, int rows, float *g, float *beta)
{
	const struct graph_node *n = s->n;
	double a = (double)((const float *)s->p->m.weights[n->w[0]].at[0])[head];
	float shift = ((const float *)s->p->m.weights[n->w[1]].at[0])[head];

	for (int r = 0; r < rows; r++) {
		float x = cpu_value(s->p, n->src[4], row + r)[head] + shift;
		double soft = x > 20 ? (double)x : fm_log(1 + fm_exp((double)x));
		g[r] = (float)fm_exp(a * soft);
		beta[r] = n->gated_delta.ssm
		                  ? (float)soft
		                  : fm_sigmoidf(cpu_value(s->p, n->src[3], row + r)[head]);
	}
}

/* A lane: some column blocks of a head, for all rows of a run. */
struct lane {
	const struct state *s;
	const struct backend_run *run;
	int head, from, to; /* column blocks [from, to) */
};

static float *state_block(const struct lane *l, float *state, int block)
{
	return state + ((size_t)l->head * (size_t)l->s->blocks + (size_t)block) *
	                       (size_t)l->s->n->gated_delta.dk * KERN_DELTA;
}

/* Copy the blocks of the lane from one state to the next; from NULL: set them to 0. */
static void copy_blocks(const struct lane *l, float *to, float *from)
{
	size_t n = (size_t)l->s->n->gated_delta.dk * KERN_DELTA * (size_t)(l->to - l->from);

	if (!from)
		memset(state_block(l, to, l->from), 0, n * sizeof *to);
	else if (to != from)
		memcpy(state_block(l, to, l->from), state_block(l, from, l->from), n * sizeof *to);
}

/* Run rows [row, row + rows) of the step through the blocks of `state`. */
static void run_delta_rows(const struct lane *l, float *state, int row, int rows, const float *g,
                           const float *beta)
{
	const struct graph_node *n = l->s->n;
	int share = n->gated_delta.heads / n->gated_delta.k_heads, dk = n->gated_delta.dk,
	    dv = n->gated_delta.dv,
	    kh = n->gated_delta.tiled ? l->head % n->gated_delta.k_heads : l->head / share;
	const float *skip = n->w[2] < 0 ? NULL : l->s->p->m.weights[n->w[2]].at[0];

	for (int b = l->from; b < l->to; b++) {
		int col = l->head * dv + b * KERN_DELTA;
		struct kern_delta d = {
			.s = state_block(l, state, b),
			.q = cpu_value(l->s->p, n->src[0], row) + kh * dk,
			.k = cpu_value(l->s->p, n->src[1], row) + kh * dk,
			.v = cpu_value(l->s->p, n->src[2], row) + col,
			.g = g,
			.beta = beta,
			.y = l->s->y + (size_t)row * (size_t)n->cols + col,
			.qk_row = (size_t)(n->gated_delta.k_heads * dk),
			.v_row = (size_t)n->cols,
			.y_row = (size_t)n->cols,
			.rows = rows,
			.dk = dk,
			.cols = (int)num_min(KERN_DELTA, dv - b * KERN_DELTA),
			.scale = n->gated_delta.scale,
			.skip = skip ? skip[l->head] : 0,
			.plain = n->gated_delta.ssm,
		};
		l->s->p->b->kern.delta(&d);
	}
}

static void run_delta_task(void *user, int64_t i, int worker)
{
	const struct state *s = user;
	int heads = s->n->gated_delta.heads, part = (int)(i % s->parts), end, rows;
	struct lane l = { .s = s,
		          .run = &s->p->s->runs[i / s->parts / heads],
		          .head = (int)(i / s->parts % heads),
		          .from = s->blocks * part / s->parts,
		          .to = s->blocks * (part + 1) / s->parts };
	float *g = (float *)(void *)(s->p->scratch + (size_t)worker * s->p->scratch_bytes),
	      *from = l.run->pos ? page_state(s, l.run, l.run->pos - 1) : NULL, *to;

	must(from || !l.run->pos);
	for (int pos = l.run->pos; pos < l.run->pos + l.run->n; from = to) {
		to = next_state(s, l.run, pos, &end);
		copy_blocks(&l, to, from);
		for (; pos < end; pos += rows) {
			int row = l.run->row + pos - l.run->pos;
			rows = (int)num_min(ROWS, end - pos);
			compute_gates(s, l.head, row, rows, g, g + ROWS);
			run_delta_rows(&l, to, row, rows, g, g + ROWS);
		}
	}
}

/* Return the number of tasks to divide a head into, so that all threads have work. */
static int tasks_per_head(const struct state *s, int64_t heads)
{
	int64_t want = 4 * (int64_t)pool_threads(s->p->b->pool);

	return (int)num_min(s->blocks, heads < want ? (want + heads - 1) / heads : 1);
}

void cpu_state_run(struct backend_plan *p, int32_t node)
{
	const struct graph_node *n = cpu_node(p, node);
	struct state s = { .p = p, .n = n, .y = cpu_value(p, node, 0) };
	int64_t tasks, work = (int64_t)p->s->n * n->cols;

	if (n->op == GRAPH_CONV1D) {
		s.layer = n->conv1d.layer;
		s.at = n->conv1d.at;
		tasks = (int64_t)p->s->n_runs * ((n->cols + CHANNELS - 1) / CHANNELS);
	} else {
		s.layer = n->gated_delta.layer;
		s.at = n->gated_delta.at;
		s.blocks = (n->gated_delta.dv + KERN_DELTA - 1) / KERN_DELTA;
		s.parts = tasks_per_head(&s, (int64_t)p->s->n_runs * n->gated_delta.heads);
		tasks = (int64_t)p->s->n_runs * n->gated_delta.heads * s.parts;
		work *= n->gated_delta.dk;
	}
	if (work >= SMALL)
		pool_run(p->b->pool, tasks, n->op == GRAPH_CONV1D ? run_conv_task : run_delta_task,
		         &s);
	else
		for (int64_t i = 0; i < tasks; i++)
			(n->op == GRAPH_CONV1D ? run_conv_task : run_delta_task)(&s, i, 0);
}
