/* plan/dims.c - the shape of a decoder from its dimensions */
#include <infer/dims.h>
#include "base/err.h"
#include "plan/shape.h"

#include <string.h>

/* The shape that is being built, of one layer. */
struct build {
	struct infer_shape *s;
	const struct infer_dims *d;
	infer_error *err;
};

/* Add a product of n rows of length k.  region: all rows that are multiplied by the same source, if the
 * product is the first with that source; 0: it is a later one. */
static int add_matrix(struct build *b, int64_t n, int64_t k, int64_t region, int out)
{
	struct infer_work w;

	memset(&w, 0, sizeof w); /* because it is compared as bytes */
	w.kind = INFER_WORK_MATRIX;
	w.times = 1;
	w.type = b->d->type;
	w.n = n;
	w.k = k;
	w.out = out;
	w.starts = region > 0;
	w.region = (region > 0 ? region : n) * k;
	b->s->nodes++;
	return shape_add(b->s, &w, b->err);
}

static int add_experts(struct build *b, int64_t n, int64_t k, int starts)
{
	struct infer_work w;

	memset(&w, 0, sizeof w);
	w.kind = INFER_WORK_EXPERTS;
	w.times = 1;
	w.type = b->d->expert_type ? b->d->expert_type : b->d->type;
	w.n = n;
	w.k = k;
	w.experts = b->d->experts;
	w.used = b->d->used;
	w.starts = starts;
	w.region = n * k * w.used;
	return shape_add(b->s, &w, b->err);
}

static int add_rows(struct build *b, int kind, const char *slot, int64_t k)
{
	struct infer_work w;

	memset(&w, 0, sizeof w);
	w.kind = kind;
	w.times = 1;
	w.slot = kind == INFER_WORK_ROWS ? shape_slot(slot) : 0;
	w.k = k;
	b->s->nodes++;
	return shape_add(b->s, &w, b->err);
}

static int add_attn(struct build *b, int windowed)
{
	const struct infer_dims *d = b->d;
	struct infer_work w;

	memset(&w, 0, sizeof w);
	w.kind = INFER_WORK_ATTN;
	w.times = 1;
	w.heads = d->heads;
	w.kv_heads = d->kv_rank ? 1 : d->kv_heads;
	w.dk = d->kv_rank ? d->kv_rank + d->rope : d->head;
	w.dv = d->kv_rank ? d->kv_rank : d->head;
	w.latent = d->kv_rank > 0;
	w.window = windowed ? d->window : 0;
	w.slot = shape_slot("attn_merge");
	w.starts = 1;
	b->s->nodes++;
	TRY(add_rows(b, INFER_WORK_PUT, "", (int64_t)w.kv_heads * (w.dk + (w.latent ? 0 : w.dv))));
	return shape_add(b->s, &w, b->err);
}

/* Add the projections of MLA.  The cache holds what K and V are made of, so each head has matrices
 * into and out of it. */
static int add_latent(struct build *b)
{
	const struct infer_dims *d = b->d;
	int64_t q = (int64_t)d->heads * (d->nope + d->rope);

	if (d->q_rank) {
		TRY(add_matrix(b, d->q_rank, d->embd, d->q_rank + d->kv_rank + d->rope, 0));
		TRY(add_matrix(b, q, d->q_rank, q, 0));
	} else {
		TRY(add_matrix(b, q, d->embd, q + d->kv_rank + d->rope, 0));
	}
	TRY(add_matrix(b, d->kv_rank + d->rope, d->embd, 0, 0));
	for (int i = 0; i < d->heads; i++) {
		TRY(add_matrix(b, d->kv_rank, d->nope, i ? 0 : (int64_t)d->heads * d->kv_rank, 0));
		TRY(add_matrix(b, d->v_head, d->kv_rank, i ? 0 : (int64_t)d->heads * d->v_head, 0));
	}
	return add_matrix(b, d->embd, (int64_t)d->heads * d->v_head, d->embd, 0);
}

