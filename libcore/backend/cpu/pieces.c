/* backend/cpu/pieces.c - operations on the equal pieces of a row, and on what a row is as a whole. */
#include "backend/cpu/cpu.h"

#include <math.h>
#include <string.h>

static void part(const struct backend_plan *p, const struct graph_node *n, float *y, const float *x)
{
	int times = n->slice.times ? n->slice.times : 1, own = n->cols / times;
	int of = cpu_node(p, n->src[0])->cols / n->slice.pieces, cols = own / n->slice.pieces;

	for (int i = 0; i < n->slice.pieces; i++)
		memcpy(y + (size_t)i * (size_t)cols, x + (size_t)i * (size_t)of + n->slice.from,
		       (size_t)cols * sizeof *y);
	for (int i = 1; i < times; i++)
		memcpy(y + (size_t)i * (size_t)own, y, (size_t)own * sizeof *y);
}

static void permute(const struct backend_plan *p, const struct graph_node *n, float *y,
                    const float *x)
{
	const int32_t *order = p->m.weights[n->w[0]].at[0];

	for (int i = 0; i < n->cols; i++)
		y[i] = x[order[i]];
}

static void add(const struct kern *k, const struct graph_node *n, float *y, const float *a,
                const float *b)
{
	int pieces = n->add.pieces ? n->add.pieces : 1, from = n->add.from, cols = n->cols / pieces;

	if (y != a)
		memcpy(y, a, (size_t)from * (size_t)cols * sizeof *y);
	for (int i = from; i < pieces; i++)
		k->add_scaled(y + (size_t)i * (size_t)cols, a + (size_t)i * (size_t)cols, b,
		              n->add.mul == 0 ? 1 : n->add.mul, cols);
}

static void mix(const struct kern *k, const struct graph_node *n, float *y, const float *a,
                const float *b, const float *by)
{
	int cols = n->cols / n->altup_mix.pieces;

	for (int i = 0; i < n->altup_mix.pieces; i++, y += cols, a += cols)
		for (int j = 0; j < n->altup_mix.by; j++)
			k->add_scaled(y, j ? y : a, b + (size_t)j * (size_t)cols,
			              *by++ + n->altup_mix.plus, cols);
}

/* The sum of the squares of x - from, or of x itself, in one order: of KERN_LANES sums, each of every
 * KERN_LANES-th element. */
static double total(const float *x, int n, double from, int square)
{
	double lane[KERN_LANES] = { 0 }, sum = 0;

	for (int i = 0; i < n; i++) {
		double d = (double)x[i] - from;
		lane[i % KERN_LANES] += square ? d * d : d;
	}
	for (int i = 0; i < KERN_LANES; i++)
		sum += lane[i];
	return sum;
}

static void cut(const struct graph_node *n, float *y, const float *x)
{
	double mean = total(x, n->cols, 0, 0) / n->cols,
	       deviation = sqrt(total(x, n->cols, mean, 1) / n->cols);
	float least = (float)(mean + (double)n->gauss_topk.mul * deviation);

	for (int i = 0; i < n->cols; i++)
		y[i] = x[i] > least ? x[i] - least : 0;
}

static void level(const struct backend_plan *p, const struct graph_node *n, float *y,
                  const float *a, const float *b)
{
	int cols = cpu_node(p, n->src[0])->cols, more = cpu_node(p, n->src[1])->cols / cols;
	double want = total(a, cols, 0, 1) / cols;

	memcpy(y, a, (size_t)cols * sizeof *y);
	for (int i = 0; i < more; i++, b += cols) {
		double has = fmax(total(b, cols, 0, 1) / cols, (double)n->altup_rescale.least);
		float mul = (float)sqrt(want / has);
		if (n->altup_rescale.mean)
			p->b->kern.add_scaled(y, y, b, mul, cols);
		else
			p->b->kern.scale(y + (size_t)(i + 1) * (size_t)cols, b, mul, cols);
	}
	if (n->altup_rescale.mean)
		p->b->kern.scale(y, y, 1 / (float)(more + 1), cols);
}

void cpu_pieces_row(const struct backend_plan *p, int32_t node, int32_t row)
{
	const struct graph_node *n = cpu_node(p, node);
	const float *a = cpu_value(p, n->src[0], row),
		    *b = n->src[1] < 0 ? NULL : cpu_value(p, n->src[1], row);
	float *y = cpu_value(p, node, row);

	if (n->op == GRAPH_ADD)
		add(&p->b->kern, n, y, a, b);
	else if (n->op == GRAPH_GAUSS_TOPK)
		cut(n, y, a);
	else if (n->op == GRAPH_SLICE)
		part(p, n, y, a);
	else if (n->op == GRAPH_PERMUTE)
		permute(p, n, y, a);
	else if (n->op == GRAPH_ALTUP_MIX)
		mix(&p->b->kern, n, y, a, b, cpu_value(p, n->src[2], row));
	else
		level(p, n, y, a, b);
}
