/* plan/shape.c - the shape of a model: the nodes of its graph, equal ones counted together */
#include <infer/plan.h>
#include "arch/arch.h"
#include "base/err.h"
#include "graph/graph.h"
#include "plan/shape.h"
#include "probe/probe.h"

#include <string.h>

int shape_slot(const char *name)
{
	for (int i = 0; probe_elem_name(i); i++)
		if (!strcmp(probe_elem_name(i), name))
			return i;
	return 0;
}

/* Return the row operation of struct kern whose cost is closest to that of the node. */
static int row_slot(const struct graph_node *n)
{
	switch ((enum graph_op)n->op) {
	case GRAPH_NORM:
		return shape_slot(n->norm.centred ? "layer_norm" : "rms_norm");
	case GRAPH_ROPE:
		return shape_slot(n->rope.halves ? "rope_halves" : "rope_pairs");
	case GRAPH_SILU_MUL:
		return shape_slot("silu_mul");
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
		return shape_slot(n->op == GRAPH_GELU || n->gelu_mul.erf ? "gelu_erf_mul"
		                                                         : "gelu_mul");
	case GRAPH_GATE:
		return shape_slot("sigmoid_mul");
	case GRAPH_ADD:
		return shape_slot("add_scaled");
	case GRAPH_ROUTE:
		return shape_slot("lse");
	case GRAPH_CONV1D:
		return shape_slot("add_scaled");
	case GRAPH_KV_PUT:
	case GRAPH_EMBED:
	case GRAPH_MM:
	case GRAPH_HEAD_MM:
	case GRAPH_ATTN:
	case GRAPH_SLICE:
	case GRAPH_PERMUTE:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_ALTUP_MIX:
	case GRAPH_ALTUP_RESCALE:
	case GRAPH_GATED_DELTA:
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
	case GRAPH_RECV:
	case GRAPH_SEND:
	case GRAPH_GET_ROWS:
	case GRAPH_MOE:
	case GRAPH_OPS:
		break;
	}
	return shape_slot("scale");
}

int shape_add(struct infer_shape *s, const struct infer_work *w, infer_error *err)
{
	for (int i = 0; i < s->n_work; i++) {
		struct infer_work like = s->work[i];
		like.times = 1;
		if (!memcmp(&like, w, sizeof like)) {
			s->work[i].times++;
			return INFER_OK;
		}
	}
	if (s->n_work == INFER_WORKS)
		return err_set(err, INFER_EUNSUP,
		               "planning: the layers have more than %d different operations",
		               INFER_WORKS);
	s->work[s->n_work++] = *w;
	return INFER_OK;
}

/* Add a product.  starts: 1 for the first product of its region; region: weights of all its products. */
static int add_matrix(struct infer_shape *s, const struct weight *w, int out, int starts,
                      int64_t region, infer_error *err)
{
	struct infer_work work;

	memset(&work, 0, sizeof work);
	work.kind = INFER_WORK_MATRIX;
	work.times = 1;
	work.out = out;
	work.type = w->type;
	work.n = w->ne[1];
	work.k = w->ne[0];
	work.starts = starts;
	work.region = region;
	return shape_add(s, &work, err);
}

/* Add the products of a weight that has one matrix for each head. */
static int add_heads(struct infer_shape *s, const struct weight *w, int out, infer_error *err)
{
	for (int i = 0; i < w->n; i++)
		TRY(add_matrix(s, w, out, !i, w->ne[0] * w->ne[1] * w->n, err));
	return INFER_OK;
}

static int add_experts(struct infer_shape *s, const struct backend_model *parts,
                       const struct graph_node *n, int out, infer_error *err)
{
	struct infer_work w;

	memset(&w, 0, sizeof w);
	w.kind = INFER_WORK_EXPERTS;
	w.times = 1;
	w.out = out;
	w.used = n->moe.used;
	for (int i = 0; i < 3; i++) {
		const struct weight *of = &parts->weights[n->w[i]];
		w.experts = of->n;
		w.type = of->type;
		w.n = of->ne[1];
		w.k = of->ne[0];
		w.starts = i ? 0 : MOE_REGIONS;
		w.region = w.n * w.k * w.used;
		TRY(shape_add(s, &w, err));
	}
	return INFER_OK;
}

