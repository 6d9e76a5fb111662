/* tests/unit/backend/truth.h - what a graph means, in float64: every op straight from op_list.h,
 * one sequence, no cache. */
#ifndef TESTS_TRUTH_H
#define TESTS_TRUTH_H
#include "truth_moe.h"

static void truth_embed(const struct truth *t, const struct graph_node *n, double *y, int row)
{
	float *x = malloc((size_t)n->cols * sizeof(float));

	truth_row(&t->m->weights[n->w[0]], 0,
	          n->embed.index == 0   ? t->ids[row]
	          : n->embed.index == 1 ? row
	                                : t->second && row >= t->second,
	          x);
	for (int c = 0; c < n->cols; c++)
		y[c] = (double)x[c] * (n->embed.mul == 0 ? 1 : (double)n->embed.mul);
	free(x);
}

static double truth_float(const struct truth *t, int w, int i)
{
	return (double)((const float *)t->m->weights[w].at[0])[i];
}

static void truth_norm(const struct truth *t, const struct graph_node *n, double *y,
                       const double *x)
{
	int cols = n->norm.first ? n->norm.first : n->cols / n->norm.groups,
	    step = n->w[0] >= 0 && t->m->weights[n->w[0]].ne[1] > 1 ? cols : 0;

	memcpy(y, x, (size_t)n->cols * sizeof *y);
	for (int g = 0; g < n->norm.groups; g++) {
		double sum = 0, mean = 0;
		for (int c = 0; c < cols && n->norm.centred; c++)
			mean += x[g * cols + c] / cols;
		for (int c = 0; c < cols; c++)
			sum += (x[g * cols + c] - mean) * (x[g * cols + c] - mean);
		for (int c = 0; c < cols; c++)
			y[g * cols + c] =
				(x[g * cols + c] - mean) / sqrt(sum / cols + (double)n->norm.eps) *
					(n->w[0] < 0 ? 1 : truth_float(t, n->w[0], g * step + c)) +
				(n->w[1] < 0 ? 0 : truth_float(t, n->w[1], c));
	}
}

static void truth_mm(const struct truth *t, const struct graph_node *n, double *y, const double *x)
{
	for (int c = 0; c < n->cols; c++) {
		y[c] = truth_dot(&t->m->weights[n->w[0]], 0, c, x) *
		       (n->mm.mul == 0 ? 1 : (double)n->mm.mul);
		if (n->w[1] >= 0)
			y[c] += (double)((const float *)t->m->weights[n->w[1]].at[0])[c];
		if (n->mm.cap != 0)
			y[c] = (double)n->mm.cap * tanh(y[c] / (double)n->mm.cap);
	}
}

static void truth_head_mm(const struct truth *t, const struct graph_node *n, double *y,
                          const double *x)
{
	const struct weight *w = &t->m->weights[n->w[0]];
	int heads = n->head_mm.heads, in = truth_node(t, n->src[0])->cols / heads,
	    k = (int)w->ne[0], left = in - k, out = n->cols / heads;

	for (int h = 0; h < heads; h++) {
		for (int c = 0; c < out - left; c++)
			y[h * out + c] = truth_dot(w, h, c, x + h * in);
		for (int c = 0; c < left; c++)
			y[h * out + out - left + c] = x[h * in + k + c];
	}
}

static void truth_rope(const struct truth *t, const struct graph_node *n, double *y,
                       const double *x, int pos)
{
	const struct backend_rope *r = &t->m->ropes[n->rope.table];
	int rot = n->rope.rot;

	memcpy(y, x, (size_t)n->cols * sizeof(double));
	for (int h = 0; h < n->rope.heads; h++)
		for (int i = 0; i < rot / 2; i++) {
			int a = h * n->rope.dk + n->rope.from + (n->rope.halves ? i : 2 * i),
			    b = n->rope.halves ? a + rot / 2 : a + 1;
			double c = cos(pos * r->freq[i]) * r->mscale,
			       s = sin(pos * r->freq[i]) * r->mscale;
			y[a] = x[a] * c - x[b] * s;
			y[b] = x[a] * s + x[b] * c;
		}
}

