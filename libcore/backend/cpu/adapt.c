/* backend/cpu/adapt.c - adapters in products, tables and norms: see backend/adapter.h.
 *
 *   region 1   t = A x      a job for each weight, adapter and group of rows with the same adapters
 *   region 2   y = x W^T, y += s B t, scale, bias, cap      in the items of tile.c
 *   region 3   rows whose adapter replaces W: the same with the other weight, over region 2's y
 *
 * If all rows of a job have another weight, region 2 leaves it out.  The rows of B t are added to y
 * while that is in the cache. */
#include "backend/cpu/cpu.h"
#include "base/num.h"
#include "type/type.h"

enum {
	MORE_JOBS = 256,   /* jobs of a region 1 or 3; if there are more, they run in turns */
	SUM_FLOATS = 1024, /* B t of an item, in the stack of the worker */
	SUM_ROWS = 16,
	PREFETCH_BYTES = 8 << 10,
};

/* Return the jobs of a step for each of its rows: pairs for gate and up, or heads. */
static size_t jobs_of(const struct graph_node *n)
{
	return n->op == GRAPH_MOE ? 2 * (size_t)n->moe.used : (size_t)n->head_mm.heads;
}

void cpu_adapt_lay(struct backend_plan *p, struct cpu_space *s)
{
	size_t rows = (size_t)p->size.rows, most = 0;

	if (!p->size.rank)
		return;
	for (int i = 0; i < p->n_steps; i++) {
		const struct cpu_step *step = &p->steps[i];
		size_t n = step->kind == CPU_MM ? (size_t)step->n
		           : step->kind == CPU_MOE || step->kind == CPU_HEADS
		                   ? jobs_of(cpu_node(p, step->first))
		                   : 0;
		most = n > most ? n : most;
	}
	if (num_mul(&most, most, rows))
		most = SIZE_MAX;
	p->adapt.t = cpu_space_take(s, most, (size_t)p->size.rank * sizeof(float));
	p->adapt.jobs = cpu_space_take(s, MORE_JOBS, sizeof *p->adapt.jobs);
}

size_t cpu_adapt_scratch(const struct backend_plan *p, const struct graph_node *n)
{
	int weights = n->op == GRAPH_MOE ? 3 : n->op == GRAPH_MM || n->op == GRAPH_HEAD_MM ? 1 : 0;
	size_t most = n->op == GRAPH_EMBED ? (size_t)p->size.rank * sizeof(float) : 0;

	for (int w = 0; w < weights && p->size.rank; w++) {
		size_t bytes = cpu_plain_scratch(p->b, p->m.weights[n->w[w]].ne[0]);

		most = bytes > most ? bytes : most;
	}
	return most;
}

void cpu_adapt_begin(struct backend_plan *p)
{
	p->adapt.on = 0;
	for (int32_t i = 0; i < p->s->n_runs; i++)
		p->adapt.on |= p->s->runs[i].n_uses > 0;
}

/* Return the run of a row of a node. */
static const struct backend_run *run_of_row(const struct backend_plan *p, int rows, int32_t row)
{
	return &p->s->runs[p->run_of[rows == GRAPH_OUT ? p->s->out[row] : row]];
}

static const struct backend_run *run_of_job(const struct backend_plan *p, const struct cpu_job *j,
                                            int i)
{
	i += j->from;
	return run_of_row(p, j->out ? GRAPH_OUT : GRAPH_ALL, j->rows ? j->rows[i] : i);
}

static int have_same_uses(const struct backend_run *a, const struct backend_run *b)
{
	if (a == b)
		return 1;
	if (a->n_uses != b->n_uses)
		return 0;
	for (int32_t u = 0; u < a->n_uses; u++)
		if (a->uses[u].adapter != b->uses[u].adapter ||
		    a->uses[u].factor != b->uses[u].factor)
			return 0;
	return 1;
}

/* Rows [i, end) of a job that have the adapters of one run. */
struct rows_alike {
	const struct backend_run *run;
	int i, end;
};

/* Find the rows alike from i on, below `end`. */
static struct rows_alike find_alike(const struct backend_plan *p, const struct cpu_job *j, int i,
                                    int end)
{
	struct rows_alike g = { run_of_job(p, j, i), i, i + 1 };

	while (g.end < end && have_same_uses(g.run, run_of_job(p, j, g.end)))
		g.end++;
	return g;
}

/* Return the weight that replaces a weight for a run, or NULL. */
static const struct weight *find_whole(const struct backend_run *r, int32_t weight)
{
	for (int32_t u = 0; u < r->n_uses; u++)
		if (r->uses[u].adapter->product[weight].whole)
			return r->uses[u].adapter->product[weight].whole;
	return NULL;
}

/* Return the change of a matrix by an adapter, or NULL. */
static const struct backend_delta *find_delta(const struct backend_change *c, int32_t matrix)
{
	return c->deltas && c->deltas[matrix].rank ? &c->deltas[matrix] : NULL;
}