/* True if node i of the graph is a product with the same source as node `with`. */
static int same_source(const struct graph *g, int32_t i, int32_t with)
{
	return g->nodes[i].op == GRAPH_MM && g->nodes[i].src[0] == g->nodes[with].src[0];
}

/* Add the product of node `at`, with the region that it shares. */
static int add_product(struct infer_shape *s, const struct backend_model *parts, int32_t at,
                       infer_error *err)
{
	const struct graph *g = parts->graph;
	int64_t region = 0;
	int starts = 1;

	for (int32_t i = 0; i < g->n; i++) {
		if (!same_source(g, i, at))
			continue;
		const struct weight *w = &parts->weights[g->nodes[i].w[0]];
		region += w->ne[0] * w->ne[1];
		starts &= i >= at;
	}
	return add_matrix(s, &parts->weights[g->nodes[at].w[0]], g->nodes[at].rows == GRAPH_OUT,
	                  starts, region, err);
}

/* True if an earlier node reads the same K and V. */
static int is_read_before(const struct graph *g, int32_t at)
{
	for (int32_t i = 0; i < at; i++)
		if (g->nodes[i].op == GRAPH_ATTN && g->nodes[i].src[1] == g->nodes[at].src[1])
			return 1;
	return 0;
}

static void set_attn(struct infer_work *w, const struct graph_node *n, int latent)
{
	w->kind = INFER_WORK_ATTN;
	w->starts = 1;
	w->heads = n->attn.heads;
	w->kv_heads = n->attn.kv_heads;
	w->dk = n->attn.dk;
	w->dv = n->attn.dv;
	w->window = n->attn.window;
	w->latent = latent;
	w->slot = shape_slot("attn_merge");
}

static void set_delta(struct infer_work *w, const struct graph_node *n)
{
	w->kind = INFER_WORK_STATE;
	w->starts = 2; /* with its convolution */
	w->heads = n->gated_delta.heads;
	w->dk = n->gated_delta.dk;
	w->dv = n->gated_delta.dv;
	w->slot = shape_slot("add_scaled");
}

static int add_node(struct infer_shape *s, const struct backend_model *parts, int32_t at,
                    infer_error *err)
{
	const struct graph_node *n = &parts->graph->nodes[at];
	struct infer_work w;

	memset(&w, 0, sizeof w); /* because it is compared as bytes */
	w.times = 1;
	w.out = n->rows == GRAPH_OUT;
	switch ((enum graph_op)n->op) {
	case GRAPH_MM:
		return add_product(s, parts, at, err);
	case GRAPH_MOE:
		return add_experts(s, parts, n, w.out, err);
	case GRAPH_HEAD_MM:
		return add_heads(s, &parts->weights[n->w[0]], w.out, err);
	case GRAPH_ATTN:
		set_attn(&w, n, parts->graph->nodes[n->src[1]].kv_put.mla);
		w.borrows = is_read_before(parts->graph, at);
		return shape_add(s, &w, err);
	case GRAPH_GATED_DELTA:
		set_delta(&w, n);
		return shape_add(s, &w, err);
	case GRAPH_EMBED:
	case GRAPH_NORM:
	case GRAPH_ROPE:
	case GRAPH_KV_PUT:
	case GRAPH_SLICE:
	case GRAPH_PERMUTE:
	case GRAPH_GAUSS_TOPK:
	case GRAPH_ALTUP_MIX:
	case GRAPH_ALTUP_RESCALE:
	case GRAPH_CONV1D:
	case GRAPH_ADD:
	case GRAPH_SILU_MUL:
	case GRAPH_GELU_MUL:
	case GRAPH_GELU:
	case GRAPH_GATE:
	case GRAPH_ATTN_TEMP:
	case GRAPH_SCALE:
	case GRAPH_RECV:
	case GRAPH_SEND:
	case GRAPH_GET_ROWS:
	case GRAPH_ROUTE:
	case GRAPH_OPS:
		break;
	}
	w.kind = INFER_WORK_ROWS;
	w.slot = row_slot(n);
	w.k = n->cols;
	if (n->op == GRAPH_KV_PUT) {
		w.kind = INFER_WORK_PUT;
		w.slot = 0;
		w.k = (int64_t)n->kv_put.heads *
		      (n->kv_put.dk + (n->kv_put.mla ? 0 : n->kv_put.dv));
	} else if (n->op == GRAPH_ALTUP_MIX)
		w.k = (int64_t)n->cols * n->altup_mix.by;
	else if (n->op == GRAPH_CONV1D)
		w.k = (int64_t)n->cols * n->conv1d.taps;
	return shape_add(s, &w, err);
}