/* One head of one row over the positions up to its own, and the later ones that it sees. */
static void truth_head(const struct truth *t, const struct graph_node *n, double *y,
                       const double *q, int own, int h)
{
	const struct graph_node *put = truth_node(t, n->src[1]);
	int dk = n->attn.dk, dv = n->attn.dv, kv = h / (n->attn.heads / n->attn.kv_heads),
	    from = n->attn.window && own >= n->attn.window ? own - n->attn.window + 1 : 0,
	    pos = n->attn.later < t->rows - own ? own + n->attn.later : t->rows - 1;

	if (n->attn.chunked)
		from = own / n->attn.window * n->attn.window;
	double *s = malloc((size_t)(pos + 1) * sizeof(double)), most = n->w[0] < 0 ? -INFINITY : 0,
	       sum = 0;

	if (n->w[0] >= 0)
		most = (double)((const float *)t->m->weights[n->w[0]].at[0])[h];
	double sink = most;
	for (int p = from; p <= pos; p++) {
		const double *k = t->value[put->src[0]] +
		                  (size_t)p * (size_t)(n->attn.kv_heads * dk) + kv * dk;
		s[p] = 0;
		for (int i = 0; i < dk; i++)
			s[p] += q[h * dk + i] * k[i];
		s[p] *= (double)n->attn.scale;
		if (n->attn.cap != 0)
			s[p] = (double)n->attn.cap * tanh(s[p] / (double)n->attn.cap);
		most = s[p] > most ? s[p] : most;
	}
	for (int i = 0; i < dv; i++)
		y[h * dv + i] = 0;
	for (int p = from; p <= pos; p++) {
		const double *v =
			t->value[put->src[1]] +
			(size_t)p * (size_t)(put->kv_put.mla ? dk : n->attn.kv_heads * dv) +
			kv * dv;
		double e = exp(s[p] - most);
		sum += e;
		for (int i = 0; i < dv; i++)
			y[h * dv + i] += e * v[i];
	}
	if (n->w[0] >= 0)
		sum += exp(sink - most);
	for (int i = 0; i < dv; i++)
		y[h * dv + i] /= sum;
	free(s);
}

static const double *truth_source(const struct truth *t, const struct graph_node *n, int src,
                                  int row)
{
	return t->value[n->src[src]] + (size_t)row * (size_t)truth_node(t, n->src[src])->cols;
}

static void truth_conv(const struct truth *t, const struct graph_node *n, double *y, int row)
{
	const float *w = t->m->weights[n->w[0]].at[0];

	for (int c = 0; c < n->cols; c++) {
		double sum = n->w[1] < 0 ? 0 : truth_float(t, n->w[1], c);
		for (int k = 0; k < n->conv1d.taps && k <= row; k++)
			sum += (double)w[(c + 1) * n->conv1d.taps - 1 - k] *
			       truth_source(t, n, 0, row - k)[c];
		y[c] = n->conv1d.no_silu ? sum : sum / (1 + exp(-sum));
	}
}

/* One head of all rows, in order; the state begins at 0. */
static void truth_delta(const struct truth *t, const struct graph_node *n, double *y, int h)
{
	int dk = n->gated_delta.dk, dv = n->gated_delta.dv, nk = n->gated_delta.k_heads,
	    kh = n->gated_delta.tiled ? h % nk : h / (n->gated_delta.heads / nk);
	double *s = calloc((size_t)(dk * dv), sizeof *s);
	double a = (double)((const float *)t->m->weights[n->w[0]].at[0])[h],
	       shift = (double)((const float *)t->m->weights[n->w[1]].at[0])[h];

	y += h * dv;
	for (int r = 0; r < t->rows; r++, y += n->cols) {
		const double *q = truth_source(t, n, 0, r) + kh * dk,
			     *k = truth_source(t, n, 1, r) + kh * dk,
			     *v = truth_source(t, n, 2, r) + h * dv;
		double step = log1p(exp(truth_source(t, n, 4, r)[h] + shift)), g = exp(a * step),
		       beta = n->gated_delta.ssm ? step
		                                 : 1 / (1 + exp(-truth_source(t, n, 3, r)[h]));
		for (int c = 0; c < dv; c++) {
			double m = 0;
			for (int i = 0; i < dk; i++)
				m += (s[i * dv + c] *= g) * k[i];
			m = n->gated_delta.ssm ? 0 : m;
			y[c] = n->w[2] < 0 ? 0 : truth_float(t, n->w[2], h) * v[c];
			for (int i = 0; i < dk; i++) {
				s[i * dv + c] += k[i] * beta * (v[c] - m);
				y[c] += (double)n->gated_delta.scale * s[i * dv + c] * q[i];
			}
		}
	}
	free(s);
}

