/* quant/eval.c - evaluate one to three models on the windows of a text */
#include "quant/eval.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/mem.h"
#include "base/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512, LEAST_WINDOW = 4 };
enum { MODEL, REF, BESIDE, SIDES };

struct text {
	struct eval_rows side[SIDES];
	const struct infer_eval_side *of[SIDES];
	int n_sides;
	const float **at; /* [n_sides][fresh] */
	int32_t *ids;     /* [window] */
	int32_t window, from, fresh, n_vocab, done;
	size_t windows;
	struct eval_point *points; /* [windows * fresh] */
	double *column;            /* [windows * fresh] */
	struct pool *pool;
};

/* Check that a and b have the same vocabulary.  other: name of b in messages.  INFER_EINVAL */
static int same_pieces(const infer_tokenizer *a, const infer_tokenizer *b, const char *other,
                       infer_error *err)
{
	struct infer_token_info x, y;
	int32_t n = infer_tokenizer_count(a), m = infer_tokenizer_count(b);

	if (n != m)
		return err_set(err, INFER_EINVAL,
		               "the vocabularies differ: %d tokens, and %d in %s", (int)n, (int)m,
		               other);
	for (int32_t i = 0; i < n; i++) {
		TRY(infer_token_info(a, i, &x, err));
		TRY(infer_token_info(b, i, &y, err));
		if (x.piece.len != y.piece.len || memcmp(x.piece.at, y.piece.at, x.piece.len))
			return err_set(err, INFER_EINVAL,
			               "the vocabularies differ: token %d is '%.*s', and '%.*s' in "
			               "%s",
			               (int)i, x.piece.len < 40 ? (int)x.piece.len : 40, x.piece.at,
			               y.piece.len < 40 ? (int)y.piece.len : 40, y.piece.at, other);
	}
	return INFER_OK;
}

static int same_vocabulary(const infer_model *a, const infer_model *b, const char *other,
                           infer_error *err)
{
	const infer_tokenizer *s = infer_model_tokenizer(a), *t = infer_model_tokenizer(b);
	struct infer_model_info x, y;

	infer_model_info(a, &x);
	infer_model_info(b, &y);
	if (!s != !t)
		return err_set(err, INFER_EINVAL, "the vocabularies differ: %s has none",
		               s ? other : "the model");
	if (s)
		TRY(same_pieces(s, t, other, err));
	if (x.n_vocab != y.n_vocab)
		return err_set(err, INFER_EINVAL,
		               "the vocabularies differ: %d logits, and %d in %s", (int)x.n_vocab,
		               (int)y.n_vocab, other);
	return INFER_OK;
}

static int check_opts(struct text *t, const struct infer_eval_opts *o, infer_error *err)
{
	static const char *const names[] = { "the model", "the reference", "the second model" };
	struct infer_engine_info e;

	if (o->beside && !t->of[REF])
		return err_set(err, INFER_EINVAL,
		               "a second model needs a reference that both are compared with");

	t->window = o->window ? o->window : WINDOW;
	if (t->window < LEAST_WINDOW)
		return err_set(err, INFER_EINVAL, "a window must have at least %d tokens, not %d",
		               LEAST_WINDOW, (int)t->window);
	for (int i = 0; i < t->n_sides; i++) {
		infer_engine_info(t->of[i]->engine, &e);
		if (t->window > e.ctx)
			return err_set(err, INFER_ENOMEM,
			               "a window of %d tokens does not fit the context of %d",
			               (int)t->window, (int)e.ctx);
	}
	t->windows = o->n_ids / (size_t)t->window;
	if (t->windows < 2)
		return err_set(
			err, INFER_EINVAL,
			"the text has %zu tokens; it needs two windows of %d, %d tokens: use "
			"more text, or smaller windows by -c",
			o->n_ids, (int)t->window, 2 * (int)t->window);
	for (int i = REF; i < t->n_sides; i++)
		TRY(same_vocabulary(t->of[MODEL]->model, t->of[i]->model, names[i], err));
	return INFER_OK;
}