/* True if the graph multiplies rows by the matrix. */
static int is_product(const struct backend_model *parts, const struct weight *w)
{
	for (int32_t i = 0; i < parts->graph->n; i++)
		if (parts->graph->nodes[i].op == GRAPH_MM &&
		    parts->weights[parts->graph->nodes[i].w[0]].at[0] == w->at[0])
			return 1;
	return 0;
}

/* Return the bytes of the embedding tables that no product reads.  Sets *elements to their number
 * of elements. */
static double table_bytes(const struct backend_model *parts, double *elements)
{
	double bytes = 0;

	*elements = 0;

	for (int32_t i = 0; i < parts->graph->n; i++) {
		const struct graph_node *n = &parts->graph->nodes[i];
		if (n->op != GRAPH_EMBED)
			continue;
		const struct weight *w = &parts->weights[n->w[0]];
		if (is_product(parts, w))
			continue;
		bytes += (double)w->row_bytes * (double)w->ne[1];
		*elements += (double)w->ne[0] * (double)w->ne[1];
	}
	return bytes;
}

double shape_active_params(const struct infer_shape *s)
{
	double sum = 0;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		double one = (double)w->n * (double)w->k * w->times;
		if (w->kind == INFER_WORK_MATRIX)
			sum += one;
		else if (w->kind == INFER_WORK_EXPERTS)
			sum += one * w->used;
	}
	return sum;
}

/* Return the parallel regions of a step with many rows. */
static int32_t count_regions(const struct infer_shape *s)
{
	int32_t n = 0;

	for (int i = 0; i < s->n_work; i++)
		n += s->work[i].starts * s->work[i].times;
	return n;
}

int infer_shape_of(struct infer_shape *s, const infer_model *m, infer_error *err)
{
	struct backend_model parts = arch_parts(m);
	struct infer_gguf_info gguf;

	memset(s, 0, sizeof *s);
	s->layers = m->h.n_layers;
	s->vocab = m->h.n_vocab;
	s->embd = m->h.n_embd;
	s->ctx_train = m->h.ctx_train;
	s->experts = m->h.n_expert;
	s->used = m->h.n_expert_used;
	s->window = m->h.window;
	for (int32_t l = 0; l < m->h.n_layers; l++)
		s->state_bytes += m->h.recurrent[l] ? 4.0 * m->h.state : 0;
	s->params = (double)m->n_params;
	s->weight_bytes = (double)m->weight_bytes;
	if (!infer_file_gguf(m->file, &gguf, NULL))
		s->header_bytes = (double)gguf.header_bytes;
	for (int32_t i = 0; i < parts.graph->n; i++)
		TRY(add_node(s, &parts, i, err));
	s->nodes = parts.graph->n;
	s->regions = count_regions(s);
	s->table_bytes = table_bytes(&parts, &s->table_elements);
	s->active_params = shape_active_params(s);
	return INFER_OK;
}

static double matrix_bytes(const struct infer_work *w)
{
	return (double)w->n * (double)w->k * element_bytes(w->type) * w->times *
	       (w->kind == INFER_WORK_EXPERTS ? w->experts : 1);
}

/* Return the type of half of the down projections in a mix such as Q4_K_M; the same type if there is no such mix. */
static int better_type(int type)
{
	return type == INFER_Q5_K || type == INFER_Q4_K ? INFER_Q6_K
	       : type == INFER_Q3_K                     ? INFER_Q4_K
	       : type == INFER_Q2_K                     ? INFER_Q3_K
	                                                : type;
}

/* Return the row length of the matrices that end a feed-forward block: the longest rows that make a row
 * of the embedding. */
