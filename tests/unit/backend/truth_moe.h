/* tests/unit/backend/truth_moe.h - experts in float64; part of truth.h */
#ifndef TESTS_TRUTH_MOE_H
#define TESTS_TRUTH_MOE_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <infer/type.h>
#include "backend/backend.h"

struct truth {
	const struct backend_model *m;
	int rows, second; /* position of the second part; 0: there is none */
	const int32_t *ids;
	double **value;
};

static const struct graph_node *truth_node(const struct truth *t, int i)
{
	return &t->m->graph->nodes[i];
}

/* Row r of matrix e of a weight. */
static void truth_row(const struct weight *w, int e, int64_t r, float *out)
{
	infer_error err;

	if (infer_type_decode(w->type, out, (const char *)w->at[e] + (size_t)r * w->row_bytes,
	                      (size_t)w->ne[0], &err))
		abort();
}

static double truth_dot(const struct weight *w, int e, int64_t r, const double *x)
{
	float *row = malloc((size_t)w->ne[0] * sizeof(float));
	double sum = 0;

	truth_row(w, e, r, row);
	for (int64_t i = 0; i < w->ne[0]; i++)
		sum += (double)row[i] * x[i];
	free(row);
	return sum;
}

/* Take the experts outside the best groups out of the choice. */
static void truth_groups(const struct graph_node *n, const double *score, int experts, char *taken)
{
	int groups = n->route.groups, each = experts / groups;
	char *kept = calloc((size_t)groups, 1), *seen = calloc((size_t)experts, 1);
	double *of = calloc((size_t)groups, sizeof *of);

	for (int g = 0; g < groups; g++)
		for (int i = 0; i < n->route.group_best; i++) {
			int best = -1;
			for (int e = g * each; e < (g + 1) * each; e++)
				if (!seen[e] && (best < 0 || score[e] > score[best]))
					best = e;
			seen[best] = 1;
			of[g] += score[best];
		}
	for (int i = 0; i < n->route.groups_used; i++) {
		int best = -1;
		for (int g = 0; g < groups; g++)
			if (!kept[g] && (best < 0 || of[g] > of[best]))
				best = g;
		kept[best] = 1;
	}
	for (int e = 0; e < experts; e++)
		taken[e] = !kept[e / each];
	free(kept);
	free(seen);
	free(of);
}

static void truth_route(const struct truth *t, const struct graph_node *n, double *y,
                        const double *x)
{
	int experts = truth_node(t, n->src[0])->cols, used = n->route.used;
	double *p = malloc((size_t)experts * sizeof(double)),
	       *score = malloc((size_t)experts * sizeof(double)), most = -INFINITY, sum = 0;
	char *taken = calloc((size_t)experts, 1);

	for (int e = 0; e < experts; e++)
		most = x[e] > most ? x[e] : most;
	for (int e = 0; e < experts; e++)
		sum += exp(x[e] - most);
	for (int e = 0; e < experts; e++) {
		p[e] = n->route.sigmoid ? 1 / (1 + exp(-x[e])) : exp(x[e] - most) / sum;
		score[e] = p[e];
		if (n->w[0] >= 0)
			score[e] += (double)((const float *)t->m->weights[n->w[0]].at[0])[e];
	}
	sum = 0;
	if (n->route.groups > 1)
		truth_groups(n, score, experts, taken);
	for (int r = 0; r < used; r++) {
		int best = -1;
		double top = -INFINITY;
		for (int e = 0; e < experts; e++) {
			if (!taken[e] && score[e] > top) {
				top = score[e];
				best = e;
			}
		}
		taken[best] = 1;
		y[r] = best;
		y[used + r] = p[best];
		sum += p[best];
	}
	for (int r = 0; r < used; r++)
		y[used + r] = (n->route.norm ? y[used + r] / sum : y[used + r]) *
		              (n->route.mul == 0 ? 1 : (double)n->route.mul) *
		              (n->w[1] < 0 ? 1
		                           : (double)((const float *)t->m->weights[n->w[1]]
		                                              .at[0])[(int)y[r]]);
	free(taken);
	free(score);
	free(p);
}

static double truth_act(int gelu, double x)
{
	return gelu ? 0.5 * x *
	                       (1 +
	                        tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)))
	            : x / (1 + exp(-x));
}

/* Element i of the bias of expert e, 0 where there is none. */
static double truth_bias(const struct truth *t, int w, int e, int i)
{
	const struct weight *b = w < 0 ? NULL : &t->m->weights[w];

	return b ? (double)((const float *)b->at[0])[e * b->ne[0] + i] : 0;
}

static double truth_pair(const struct graph_node *n, double g, double u)
{
	double limit = (double)n->moe.limit;

	if (n->moe.act != 2)
		return truth_act(n->moe.act, g) * u;
	g = fmin(g, limit);
	u = fmax(-limit, fmin(limit, u));
	return g / (1 + exp(-1.702 * g)) * (u + 1);
}

static void truth_moe(const struct truth *t, const struct graph_node *n, double *y, const double *x,
                      const double *route)
{
	const struct weight *w = t->m->weights;
	double *h = malloc((size_t)n->moe.ff * sizeof(double));

	memset(y, 0, (size_t)n->cols * sizeof(double));
	for (int r = 0; r < n->moe.used; r++) {
		int e = (int)route[r];
		double weight = route[n->moe.used + r], in = n->moe.weight_before_ffn ? weight : 1;
		for (int i = 0; i < n->moe.ff; i++)
			h[i] = truth_pair(n,
			                  in * truth_dot(&w[n->w[0]], e, i, x) +
			                          truth_bias(t, n->w[3], e, i),
			                  in * truth_dot(&w[n->w[1]], e, i, x) +
			                          truth_bias(t, n->w[4], e, i));
		for (int c = 0; c < n->cols; c++)
			y[c] += (n->moe.weight_before_ffn ? 1 : weight) *
			        (truth_dot(&w[n->w[2]], e, c, h) + truth_bias(t, n->w[5], e, c));
	}
	free(h);
}
#endif
