/* tests/unit/backend/toy_adapter.h - random adapters of the small model, and the model with adapters merged
 * in float64. */
#ifndef TESTS_TOY_ADAPTER_H
#define TESTS_TOY_ADAPTER_H
#include "toy.h"

enum { TOY_RANK = 21, TOY_BLOCKS = 4 * TOY_W * TOY_EXPERTS };

struct toy_adapter {
	struct backend_adapter a;
	struct backend_change product[TOY_W], table[TOY_W];
	struct backend_delta deltas[TOY_W][TOY_EXPERTS], looks[TOY_W];
	struct weight whole[TOY_W];
	const void *at[TOY_W][TOY_EXPERTS];
	void *blocks[TOY_BLOCKS];
	int n_blocks;
};
/* what reads a weight */
enum { READ_MATRIX = 1, READ_VECTOR = 2, READ_TABLE = 4, READ_OTHER = 8 };

static int toy_reads(const struct graph *g, int w)
{
	int reads = 0;

	for (int32_t i = 0; i < g->n; i++)
		for (int s = 0; s < GRAPH_W; s++) {
			int op = g->nodes[i].op;

			if (g->nodes[i].w[s] != w)
				continue;
			if (op == GRAPH_EMBED)
				reads |= READ_TABLE;
			else if ((op == GRAPH_MM && !s) || op == GRAPH_HEAD_MM ||
			         (op == GRAPH_MOE && s < 3))
				reads |= READ_MATRIX;
			else if (op == GRAPH_MM || op == GRAPH_MOE || op == GRAPH_NORM ||
			         op == GRAPH_ROUTE || op == GRAPH_SCALE)
				reads |= READ_VECTOR;
			else
				reads |= READ_OTHER;
		}
	return reads;
}

/* Rows of random numbers, further apart than they are long. */
static const void *toy_rows(struct toy_adapter *a, struct toy *t, int type, int64_t n, int64_t k,
                            size_t *row)
{
	const struct infer_type_info *info = infer_type_info(type);
	unsigned char *at;

	*row = (size_t)(k / info->block) * (size_t)info->block_bytes + 12;
	at = a->blocks[a->n_blocks++] = malloc((size_t)n * *row);
	for (int64_t r = 0; r < n; r++)
		toy_fill_row(t, type, at + (size_t)r * *row, k);
	return at;
}

static void toy_delta_of(struct toy_adapter *a, struct toy *t, struct backend_delta *d, int64_t n,
                         int64_t k, int seed)
{
	static const int ranks[] = { 3, 16, 1, TOY_RANK, 8 },
			 types[] = { INFER_F32, INFER_F16, INFER_BF16, INFER_F16 };

	d->rank = ranks[seed % 5];
	d->a_type = types[seed % 4];
	d->b_type = types[(seed + 1) % 4];
	d->scale = 0.5f + (float)(seed % 7) / 4;
	d->a = toy_rows(a, t, d->a_type, k ? d->rank : n, k ? k : d->rank, &d->a_row);
	d->b = toy_rows(a, t, d->b_type, k ? n : k, d->rank, &d->b_row);
}

static void toy_whole_of(struct toy_adapter *a, struct toy *t, int w, int type)
{
	struct weight *own = &a->whole[w];

	*own = t->w[w];
	own->type = type;
	own->scale = toy_reads(&t->g, w) & READ_VECTOR ? 1 : 1.5f;
	own->at = a->at[w];
	if (toy_reads(&t->g, w) & READ_VECTOR) { /* a bias is read as one block */
		size_t row = (size_t)own->ne[0] * sizeof(float);
		unsigned char *at = a->blocks[a->n_blocks++] = malloc((size_t)own->ne[1] * row);

		for (int64_t r = 0; r < own->ne[1]; r++)
			toy_fill_row(t, INFER_F32, at + (size_t)r * row, own->ne[0]);
		own->row_bytes = row;
		a->at[w][0] = at;
		return;
	}
	for (int e = 0; e < own->n; e++)
		a->at[w][e] = toy_rows(a, t, type, own->ne[1], own->ne[0], &own->row_bytes);
}

/* wholes 0: deltas of everything.  1: deltas of some, and other matrices, tables and vectors instead of
 * some. */
static struct toy_adapter *toy_adapter_new(struct toy *t, uint32_t seed, int wholes)
{
	struct toy_adapter *a = calloc(1, sizeof *a);

