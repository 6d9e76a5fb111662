/* quant/bpw_probe.c - measure the sensitivity of groups of tensors: the KL divergence, on
 * windows of the text, between the model and a copy in memory with that group in a small type. */
#include "base/err.h"
#include "base/num.h"
#include "base/os.h"
#include "file/file.h"
#include "quant/bpw.h"
#include "quant/eval.h"
#include "type/type.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECE = 1 << 14, ALIGN = 64 };
/* With more bits per weight, the divergence of one group would be smaller than rounding errors. */
#define MOST_BPW 6.0

struct scratch {
	float x[PIECE], w[PIECE];
	unsigned char in[PIECE * sizeof(float)];
};
struct bpw_probe {
	struct bpw_search *a;
	infer_model *model, *other;
	infer_engine *engine, *other_engine;
	int32_t *ids; /* [n_ids]: tokens of whole windows, evenly spaced in the text */
	size_t n_ids;
	struct scratch *scratch;
	int32_t n_vocab, from, fresh; /* tokens [from, from + fresh) of each window are scored */
	const float **rows;           /* [fresh]: rows of logits of one step */
	float *own;                   /* [windows][fresh][n_vocab]: logits of the model */
	int is_own;                   /* 1: own is being computed */
	/* the copy of the model with a group in a small type */
	infer_quant plan; /* types and offsets of the copy's tensors */
	unsigned char *image;
	size_t room;                /* bytes allocated for image */
	const struct bpw_tensor *t; /* the tensor being encoded */
	int *type;                  /* [n] type of each tensor in the copy; -1: as in the model */
};

/* ---- the text ---- */

static int choose_windows(struct bpw_probe *p, infer_error *err)
{
	const struct infer_bpw_opts *o = p->a->o;
	size_t size = (size_t)p->a->window, n, all, take;
	int32_t *ids;

	TRY(infer_encode(infer_model_tokenizer(p->model), o->text, o->text_bytes, INFER_ENCODE_ADD,
	                 &ids, &n, err));
	all = n / size;
	take = all < BPW_WINDOWS ? all : BPW_WINDOWS;
	p->n_ids = take * size;
	p->ids = mem_alloc(MEM_QUANT, p->n_ids, sizeof *p->ids);
	for (size_t i = 0; p->ids && i < take; i++)
		memcpy(p->ids + i * size, ids + i * all / take * size, size * sizeof *ids);
	for (size_t i = 0; p->ids && i < take && infer_model_adds_bos(p->model); i++)
		p->ids[i * size] = infer_token_special(infer_model_tokenizer(p->model), INFER_BOS);
	infer_ids_free(ids);
	if (!p->ids)
		return err_nomem(err);
	if (take < 2)
		return err_set(
			err, INFER_EINVAL,
			"the text has %zu tokens; it needs two windows of %zu, %zu tokens: use "
			"more text, or smaller windows by -c",
			n, size, 2 * size);
	return INFER_OK;
}

static int open_engine(infer_model **m, infer_engine **e, struct bpw_probe *p, const infer_file *f,
                       infer_error *err)
{
	const struct infer_model_opts mo = { .ctx = p->a->window };
	struct infer_engine_opts eo = p->a->o->engine;

	TRY(infer_model_open_file(m, f, &mo, err));
	if (!infer_model_tokenizer(*m))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", infer_file_path(f));
	eo.ctx = p->a->window;
	eo.flags |= INFER_ENGINE_NO_PREFIX_CACHE;
	return infer_engine_open(e, *m, &eo, err);
}

/* ---- the copy ---- */

static void on_piece(void *user, int64_t i, int worker)
{
	struct bpw_probe *p = user;
	struct scratch *s = &p->scratch[worker];
	const struct infer_tensor *in = p->t->in;
	const struct quant_tensor *q = &p->plan.tensors[p->t->index];
	const struct type *from = type_get(in->type), *to = type_get(q->type);
	uint64_t at = (uint64_t)i * PIECE;
	size_t n = (size_t)num_min(PIECE, (int64_t)(quant_elements(in) - at));

	from->decode(s->x,
	             file_span(p->a->in, in, type_row_bytes(in->type, (int64_t)at),
	                       type_row_bytes(in->type, (int64_t)n), s->in),
	             n / (size_t)from->info.block);
	const float *importance = NULL;

	if (p->t->importance) {
		bpw_columns(s->w, p->t, at, n);
		importance_weigh(s->w, q->type, s->x, s->w, n);
		importance = s->w;
	} else if (importance_alone(s->w, q->type, s->x, n)) {
		importance = s->w;
	}
	type_encode(q->type, p->image + q->at + type_row_bytes(q->type, (int64_t)at), s->x,
	            importance, n / (size_t)to->info.block, p->a->how);
}

static void copy_bytes(unsigned char *to, const infer_file *f, const struct infer_tensor *t)
{
	const void *at = file_span(f, t, 0, t->bytes, to);

	if (at != to)
		memcpy(to, at, t->bytes);
}