static int add_attention_layer(struct build *b, int windowed)
{
	const struct infer_dims *d = b->d;
	int64_t q = (int64_t)d->heads * d->head, kv = (int64_t)d->kv_heads * d->head;

	TRY(add_rows(b, INFER_WORK_ROWS, "rms_norm", d->embd));
	if (d->kv_rank) {
		TRY(add_latent(b));
	} else {
		TRY(add_matrix(b, q, d->embd, q + 2 * kv, 0));
		TRY(add_matrix(b, kv, d->embd, 0, 0));
		TRY(add_matrix(b, kv, d->embd, 0, 0));
		TRY(add_matrix(b, d->embd, q, d->embd, 0));
		TRY(add_rows(b, INFER_WORK_ROWS, "rope_halves", q + kv));
	}
	return add_attn(b, windowed);
}

static int add_ff(struct build *b, int64_t width)
{
	int64_t embd = b->d->embd;

	for (int i = 0; i < b->d->ff_matrices - 1; i++)
		TRY(add_matrix(b, width, embd, i ? 0 : width * (b->d->ff_matrices - 1), 0));
	TRY(add_matrix(b, embd, width, embd, 0));
	return add_rows(b, INFER_WORK_ROWS, "silu_mul", width);
}

static int add_ff_layer(struct build *b, int layer)
{
	const struct infer_dims *d = b->d;

	TRY(add_rows(b, INFER_WORK_ROWS, "rms_norm", d->embd));
	if (!d->experts || layer < d->dense)
		return add_ff(b, d->ff);
	TRY(add_matrix(b, d->experts, d->embd, d->experts, 0));
	TRY(add_experts(b, d->expert_ff, d->embd, MOE_REGIONS));
	TRY(add_experts(b, d->expert_ff, d->embd, 0));
	TRY(add_experts(b, d->embd, d->expert_ff, 0));
	if (d->shared_ff && d->shared_gate)
		TRY(add_matrix(b, 1, d->embd, 1, 0));
	return d->shared_ff ? add_ff(b, d->shared_ff) : INFER_OK;
}

/* Set the sizes that follow from the nodes: parameters and bytes of matrices, and norms in f32. */
static void sum_sizes(struct infer_shape *s, const struct infer_dims *d)
{
	double norms = (double)d->embd * (2.0 * d->layers + 1), params = norms;

	s->weight_bytes = 4 * norms;
	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		double n = (double)w->n * (double)w->k * w->times *
		           (w->kind == INFER_WORK_EXPERTS ? w->experts : 1);
		if (w->kind != INFER_WORK_MATRIX && w->kind != INFER_WORK_EXPERTS)
			continue;
		params += n;
		s->weight_bytes += n * element_bytes(w->type);
	}
	if (!d->tied) {
		s->table_elements = (double)d->vocab * d->embd;
		s->table_bytes = s->table_elements * element_bytes(d->type);
	}
	s->weight_bytes += s->table_bytes;
	s->params = params + s->table_elements;
	s->active_params = shape_active_params(s);
}

int infer_dims_shape(struct infer_shape *s, const struct infer_dims *d, infer_error *err)
{
	struct build b = { s, d, err };

	memset(s, 0, sizeof *s);
	s->layers = d->layers;
	s->vocab = d->vocab;
	s->embd = d->embd;
	s->ctx_train = d->ctx;
	s->experts = d->experts;
	s->used = d->used;
	s->window = d->windowed ? d->window : 0;
	s->header_bytes = 30.0 * d->vocab; /* of a file with tokens and merges, roughly */
	for (int i = 0; i < d->layers; i++) {
		TRY(add_attention_layer(&b, i < d->windowed));
		TRY(add_ff_layer(&b, i));
		TRY(add_rows(&b, INFER_WORK_ROWS, "add_scaled", 2 * (int64_t)d->embd));
	}
	TRY(add_matrix(&b, d->vocab, d->embd, d->vocab, 1));
	for (int i = 0; i < s->n_work; i++)
		s->regions += s->work[i].starts * s->work[i].times;
	sum_sizes(s, d);
	return INFER_OK;
}