static const struct backend_delta *delta_of(const struct backend_use *u, const struct cpu_job *j)
{
	return find_delta(&u->adapter->product[j->weight], j->matrix);
}

int cpu_adapt_touches(const struct backend_plan *p, int32_t weight)
{
	for (int32_t i = 0; p->adapt.on && i < p->s->n_runs; i++)
		for (int32_t u = 0; u < p->s->runs[i].n_uses; u++) {
			const struct backend_change *c =
				&p->s->runs[i].uses[u].adapter->product[weight];
			if (c->deltas || c->whole)
				return 1;
		}
	return 0;
}

static void flush_jobs(struct backend_plan *p)
{
	if (p->adapt.n_jobs)
		cpu_jobs_run(p, p->adapt.jobs, p->adapt.n_jobs);
	p->adapt.n_jobs = 0;
}

static struct cpu_job *add_job(struct backend_plan *p)
{
	if (p->adapt.n_jobs == MORE_JOBS)
		flush_jobs(p);
	return &p->adapt.jobs[p->adapt.n_jobs++];
}

/* Add the products t = A x of rows alike of a job.  Returns 0 if no adapter of theirs changes it. */
static int add_lows(struct backend_plan *p, const struct cpu_job *j, const struct rows_alike *g,
                    float *t)
{
	size_t ld = (size_t)p->size.rank, at = 0;

	for (int32_t u = 0; u < g->run->n_uses; u++) {
		const struct backend_delta *d = delta_of(&g->run->uses[u], j);
		if (!d)
			continue;
		*add_job(p) = (struct cpu_job){ .type = d->a_type,
			                        .n = d->rank,
			                        .k = j->k,
			                        .m = g->end - g->i,
			                        .w = d->a,
			                        .row_bytes = d->a_row,
			                        .x = &j->in,
			                        .x_row = j->in_row + g->i,
			                        .y = t + (size_t)g->i * ld + at,
			                        .ldy = ld,
			                        .mul = 1,
			                        .scale = 1,
			                        .plain = 1 };
		at += (size_t)d->rank;
	}
	return at > 0;
}

/* Add the products of rows alike with the weight that replaces that of their job. */
static void add_whole(struct backend_plan *p, const struct cpu_job *j, const struct rows_alike *g,
                      const struct weight *whole)
{
	struct cpu_job *w = add_job(p);

	*w = *j;
	w->type = whole->type;
	w->m = g->end - g->i;
	w->w = whole->at[j->matrix];
	w->row_bytes = whole->row_bytes;
	w->scale = whole->scale;
	w->plain = 1;
	w->x = &j->in;
	w->x_row = w->in_row = j->in_row + g->i;
	w->y += (size_t)g->i * j->ldy;
	w->t = j->t ? j->t + (size_t)g->i * (size_t)p->size.rank : NULL;
	w->from += g->i;
}

/* Compute t of all jobs. */
static void run_lows(struct backend_plan *p, struct cpu_job *jobs, int n)
{
	float *t = p->adapt.t;

	for (int i = 0; i < n; i++) {
		struct cpu_job *j = &jobs[i];
		struct rows_alike g = { .end = 0 };
		int changed = 0;

		j->t = NULL;
		if (!cpu_adapt_touches(p, j->weight))
			continue;
		while (g.end < j->m) {
			g = find_alike(p, j, g.end, j->m);
			changed |= add_lows(p, j, &g, t);
		}
		if (changed)
			j->t = t;
		t += changed ? (size_t)j->m * (size_t)p->size.rank : 0;
	}
	flush_jobs(p);
}

/* Compute the rows of all jobs whose adapters replace the weight. */
static void run_wholes(struct backend_plan *p, const struct cpu_job *jobs, int n)
{
	for (int i = 0; i < n; i++) {
		const struct cpu_job *j = &jobs[i];
		struct rows_alike g = { .end = 0 };

		while (cpu_adapt_touches(p, j->weight) && g.end < j->m) {
			const struct weight *whole;

			g = find_alike(p, j, g.end, j->m);
			whole = find_whole(g.run, j->weight);
			if (whole)
				add_whole(p, j, &g, whole);
		}
	}
	flush_jobs(p);
}

static int is_replaced(const struct backend_plan *p, const struct cpu_job *j)
{
	struct rows_alike g = { .end = 0 };

	while (g.end < j->m) {
		g = find_alike(p, j, g.end, j->m);
		if (!find_whole(g.run, j->weight))
			return 0;
	}
	return 1;
}

/* Move jobs whose rows all have another weight to the end.  Returns the number of the others. */
static int order_jobs(const struct backend_plan *p, struct cpu_job *jobs, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++)
		if (!is_replaced(p, &jobs[i])) {
			struct cpu_job j = jobs[i];

			jobs[i] = jobs[kept];
			jobs[kept++] = j;
		}
	return kept;
}

void cpu_products_run(struct backend_plan *p, struct cpu_job *jobs, int n)
{
	if (p->adapt.on) {
		run_lows(p, jobs, n);
		cpu_jobs_run(p, jobs, order_jobs(p, jobs, n));
		run_wholes(p, jobs, n);
	} else {
		cpu_jobs_run(p, jobs, n);
	}
}

