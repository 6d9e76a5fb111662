/* quant/eval_rows.c - rows of logits of a text, computed step by step by an engine */
#include "quant/eval.h"
#include "base/err.h"

int eval_rows_begin(struct eval_rows *r, infer_engine *e, const int32_t *ids, int32_t n,
                    int32_t from, const float **at, infer_error *err)
{
	const struct infer_request q = { .prompt = ids,
		                         .n_prompt = (size_t)n,
		                         .score_from = from,
		                         .flags = INFER_REQ_SCORE | INFER_REQ_LOGITS |
		                                  INFER_REQ_NO_TEXT };

	*r = (struct eval_rows){ .engine = e, .at = at, .cap = n - from, .next = from };
	return infer_engine_submit(e, &q, &r->id, err);
}

static int take_event(struct eval_rows *r, const struct infer_event *ev, infer_error *err)
{
	if (ev->id != r->id)
		return err_set(err, INFER_EINVAL, "the engine has other requests");
	if (ev->kind == INFER_EVENT_SCORE) {
		must(ev->logits && ev->index == r->next && r->n < r->cap);
		r->at[r->n++] = ev->logits;
		r->next++;
	} else if (ev->kind == INFER_EVENT_DONE) {
		r->ended = 1;
		if (ev->code)
			return err_set(err, ev->code, "%s", ev->message);
	}
	return INFER_OK;
}

int eval_rows_step(struct eval_rows *r, infer_error *err)
{
	struct infer_event ev;

	r->n = r->used = 0;
	while (!r->n && !r->ended) {
		TRY(infer_engine_step(r->engine, err));
		while (infer_engine_next(r->engine, &ev))
			TRY(take_event(r, &ev, err));
	}
	return INFER_OK;
}

void eval_rows_stop(struct eval_rows *r)
{
	struct infer_event ev;

	r->n = r->used = 0;
	if (!r->id)
		return;
	infer_engine_cancel(r->engine, r->id);
	while (infer_engine_busy(r->engine)) {
		while (infer_engine_next(r->engine, &ev))
			;
		if (infer_engine_step(r->engine, NULL))
			break;
	}
	r->id = 0;
}