static int64_t down_length(const struct infer_shape *s)
{
	int64_t k = 0;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		if ((w->kind == INFER_WORK_MATRIX || w->kind == INFER_WORK_EXPERTS) &&
		    w->n == s->embd && w->k > k)
			k = w->k;
	}
	return k;
}

/* Change half of the matrices of work i, which end feed-forward blocks, to the better type of the mix. */
static void improve_half(struct infer_shape *s, int i)
{
	struct infer_work *w = &s->work[i];
	int type = better_type(w->type), half = w->times / 2;

	if (!half || type == w->type || w->k % infer_type_info(type)->block ||
	    s->n_work == INFER_WORKS)
		return;
	struct infer_work *more = &s->work[s->n_work++];

	*more = *w;
	more->type = type;
	more->times = half;
	w->times -= half;
}

int shape_fit(int type, int64_t k)
{
	if (k % infer_type_info(type)->block == 0)
		return type;
	switch (type) {
	case INFER_Q2_K:
	case INFER_Q3_K:
		type = INFER_Q4_0;
		break;
	case INFER_Q4_K:
		type = INFER_Q5_0;
		break;
	case INFER_Q5_K:
		type = INFER_Q5_1;
		break;
	case INFER_Q6_K:
		type = INFER_Q8_0;
		break;
	case INFER_IQ1_S:
	case INFER_IQ2_XXS:
	case INFER_IQ3_XXS:
	case INFER_IQ4_XS:
		type = INFER_IQ4_NL;
		break;
	default:
		break;
	}
	return k % infer_type_info(type)->block ? INFER_F16 : type;
}

/* Change work i to the type, or to one that its row length allows. */
static void retype_work(struct infer_work *w, int type)
{
	if (w->adapter)
		return;
	/* MXFP4 is a type alone, without a mix */
	if (w->out && type != INFER_MXFP4 && element_bytes(type) < element_bytes(INFER_Q6_K))
		type = INFER_Q6_K;
	if (w->type != INFER_F32)
		w->type = shape_fit(type, w->k);
}

void infer_shape_retype(struct infer_shape *s, int type)
{
	int64_t down = down_length(s);
	double was = 0, is = 0;

	for (int i = 0, n = s->n_work; i < n; i++) {
		struct infer_work *w = &s->work[i];

		if (w->kind != INFER_WORK_MATRIX && w->kind != INFER_WORK_EXPERTS)
			continue;
		was += matrix_bytes(w);
		retype_work(w, type);
		if (!w->out && w->n == s->embd && w->k == down && w->type == type)
			improve_half(s, i);
	}
	for (int i = 0; i < s->n_work; i++)
		if (s->work[i].kind == INFER_WORK_MATRIX || s->work[i].kind == INFER_WORK_EXPERTS)
			is += matrix_bytes(&s->work[i]);
	if (s->table_bytes > 0) {
		double table = s->table_elements * element_bytes(type);
		was += s->table_bytes;
		is += table;
		s->table_bytes = table;
	}
	s->weight_bytes += is - was;
}

/* Return the number of recurrent states that a sequence of n positions keeps: those of its earlier
 * pages and those that a prefill step writes. */
static double states_held(int64_t n)
{
	int64_t pages = (n + 31) / 32;

	return pages < 4 ? (double)pages : 4;
}

double infer_shape_kv(const struct infer_shape *s, int64_t n, int k_type, int v_type)
{
	double sum = states_held(n) * s->state_bytes;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];

		if (w->kind != INFER_WORK_ATTN || w->borrows)
			continue;
		int64_t seen = w->window && w->window < n ? w->window : n;
		sum += (double)seen * w->times * w->kv_heads *
		       (w->dk * element_bytes(k_type) +
		        (w->latent ? 0 : w->dv) * element_bytes(v_type));
	}
	return sum;
}

double infer_experts_touched(int experts, int used, double rows)
{
	double missed = 1;
	/* (1 - used / experts) ^ rows by repeated squaring; rows is an integer */
	double base = 1 - (double)used / experts;

	for (int64_t e = (int64_t)rows; e > 0; e >>= 1) {
		if (e & 1)
			missed *= base;
		base *= base;
	}
	return experts * (1 - missed);
}