static int allocate_text(struct text *t, const struct infer_eval_opts *o, infer_error *err)
{
	struct infer_model_info m;
	struct infer_engine_info e;
	size_t n;

	TRY(check_opts(t, o, err));
	infer_model_info(t->of[0]->model, &m);
	infer_engine_info(t->of[0]->engine, &e);
	t->n_vocab = m.n_vocab;
	t->from = t->window / 2 + 1;
	t->fresh = t->window - t->from;
	n = t->windows * (size_t)t->fresh;
	t->at = mem_alloc(MEM_QUANT, (size_t)t->n_sides * (size_t)t->fresh, sizeof *t->at);
	t->ids = mem_alloc(MEM_QUANT, (size_t)t->window, sizeof *t->ids);
	t->points = mem_alloc(MEM_QUANT, n, sizeof *t->points);
	t->column = mem_alloc(MEM_QUANT, n, sizeof *t->column);
	if (!t->at || !t->ids || !t->points || !t->column)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu scored tokens", n);
	return pool_new(&t->pool, e.threads, err);
}

/* Pool item: evaluate row i of those that all sides have computed. */
static void on_row(void *user, int64_t i, int worker)
{
	struct text *t = user;
	int32_t at = t->done + (int32_t)i; /* index among the window's scored tokens */
	struct eval_point *p = &t->points[at], other;
	const float *row[SIDES] = { NULL };

	(void)worker;
	for (int k = 0; k < t->n_sides; k++)
		row[k] = t->side[k].at[t->side[k].used + i];
	eval_point(p, row[MODEL], row[REF], t->n_vocab, t->ids[t->from + at]);
	if (!row[BESIDE])
		return;
	eval_point(&other, row[BESIDE], row[REF], t->n_vocab, t->ids[t->from + at]);
	p->beside_nll = other.nll;
	p->beside_kl = other.kl;
	p->beside_top1 = other.top1;
}

/* Run one window on all sides (models).  A side computes its next step after its rows are used up,
 * so it holds the rows of one step only. */
static int run_window(struct text *t, infer_error *err)
{
	for (int i = 0; i < t->n_sides; i++)
		TRY(eval_rows_begin(&t->side[i], t->of[i]->engine, t->ids, t->window, t->from,
		                    t->at + (size_t)i * (size_t)t->fresh, err));
	for (t->done = 0; t->done < t->fresh;) {
		int32_t n = INT32_MAX;

		for (int i = 0; i < t->n_sides; i++) {
			struct eval_rows *r = &t->side[i];

			if (r->used == r->n)
				TRY(eval_rows_step(r, err));
			must(r->n > r->used);
			n = r->n - r->used < n ? r->n - r->used : n;
		}
		pool_run(t->pool, n, on_row, t);
		for (int i = 0; i < t->n_sides; i++)
			t->side[i].used += n;
		t->done += n;
	}
	for (int i = 0; i < t->n_sides; i++)
		while (!t->side[i].ended)
			TRY(eval_rows_step(&t->side[i], err));
	return INFER_OK;
}

static int check_finite(const struct text *t, size_t w, infer_error *err)
{
	for (int32_t i = 0; i < t->fresh; i++)
		if (!isfinite(t->points[i].kl) || !isfinite(t->points[i].beside_kl))
			return err_set(
				err, INFER_ENAN,
				"at position %d of window %zu the %smodel gives probability 0 "
				"to a token that the reference allows: the divergence is "
				"infinite",
				(int)(t->from + i), w + 1,
				isfinite(t->points[i].kl) ? "second " : "");
	return INFER_OK;
}

