/* record/jsonl.c - one JSON line per record */
#include "record/record.h"
#include "base/err.h"
#include "base/fmath.h"

int infer_records_new(infer_records **out, infer_error *err)
{
	infer_records *r = mem_zalloc(MEM_RECORD, 1, sizeof *r);

	*out = r;
	if (!r)
		return err_nomem(err);
	buf_init(&r->text, MEM_RECORD);
	return INFER_OK;
}

void infer_records_free(infer_records *r)
{
	if (r)
		buf_fini(&r->text);
	mem_free(r);
}

struct infer_str infer_records_text(const infer_records *r)
{
	return (struct infer_str){ r->text.at ? r->text.at : "", r->text.len };
}

void infer_records_clear(infer_records *r) { buf_clear(&r->text); }

/* Clear a buffer that ran out of memory, so that it can be used again. */
static void clear_bad(infer_records *w)
{
	if (w->text.bad)
		buf_clear(&w->text);
}

struct jwrite *infer_records_begin(infer_records *w, enum infer_kind kind)
{
	clear_bad(w);
	w->line_at = w->text.len;
	infer_record_open(&w->w, &w->text, kind, w->started ? 0 : INFER_RECORD_FIRST);
	w->has_kind = 1;
	return &w->w;
}

struct jwrite *record_begin_bare(infer_records *w)
{
	clear_bad(w);
	jw_init(&w->w, &w->text);
	jw_object(&w->w, NULL);
	w->has_kind = 0;
	return &w->w;
}

int infer_records_end(infer_records *w, infer_error *err)
{
	infer_record_close(&w->w);
	if (w->text.bad)
		return err_nomem(err);
	w->started |= w->has_kind;
	if (w->has_kind && w->selects)
		record_cut(w);
	return INFER_OK;
}

void infer_records_continue(infer_records *w) { w->started = 1; }

int infer_write_token(infer_records *out, const struct infer_event *ev, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_TOKEN);

	jw_int(w, "i", ev->index);
	jw_int(w, "id", ev->token);
	part_text(w, ev->text, ev->text_bytes);
	jw_num(w, "logprob", (double)ev->logprob);
	part_top(w, "top", ev->top, ev->n_top);
	return infer_records_end(out, err);
}

int infer_write_score(infer_records *out, const char *id, const int32_t *tokens,
                      const float *logprobs, size_t n, const struct infer_run_info *run,
                      infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_SCORE);
	double sum = 0;

	jw_str(w, "id", id);
	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, tokens[i]);
	jw_end(w);
	jw_array(w, "logprobs");
	for (size_t i = 0; i < n; i++) {
		if (i)
			jw_num(w, NULL, (double)logprobs[i]);
		else
			jw_null(w, NULL);
		sum += i ? (double)logprobs[i] : 0;
	}
	jw_end(w);
	if (n > 1)
		jw_num(w, "perplexity", fm_exp(-sum / (double)(n - 1)));
	else
		jw_null(w, "perplexity");
	record_run(out, run);
	return infer_records_end(out, err);
}

int infer_write_error(infer_records *out, const char *id, const infer_error *e, const char *param,
                      infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_ERROR);

	jw_str(w, "id", id);
	jw_str(w, "code", infer_status_name(e->code));
	jw_str(w, "message", e->message);
	jw_str(w, "param", param);
	return infer_records_end(out, err);
}