static void truth_part(const struct truth *t, const struct graph_node *n, double *y,
                       const double *x)
{
	int own = n->cols / (n->slice.times ? n->slice.times : 1),
	    of = truth_node(t, n->src[0])->cols / n->slice.pieces, cols = own / n->slice.pieces;

	for (int c = 0; c < n->cols; c++)
		y[c] = x[c % own / cols * of + n->slice.from + c % cols];
}

static void truth_mix(const struct truth *t, const struct graph_node *n, double *y, int row)
{
	const double *a = truth_source(t, n, 0, row), *b = truth_source(t, n, 1, row),
		     *by = truth_source(t, n, 2, row);
	int cols = n->cols / n->altup_mix.pieces;

	for (int c = 0; c < n->cols; c++) {
		y[c] = a[c];
		for (int j = 0; j < n->altup_mix.by; j++)
			y[c] += (by[c / cols * n->altup_mix.by + j] + (double)n->altup_mix.plus) *
			        b[j * cols + c % cols];
	}
}

static double truth_mean(const double *x, int n, double from, int power)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += pow(x[i] - from, power) / n;
	return sum;
}

static void truth_level(const struct truth *t, const struct graph_node *n, double *y,
                        const double *a, const double *b)
{
	int cols = truth_node(t, n->src[0])->cols, more = truth_node(t, n->src[1])->cols / cols;

	for (int i = 0; i <= more; i++)
		for (int c = 0; c < cols; c++) {
			const double *own = b + (i - 1) * cols;
			double z = i ? own[c] * sqrt(truth_mean(a, cols, 0, 2) /
			                             fmax(truth_mean(own, cols, 0, 2),
			                                  (double)n->altup_rescale.least))
			             : a[c];
			if (!n->altup_rescale.mean)
				y[i * cols + c] = z;
			else
				y[c] = (i ? y[c] : 0) + z / (more + 1);
		}
}

static void truth_cut(const struct graph_node *n, double *y, const double *x)
{
	double mean = truth_mean(x, n->cols, 0, 1),
	       least = mean + (double)n->gauss_topk.mul * sqrt(truth_mean(x, n->cols, mean, 2));

	for (int c = 0; c < n->cols; c++)
		y[c] = fmax(0, x[c] - least);
}

static void truth_streams(const struct truth *t, const struct graph_node *n, double *y, int row)
{
	const double *a = truth_source(t, n, 0, row);

	if (n->op == GRAPH_GAUSS_TOPK)
		truth_cut(n, y, a);
	else if (n->op == GRAPH_ALTUP_MIX)
		truth_mix(t, n, y, row);
	else
		truth_level(t, n, y, a, truth_source(t, n, 1, row));
}

static double truth_gelu(double x) { return x * 0.5 * erfc(-x / sqrt(2)); }