static void fill_copy(struct bpw_probe *p)
{
	struct bpw_search *a = p->a;
	struct quant_shard *s = &p->plan.shards[0];

	memcpy(p->image, s->head.at, s->head.len);
	for (uint64_t i = 0; i < p->plan.n; i++) {
		const struct quant_tensor *q = &p->plan.tensors[i];

		if (q->type == q->in->type)
			copy_bytes(p->image + q->at, a->in, q->in);
	}
	for (size_t i = 0; i < a->n; i++) {
		p->t = &a->t[i];
		if (p->plan.tensors[p->t->index].type != p->t->in->type)
			pool_run(a->pool, (int64_t)((quant_elements(p->t->in) + PIECE - 1) / PIECE),
			         on_piece, p);
	}
}

static void free_headers(infer_quant *q)
{
	for (int i = 0; i < q->n_shards; i++)
		buf_fini(&q->shards[i].head);
	mem_free(q->shards);
	q->shards = NULL;
	q->n_shards = 0;
}

/* Set the types and offsets of all tensors of the copy, and allocate its memory. */
static int plan_copy(struct bpw_probe *p, infer_error *err)
{
	struct bpw_search *a = p->a;

	for (uint64_t i = 0; i < p->plan.n; i++) {
		struct quant_tensor *q = &p->plan.tensors[i];

		q->in = infer_file_tensor_at(a->in, i);
		q->type = (uint8_t)q->in->type;
	}
	for (size_t i = 0; i < a->n; i++)
		if (p->type[i] >= 0)
			p->plan.tensors[a->t[i].index].type = (uint8_t)p->type[i];
	for (uint64_t i = 0; i < p->plan.n; i++) {
		struct quant_tensor *q = &p->plan.tensors[i];

		q->bytes = type_row_bytes(q->type, (int64_t)quant_elements(q->in));
	}
	TRY(quant_heads(&p->plan, err));
	if (p->plan.shards[0].file_bytes <= p->room)
		return INFER_OK;
	mem_free(p->image);
	p->room = p->plan.shards[0].file_bytes;
	p->image = mem_aligned(MEM_QUANT, ALIGN, num_round_up(p->room, ALIGN));
	if (!p->image) {
		err_set(err, INFER_ENOMEM, "out of memory for a copy of the model: %zu bytes",
		        p->room);
		p->room = 0;
	}
	return p->image ? INFER_OK : INFER_ENOMEM;
}

/* ---- the divergence: every copy is compared with the stored logits of the model ---- */

/* Store the logits of one step, or compare them with those stored; its first row is scored row
 * `done` of window w.  Returns the sum of the divergences. */
static double add_rows(struct bpw_probe *p, struct eval_rows *r, size_t w, int32_t done)
{
	size_t row = (size_t)p->n_vocab;
	float *own = p->own + (w * (size_t)p->fresh + (size_t)done) * row;
	const int32_t *token = p->ids + w * (size_t)p->a->window + (size_t)(p->from + done);
	struct eval_point point;
	double sum = 0;

	for (; r->used < r->n; r->used++, own += row, token++) {
		if (p->is_own) {
			memcpy(own, r->at[r->used], row * sizeof *own);
			continue;
		}
		eval_point(&point, r->at[r->used], own, p->n_vocab, *token);
		sum += point.kl;
	}
	return sum;
}

static int probe_window(struct bpw_probe *p, infer_engine *e, size_t w, double *sum,
                        infer_error *err)
{
	struct eval_rows r = { 0 };
	int32_t done = 0;
	int rc = eval_rows_begin(&r, e, p->ids + w * (size_t)p->a->window, p->a->window, p->from,
	                         p->rows, err);

	while (!rc && !r.ended) {
		rc = eval_rows_step(&r, err);
		int32_t n = r.n;

		if (!rc)
			*sum += add_rows(p, &r, w, done);
		done += n;
	}
	eval_rows_stop(&r);
	return rc;
}

/* Run all windows on an engine.  Sets *kl to the mean divergence of all scored tokens; if e runs
 * the model itself, stores its logits instead. */
static int probe_windows(struct bpw_probe *p, infer_engine *e, double *kl, infer_error *err)
{
	size_t windows = p->n_ids / (size_t)p->a->window;
	double sum = 0;

	for (size_t w = 0; w < windows; w++)
		TRY(probe_window(p, e, w, &sum, err));
	*kl = sum / (double)windows / (double)p->fresh;
	return isfinite(*kl)
	               ? INFER_OK
	               : err_set(err, INFER_ENAN,
	                         "with a tensor in a smaller type the model gives probability "
	                         "0 to a token: the divergence is infinite");
}

static int measure_copy(struct bpw_probe *p, double *kl, infer_error *err)
{
	infer_file *f = NULL;
	int rc = infer_file_open_bytes(&f, p->image, p->plan.shards[0].file_bytes, "a copy", err);

	if (!rc)
		rc = open_engine(&p->other, &p->other_engine, p, f, err);
	if (!rc)
		rc = probe_windows(p, p->other_engine, kl, err);
	infer_engine_close(&p->other_engine);
	infer_model_close(&p->other);
	infer_file_close(&f);
	return rc;
}