	a->a = (struct backend_adapter){ a->product, a->table, t->n_w, TOY_RANK };
	t->seed = seed;
	for (int w = 0; w < t->n_w; w++) {
		int reads = toy_reads(&t->g, w), pick = w + (int)seed;
		const struct weight *own = &t->w[w];

		if (reads & READ_OTHER)
			continue;
		for (int e = 0; reads & READ_MATRIX && (!wholes || pick % 3) && e < own->n; e++) {
			a->product[w].deltas = a->deltas[w];
			if (own->n == 1 || (pick + e) % 4) /* some experts have none */
				toy_delta_of(a, t, &a->deltas[w][e], own->ne[1], own->ne[0],
				             pick + e);
		}
		if (reads & READ_TABLE && (!wholes || pick % 2)) {
			struct backend_delta *d = &a->looks[w];

			a->table[w].deltas = d;
			toy_delta_of(a, t, d, own->ne[1], 0, pick);
			d->b = toy_rows(a, t, d->b_type, own->ne[0], d->rank, &d->b_row);
		}
		if (!wholes || (reads & READ_MATRIX && pick % 2))
			continue;
		toy_whole_of(a, t, w,
		             reads & READ_VECTOR || pick % 4 == 1 ? INFER_F32 : INFER_BF16);
		if (reads & READ_TABLE)
			a->table[w].whole = &a->whole[w];
		else
			a->product[w].whole = &a->whole[w];
	}
	return a;
}

static void toy_adapter_free(struct toy_adapter *a)
{
	for (int i = 0; i < a->n_blocks; i++)
		free(a->blocks[i]);
	free(a);
}

static double toy_at(int type, const void *row, int64_t n, int64_t i)
{
	float *x = malloc((size_t)n * sizeof *x), y;
	infer_error err;

	if (infer_type_decode(type, x, row, (size_t)n, &err))
		abort();
	y = x[i];
	free(x);
	return (double)y;
}

/* Add the delta of row r to y [k].  Of a product: B's row times A; of a table: A's row times B^T. */
static void toy_merge_row(double *y, const struct backend_delta *d, double s, int64_t r, int64_t k,
                          int table)
{
	const char *a = d->a, *b = d->b;

	for (int64_t j = 0; j < d->rank; j++) {
		double f = table ? toy_at(d->a_type, a + (size_t)r * d->a_row, d->rank, j)
		                 : toy_at(d->b_type, b + (size_t)r * d->b_row, d->rank, j);
		for (int64_t i = 0; i < k; i++)
			y[i] += s * f *
			        (table ? toy_at(d->b_type, b + (size_t)i * d->b_row, d->rank, j)
			               : toy_at(d->a_type, a + (size_t)j * d->a_row, k, i));
	}
}

/* The matrix e of weight w with all uses, as f32. */
static float *toy_merge(const struct toy *t, const struct backend_use *uses, int n, int w, int e)
{
	int table = toy_reads(&t->g, w) & READ_TABLE;
	const struct weight *own = &t->w[w];
	int64_t k = own->ne[0];
	float *out = malloc((size_t)(own->ne[1] * k) * sizeof *out);
	double *y = malloc((size_t)k * sizeof *y);

	for (int u = 0; u < n; u++) {
		const struct backend_adapter *a = uses[u].adapter;
		const struct backend_change *c = table ? &a->table[w] : &a->product[w];
		own = c->whole ? c->whole : own;
	}
	for (int64_t r = 0; r < own->ne[1]; r++) {
		for (int64_t i = 0; i < k; i++)
			y[i] = (double)own->scale *
			       toy_at(own->type,
			              (const char *)own->at[e] + (size_t)r * own->row_bytes, k, i);
		for (int u = 0; u < n; u++) {
			const struct backend_adapter *a = uses[u].adapter;
			const struct backend_change *c = table ? &a->table[w] : &a->product[w];
			if (c->deltas && c->deltas[e].rank)
				toy_merge_row(y, &c->deltas[e],
				              (double)uses[u].factor * (double)c->deltas[e].scale,
				              r, k, table);
		}
		for (int64_t i = 0; i < k; i++)
			out[r * k + i] = (float)y[i];
	}
	free(y);
	return out;
}

/* A model with the weights of t and all uses merged. */
struct toy_merged {
	struct backend_model m;
	struct weight w[TOY_W];
	const void *at[TOY_W][TOY_EXPERTS];
};

static struct toy_merged *toy_merged_new(const struct toy *t, const struct backend_use *uses, int n)
{
	struct toy_merged *m = calloc(1, sizeof *m);

	m->m = t->m;
	m->m.weights = m->w;
	for (int w = 0; w < t->n_w; w++) {
		m->w[w] = t->w[w];
		if (toy_reads(&t->g, w) & READ_OTHER || !toy_reads(&t->g, w))
			continue;
		m->w[w].type = INFER_F32;
		m->w[w].scale = 1;
		m->w[w].row_bytes = (size_t)t->w[w].ne[0] * sizeof(float);
		m->w[w].at = m->at[w];
		for (int e = 0; e < t->w[w].n; e++)
			m->at[w][e] = toy_merge(t, uses, n, w, e);
	}
	return m;
}

static void toy_merged_free(struct toy_merged *m)
{
	for (int w = 0; w < TOY_W; w++)
		for (int e = 0; e < TOY_EXPERTS; e++)
			free((void *)(uintptr_t)m->at[w][e]);
	free(m);
}
#endif
