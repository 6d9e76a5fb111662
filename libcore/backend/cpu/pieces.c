/* backend/cpu/pieces.c - operations on the equal pieces of a row, and on statistics of a row. */
#include "backend/cpu/row_op.h"

#include <math.h>
#include <string.h>

void cpu_run_slice(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	int pieces = n->slice.pieces, times = n->slice.times ? n->slice.times : 1,
	    own = n->cols / times, cols = own / pieces,
	    of = cpu_node(o->p, n->src[0])->cols / pieces;

	for (int i = 0; i < pieces; i++)
		memcpy(o->y + (size_t)i * (size_t)cols,
		       o->a + (size_t)i * (size_t)of + n->slice.from, (size_t)cols * sizeof *o->y);
	for (int i = 1; i < times; i++)
		memcpy(o->y + (size_t)i * (size_t)own, o->y, (size_t)own * sizeof *o->y);
}

void cpu_run_permute(const struct row_op *o)
{
	const int32_t *order = row_op_weight(o, 0);

	for (int i = 0; i < o->n->cols; i++)
		o->y[i] = o->a[order[i]];
}

void cpu_run_add(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	int pieces = n->add.pieces ? n->add.pieces : 1, from = n->add.from, cols = n->cols / pieces;

	if (o->y != o->a)
		memcpy(o->y, o->a, (size_t)from * (size_t)cols * sizeof *o->y);
	for (int i = from; i < pieces; i++)
		o->k->add_scaled(o->y + (size_t)i * (size_t)cols, o->a + (size_t)i * (size_t)cols,
		                 o->b, n->add.mul == 0 ? 1 : n->add.mul, cols);
}

void cpu_run_altup_mix(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	const float *a = o->a, *by = o->c;
	float *y = o->y;
	int cols = n->cols / n->altup_mix.pieces;

	for (int i = 0; i < n->altup_mix.pieces; i++, y += cols, a += cols)
		for (int j = 0; j < n->altup_mix.by; j++)
			o->k->add_scaled(y, j ? y : a, o->b + (size_t)j * (size_t)cols,
			                 *by++ + n->altup_mix.plus, cols);
}

/* Return the sum of x - from, or of its squares.  The order is fixed: KERN_LANES partial sums, each
 * of every KERN_LANES-th element. */
static double row_sum(const float *x, int n, double from, int square)
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

void cpu_run_gauss_topk(const struct row_op *o)
{
	int n = o->n->cols;
	double mean = row_sum(o->a, n, 0, 0) / n, std = sqrt(row_sum(o->a, n, mean, 1) / n);
	float least = (float)(mean + (double)o->n->gauss_topk.mul * std);

	for (int i = 0; i < n; i++)
		o->y[i] = o->a[i] > least ? o->a[i] - least : 0;
}

void cpu_run_altup_rescale(const struct row_op *o)
{
	const struct graph_node *n = o->n;
	const float *b = o->b;
	float *y = o->y;
	int cols = cpu_node(o->p, n->src[0])->cols, pieces = cpu_node(o->p, n->src[1])->cols / cols;
	double want = row_sum(o->a, cols, 0, 1) / cols;

	memcpy(y, o->a, (size_t)cols * sizeof *y);
	for (int i = 0; i < pieces; i++, b += cols) {
		double has = fmax(row_sum(b, cols, 0, 1) / cols, (double)n->altup_rescale.least);
		float mul = (float)sqrt(want / has);
		if (n->altup_rescale.mean)
			o->k->add_scaled(y, y, b, mul, cols);
		else
			o->k->scale(y + (size_t)(i + 1) * (size_t)cols, b, mul, cols);
	}
	if (n->altup_rescale.mean)
		o->k->scale(y, y, 1 / (float)(pieces + 1), cols);
}