/* Add s B t of one adapter to rows [i, end), columns [col, col + n) of a job.  t: of row i. */
static void add_delta(const struct backend_plan *p, const struct cpu_job *j,
                      const struct backend_delta *d, float s, const float *t,
                      const struct rows_alike *g, int col, int n)
{
	const struct kern_mm *mm = cpu_plain_mm(p->b, d->b_type);
	const struct kern_act x = { .form = KERN_FORM_F32,
		                    .q = (float *)(uintptr_t)t,
		                    .q_row = (size_t)p->size.rank * sizeof(float) };
	_Alignas(64) float sum[SUM_FLOATS];
	int rows = (int)num_min(g->end - g->i, SUM_ROWS), cols = SUM_FLOATS / rows & ~15;

	for (int at = 0; at < g->end - g->i; at += rows) {
		int m = (int)num_min(rows, g->end - g->i - at);
		for (int c = 0; c < n; c += cols) {
			int part = (int)num_min(cols, n - c);
			mm->rows(sum, (size_t)part,
			         (const unsigned char *)d->b + (size_t)(col + c) * d->b_row,
			         d->b_row, &x, at, m, part, d->rank);
			for (int r = 0; r < m; r++) {
				float *y = j->y + (size_t)(g->i + at + r) * j->ldy + col + c;
				p->b->kern.add_scaled(y, y, sum + r * part, s, part);
			}
		}
	}
}

/* Prefetch rows [col, col + n) of B of the adapters of rows alike.  They are too few for the processor
 * to see a stream. */
static void prefetch_deltas(const struct cpu_job *j, const struct rows_alike *g, int col, int n)
{
	for (int32_t u = 0; u < g->run->n_uses; u++) {
		const struct backend_delta *d = delta_of(&g->run->uses[u], j);
		const char *at = d ? (const char *)d->b + (size_t)col * d->b_row : NULL;
		size_t bytes = d ? (size_t)n * d->b_row : 0;

		for (size_t i = 0; i < bytes && i < PREFETCH_BYTES; i += 64)
			__builtin_prefetch(at + i);
	}
}

void cpu_adapt_add(const struct backend_plan *p, const struct cpu_job *j, int m0, int m, int col,
                   int n)
{
	struct rows_alike g = { .end = m0 }, next = find_alike(p, j, m0, m0 + m);

	prefetch_deltas(j, &next, col, n);
	while (g.end < m0 + m) {
		const float *t;

		g = next;
		if (g.end < m0 + m) {
			next = find_alike(p, j, g.end, m0 + m);
			prefetch_deltas(j, &next, col, n);
		}
		if (!j->plain && find_whole(g.run, j->weight))
			continue;
		t = j->t + (size_t)g.i * (size_t)p->size.rank;
		for (int32_t u = 0; u < g.run->n_uses; u++) {
			const struct backend_delta *d = delta_of(&g.run->uses[u], j);
			if (!d)
				continue;
			add_delta(p, j, d, g.run->uses[u].factor * d->scale / j->scale, t, &g, col,
			          n);
			t += d->rank;
		}
	}
}

const float *cpu_adapt_bias(const struct backend_plan *p, const struct cpu_job *j, int i)
{
	const struct weight *w = find_whole(run_of_job(p, j, i), j->bias_weight);

	return w ? (const float *)w->at[0] + j->bias_at : j->bias;
}

const struct weight *cpu_adapt_vector(const struct backend_plan *p, int32_t weight, int rows,
                                      int32_t row)
{
	const struct weight *w = find_whole(run_of_row(p, rows, row), weight);

	return w ? w : &p->m.weights[weight];
}

const struct weight *cpu_adapt_table(const struct backend_plan *p, int32_t weight, int32_t row)
{
	const struct backend_run *r = run_of_row(p, GRAPH_ALL, row);

	for (int32_t u = 0; u < r->n_uses; u++)
		if (r->uses[u].adapter->table[weight].whole)
			return r->uses[u].adapter->table[weight].whole;
	return &p->m.weights[weight];
}

void cpu_adapt_look(const struct backend_plan *p, int32_t weight, int32_t row, int32_t id, float *y,
                    void *scratch)
{
	const struct backend_run *r = run_of_row(p, GRAPH_ALL, row);
	const float scale = cpu_adapt_table(p, weight, row)->scale;
	struct rows_alike g = { .end = 1 };
	struct cpu_job j = { .y = y };

	for (int32_t u = 0; u < r->n_uses; u++) {
		const struct backend_delta *d = find_delta(&r->uses[u].adapter->table[weight], 0);
		if (!d)
			continue;
		type_get(d->a_type)->decode(scratch,
		                            (const unsigned char *)d->a + (size_t)id * d->a_row,
		                            (size_t)d->rank);
		add_delta(p, &j, d, r->uses[u].factor * d->scale / scale, scratch, &g, 0,
		          (int)p->m.weights[weight].ne[0]);
	}
}