static int store_logits(struct bpw_probe *p, infer_error *err)
{
	struct infer_model_info m;
	double none;

	infer_model_info(p->model, &m);
	p->n_vocab = m.n_vocab;
	p->from = p->a->window / 2 + 1;
	p->fresh = p->a->window - p->from;
	p->rows = mem_alloc(MEM_QUANT, (size_t)p->fresh, sizeof *p->rows);
	p->own = mem_alloc(MEM_QUANT,
	                   p->n_ids / (size_t)p->a->window * (size_t)p->fresh * (size_t)p->n_vocab,
	                   sizeof *p->own);
	if (!p->rows || !p->own)
		return err_set(err, INFER_ENOMEM, "out of memory for logits of %zu tokens",
		               p->n_ids);
	p->is_own = 1;
	TRY(probe_windows(p, p->engine, &none, err));
	p->is_own = 0;
	return INFER_OK;
}

/* Measure the divergence of a copy that has each tensor i in type p->type[i]. */
static int measure_divergence(struct bpw_probe *p, double *kl, infer_error *err)
{
	int rc = plan_copy(p, err);

	if (!rc) {
		fill_copy(p);
		rc = measure_copy(p, kl, err);
	}
	free_headers(&p->plan);
	return rc;
}

/* ---- groups ---- */

/* Return the index of the choice whose bits per weight are closest to bpw, or -1.  Choices with
 * error 0 are skipped, because they do not show the sensitivity of the tensor. */
static int closest_choice(const struct bpw_tensor *t, double bpw)
{
	double least = HUGE_VAL, elements = (double)quant_elements(t->in);
	int best = -1;

	for (int c = 0; c < t->n; c++) {
		double d = fabs(8 * (double)t->at[c].bytes / elements - bpw);

		if (t->at[c].error > 0 && d < least) {
			least = d;
			best = c;
		}
	}
	return best;
}

static int measure_group(struct bpw_probe *p, int g, double bpw, infer_error *err)
{
	struct bpw_search *a = p->a;
	double error = 0, kl;

	for (size_t i = 0; i < a->n; i++) {
		int c = a->t[i].group == g ? closest_choice(&a->t[i], bpw) : -1;

		p->type[i] = c < 0 ? -1 : a->t[i].at[c].type;
		error += c < 0 ? 0 : a->t[i].at[c].error;
	}
	if (!(error > 0))
		return INFER_OK;
	TRY(measure_divergence(p, &kl, err));
	kl = kl > 0 ? kl : 0; /* rounding can make it negative */
	for (size_t i = 0; i < a->n; i++)
		for (int c = 0; a->t[i].group == g && c < a->t[i].n; c++)
			a->t[i].at[c].cost = a->t[i].at[c].error * kl / error;
	return INFER_OK;
}

static int open_model(struct bpw_probe *p, infer_error *err)
{
	struct bpw_search *a = p->a;
	struct infer_file_info info;

	TRY(open_engine(&p->model, &p->engine, p, a->in, err));
	TRY(choose_windows(p, err));
	infer_file_info(a->in, &info);
	p->plan.in = a->in;
	p->plan.n = info.n_tensors;
	p->plan.tensors = mem_zalloc(MEM_QUANT, info.n_tensors, sizeof *p->plan.tensors);
	p->type = mem_alloc(MEM_QUANT, a->n, sizeof *p->type);
	p->scratch = mem_alloc(MEM_QUANT, (size_t)pool_threads(a->pool), sizeof *p->scratch);
	return p->plan.tensors && p->type && p->scratch ? store_logits(p, err) : err_nomem(err);
}

int bpw_probe_open(struct bpw_probe **out, struct bpw_search *a, infer_error *err)
{
	struct bpw_probe *p = *out = mem_zalloc(MEM_QUANT, 1, sizeof *p);

	if (!p)
		return err_nomem(err);
	p->a = a;
	int rc = open_model(p, err);

	if (rc) {
		bpw_probe_close(p);
		*out = NULL;
	}
	return rc;
}

void bpw_probe_close(struct bpw_probe *p)
{
	if (!p)
		return;
	infer_engine_close(&p->engine);
	infer_model_close(&p->model);
	mem_free(p->ids);
	mem_free(p->rows);
	mem_free(p->own);
	mem_free(p->plan.tensors);
	mem_free(p->type);
	mem_free(p->scratch);
	mem_free(p->image);
	mem_free(p);
}

int bpw_probe(struct bpw_probe *p, double bpw, infer_error *err)
{
	const struct infer_watch *w = &p->a->o->watch;

	for (int g = 0; g < p->a->n_groups; g++) {
		TRY(measure_group(p, g, fmin(bpw, MOST_BPW), err));
		if (w->fn)
			w->fn(w->user, (uint64_t)g + 1, (uint64_t)p->a->n_groups);
	}
	return INFER_OK;
}