static int run_windows(struct text *t, const struct infer_eval_opts *o, infer_error *err)
{
	const infer_model *m = t->of[0]->model;
	size_t size = (size_t)t->window;
	struct eval_point *points = t->points;
	int rc = INFER_OK;

	for (size_t w = 0; !rc && w < t->windows; w++) {
		memcpy(t->ids, o->ids + w * size, size * sizeof *t->ids);
		if (infer_model_adds_bos(m))
			t->ids[0] = infer_token_special(infer_model_tokenizer(m), INFER_BOS);
		rc = run_window(t, err);
		if (!rc)
			rc = check_finite(t, w, err);
		t->points += t->fresh;
		if (o->watch.fn)
			o->watch.fn(o->watch.user, (w + 1) * size, t->windows * size);
	}
	t->points = points;
	for (int i = 0; i < t->n_sides; i++)
		eval_rows_stop(&t->side[i]);
	return rc;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Copy the member at offset `at` of every point to t->column.  Returns the number of points. */
static size_t fill_column(const struct text *t, size_t at)
{
	size_t n = t->windows * (size_t)t->fresh;

	for (size_t i = 0; i < n; i++)
		memcpy(&t->column[i], (const char *)&t->points[i] + at, sizeof *t->column);
	return n;
}

static struct infer_eval_mean exp_of(const struct infer_eval_mean *m)
{
	double e = fm_exp(m->value);

	return (struct infer_eval_mean){ e, m->se * e };
}

static void compare_with_ref(struct infer_eval_text *out, const struct text *t)
{
	double *x = t->column;
	size_t n = fill_column(t, offsetof(struct eval_point, ref_nll));
	struct infer_eval_mean m;
	uint64_t top1 = 0, top5 = 0;

	out->has_ref = 1;
	out->ref_nll = eval_mean(x, n);
	out->ref_perplexity = exp_of(&out->ref_nll);
	for (size_t i = 0; i < n; i++) {
		x[i] = t->points[i].nll - t->points[i].ref_nll;
		top1 += (uint64_t)t->points[i].top1;
		top5 += (uint64_t)t->points[i].top5;
	}
	m = eval_mean(x, n);
	out->ratio = exp_of(&m);
	out->top1 = eval_share(top1, n);
	out->top5 = eval_share(top5, n);
	fill_column(t, offsetof(struct eval_point, kl));
	out->kl = eval_mean(x, n);
	out->kl_mean = eval_around(&out->kl);
	qsort(x, n, sizeof *x, ascending);
	out->kl_median = eval_quantile(x, n, 0.5);
	out->kl_p90 = eval_quantile(x, n, 0.9);
	out->kl_p99 = eval_quantile(x, n, 0.99);
	out->kl_max = x[n - 1];
	fill_column(t, offsetof(struct eval_point, dp));
	out->dp = eval_mean(x, n);
	for (size_t i = 0; i < n; i++)
		x[i] *= x[i];
	m = eval_mean(x, n);
	out->dp_rms.value = sqrt(m.value);
	out->dp_rms.se = m.value > 0 ? m.se / (2 * out->dp_rms.value) : 0;
	fill_column(t, offsetof(struct eval_point, dp));
	qsort(x, n, sizeof *x, ascending);
	out->dp_p1 = eval_quantile(x, n, 0.01);
	out->dp_median = eval_quantile(x, n, 0.5);
	out->dp_p99 = eval_quantile(x, n, 0.99);
}

/* Compare the losses of the model and the second model, both relative to the reference. */
static void compare_with_second(struct infer_eval_text *out, const struct text *t)
{
	double *x = t->column;
	size_t n = fill_column(t, offsetof(struct eval_point, beside_nll));
	struct infer_eval_mean m;
	uint64_t top1 = 0;

	out->has_beside = 1;
	out->beside_nll = eval_mean(x, n);
	out->beside_perplexity = exp_of(&out->beside_nll);
	for (size_t i = 0; i < n; i++)
		x[i] = t->points[i].nll - t->points[i].beside_nll;
	m = eval_mean(x, n);
	out->nll_difference = eval_around(&m);
	fill_column(t, offsetof(struct eval_point, beside_kl));
	m = eval_mean(x, n);
	out->beside_kl = eval_around(&m);
	for (size_t i = 0; i < n; i++) {
		x[i] = t->points[i].kl - t->points[i].beside_kl;
		top1 += (uint64_t)t->points[i].beside_top1;
	}
	m = eval_mean(x, n);
	out->kl_difference = eval_around(&m);
	out->beside_top1 = eval_share(top1, n);
}

static void sum_up(struct infer_eval_text *out, const struct text *t, size_t tokens)
{
	size_t n = fill_column(t, offsetof(struct eval_point, nll));

	out->tokens = tokens;
	out->windows = t->windows;
	out->window = t->window;
	out->scored = n;
	out->nll = eval_mean(t->column, n);
	out->perplexity = exp_of(&out->nll);
	if (t->n_sides > REF)
		compare_with_ref(out, t);
	if (t->n_sides > BESIDE)
		compare_with_second(out, t);
}

int infer_eval_text(struct infer_eval_text *out, const struct infer_eval_side *model,
                    const struct infer_eval_side *ref, const struct infer_eval_opts *o,
                    infer_error *err)
{
	struct text t = { .of = { model, ref, o->beside },
		          .n_sides = !ref         ? REF
		                     : !o->beside ? BESIDE
		                                  : SIDES };
	int rc;

	*out = (struct infer_eval_text){ 0 };
	rc = allocate_text(&t, o, err);
	if (!rc)
		rc = run_windows(&t, o, err);
	if (!rc)
		sum_up(out, &t, o->n_ids);
	pool_free(t.pool);
	mem_free(t.at);
	mem_free(t.ids);
	mem_free(t.points);
	mem_free(t.column);
	return rc;
}