static void truth_elements(const struct truth *t, const struct graph_node *n, double *y,
                           const double *a, const double *b, int pos)
{
	for (int c = 0; c < n->cols; c++)
		switch ((enum graph_op)n->op) {
		case GRAPH_ADD:
			y[c] = a[c];
			int wide = n->cols / (n->add.pieces ? n->add.pieces : 1);
			if (c / wide >= n->add.from)
				y[c] += (n->add.mul == 0 ? 1 : (double)n->add.mul) * b[c % wide];
			break;
		case GRAPH_SILU_MUL:
			y[c] = truth_act(0, a[c]) * b[c];
			break;
		case GRAPH_GELU_MUL:
			y[c] = (n->gelu_mul.erf ? truth_gelu(a[c]) : truth_act(1, a[c])) * b[c];
			break;
		case GRAPH_GELU:
			y[c] = truth_gelu(a[c]);
			break;
		case GRAPH_GATE:
			y[c] = b[truth_node(t, n->src[1])->cols == 1 ? 0 : c];
			y[c] = n->gate.no_sigmoid ? a[c] * y[c] : a[c] / (1 + exp(-y[c]));
			break;
		case GRAPH_ATTN_TEMP:
			y[c] = a[c] * (1 + (double)n->attn_temp.beta *
			                           log(1 + (pos + n->attn_temp.from) /
			                                           n->attn_temp.length));
			break;
		case GRAPH_SCALE:
			y[c] = a[c] * (double)n->scale.mul *
			       (n->w[0] < 0
			                ? 1
			                : truth_float(t, n->w[0],
			                              t->m->weights[n->w[0]].ne[0] == 1 ? 0 : c));
			break;
		case GRAPH_PERMUTE:
			y[c] = a[((const int32_t *)t->m->weights[n->w[0]].at[0])[c]];
			break;
		case GRAPH_GET_ROWS: /* of every row */
			y[c] = a[c];
			break;
		default:
			fail_msg("truth.h does not compute %s", graph_op_name(n->op));
		}
}

static void truth_node_row(const struct truth *t, int i, double *y, int r)
{
	const struct graph_node *n = truth_node(t, i);
	const double *a = n->src[0] < 0 ? NULL : truth_source(t, n, 0, r),
		     *b = n->src[1] < 0 ? NULL : truth_source(t, n, 1, r);

	switch (n->op) {
	case GRAPH_EMBED:
		truth_embed(t, n, y, r);
		break;
	case GRAPH_NORM:
		truth_norm(t, n, y, a);
		break;
	case GRAPH_MM:
		truth_mm(t, n, y, a);
		break;
	case GRAPH_ROPE:
		truth_rope(t, n, y, a, r);
		break;
	case GRAPH_HEAD_MM:
		truth_head_mm(t, n, y, a);
		break;
	case GRAPH_KV_PUT:
	case GRAPH_SEND:
		break;
	case GRAPH_RECV: /* right behind the SEND of the same edge */
		memcpy(y, t->value[truth_node(t, i - 1)->src[0]] + r * n->cols,
		       (size_t)n->cols * sizeof *y);
		break;
	case GRAPH_ROUTE:
		truth_route(t, n, y, a);
		break;
	case GRAPH_MOE:
		truth_moe(t, n, y, a, b);
		break;
	case GRAPH_SLICE:
		truth_part(t, n, y, a);
		break;
	case GRAPH_GAUSS_TOPK:
	case GRAPH_ALTUP_MIX:
	case GRAPH_ALTUP_RESCALE:
		truth_streams(t, n, y, r);
		break;
	case GRAPH_CONV1D:
		truth_conv(t, n, y, r);
		break;
	case GRAPH_GATED_DELTA:
		for (int h = 0; h < n->gated_delta.heads && !r; h++)
			truth_delta(t, n, y, h);
		break;
	case GRAPH_ATTN:
		for (int h = 0; h < n->attn.heads; h++)
			truth_head(t, n, y, a, r, h);
		break;
	default:
		truth_elements(t, n, y, a, b, r);
		break;
	}
}

__attribute__((unused)) static void truth_eval(struct truth *t)
{
	t->value = calloc((size_t)t->m->graph->n, sizeof *t->value);
	for (int i = 0; i < t->m->graph->n; i++) {
		int cols = truth_node(t, i)->cols;

		t->value[i] = calloc((size_t)t->rows * (size_t)cols + 1, sizeof(double));
		for (int r = 0; r < t->rows; r++)
			truth_node_row(t, i, t->value[i] + (size_t)r * (size_t)cols, r);
	}
}

__attribute__((unused)) static void truth_free(struct truth *t)
{
	for (int i = 0; i < t->m->graph->n; i++)
		free(t->value[i]);
	free(t->value);
}
#endif
