/* record/jsonl.c - one JSON line per record */
#include "record/record.h"
#include "base/err.h"
#include "base/fmath.h"

/* A buffer that ran out of memory starts afresh. */
static void clear_bad(infer_writer *w)
{
	if (w->text.bad)
		buf_clear(&w->text);
}

struct jwrite *record_begin(infer_writer *w, enum infer_kind kind)
{
	clear_bad(w);
	w->line_at = w->text.len;
	infer_record_open(&w->w, &w->text, kind, w->started ? 0 : INFER_RECORD_FIRST);
	w->has_kind = 1;
	return &w->w;
}

struct jwrite *record_begin_bare(infer_writer *w)
{
	clear_bad(w);
	jw_init(&w->w, &w->text);
	jw_object(&w->w, NULL);
	w->has_kind = 0;
	return &w->w;
}

int record_end(infer_writer *w, infer_error *err)
{
	infer_record_close(&w->w);
	if (w->text.bad)
		return err_set(err, INFER_ENOMEM, "no memory for a record");
	w->started |= w->has_kind;
	if (w->has_kind && w->some_fields)
		record_cut(w);
	return INFER_OK;
}

struct jwrite *infer_writer_begin(infer_writer *w, enum infer_kind kind)
{
	return record_begin(w, kind);
}

int infer_writer_end(infer_writer *w, infer_error *err) { return record_end(w, err); }

void infer_writer_continue(infer_writer *w) { w->started = 1; }

int infer_write_token(infer_writer *out, const struct infer_event *ev, infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_TOKEN);

	jw_int(w, "i", ev->index);
	jw_int(w, "id", ev->token);
	part_text(w, ev->text, ev->text_bytes);
	jw_num(w, "logprob", (double)ev->logprob);
	part_top(w, "top", ev->top, ev->n_top);
	return record_end(out, err);
}

int infer_write_score(infer_writer *out, const char *id, const int32_t *tokens,
                      const float *logprobs, size_t n, const struct infer_run_info *run,
                      infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_SCORE);
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
	return record_end(out, err);
}

int infer_write_error(infer_writer *out, const char *id, const infer_error *e, const char *param,
                      infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_ERROR);

	jw_str(w, "id", id);
	jw_str(w, "code", infer_status_name(e->code));
	jw_str(w, "message", e->message);
	jw_str(w, "param", param);
	return record_end(out, err);
}
