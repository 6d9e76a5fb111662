/* infer-run/score.c - --score: log-probabilities of the tokens of a text. */
#include "prompt.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/jwrite.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* A text as tokens. The first `lead` tokens (BOS) are put before every window. */
struct text {
	const int32_t *ids;
	float *logprobs; /* f32 [n]; NAN for the first */
	size_t n, lead;
};

/* Compute ids[0 .. lead) followed by ids[from .. to), and store the log-probabilities of ids[fresh .. to). */
static int score_window(struct run *r, struct text *t, int32_t *scratch, size_t from, size_t to,
                        size_t fresh, infer_error *err)
{
	infer_job j = { .n = 1,
		        .logprobs = -1,
		        .request = { .prompt = scratch,
		                     .n_prompt = t->lead + to - from,
		                     .sample = r->sampling.o,
		                     .flags = INFER_REQ_SCORE | INFER_REQ_NO_TEXT } };
	const struct infer_fault *f;
	struct infer_got got;
	infer_task *task;
	int rc;

	adapters_use(&j, &r->adapters);
	memcpy(scratch, t->ids, t->lead * sizeof *scratch);
	memcpy(scratch + t->lead, t->ids + from, (to - from) * sizeof *scratch);
	TRY(infer_runner_start(&task, r->runner, &j, NULL, 0, err));
	rc = INFER_OK;
	while (!rc && !infer_task_ended(task)) {
		rc = run_step(r, err);
		while (!rc && !(rc = infer_runner_next(r->runner, &got, err)) && got.task) {
			size_t at = (size_t)got.event->index - t->lead + from;

			if (got.event->kind == INFER_EVENT_SCORE &&
			    (size_t)got.event->index >= t->lead && at >= fresh && at < to)
				t->logprobs[at] = got.event->logprob;
		}
	}
	f = infer_task_fault(task);
	if (!rc && f->kind)
		rc = err_set(err, f->error.code, "%s", f->error.message);
	infer_task_free(task);
	return rc;
}

/* Score a text in windows of the context size. Each window starts half a context after the one before, and
 * scores its tokens that no earlier window contains. */
static int score_windows(struct run *r, struct text *t, infer_error *err)
{
	struct infer_engine_info info;

	infer_engine_info(r->engine, &info);
	size_t room = (size_t)info.ctx > t->lead ? (size_t)info.ctx - t->lead : 0,
	       step = (room + 1) / 2;

	if (room < 2)
		return err_set(err, INFER_ENOMEM,
		               "--score needs a context of at least %zu tokens; it has %d",
		               t->lead + 2, (int)info.ctx);
	int32_t *scratch = mem_alloc(MEM_BASE, t->lead + room, sizeof *scratch);
	int rc = scratch ? INFER_OK
	                 : err_set(err, INFER_ENOMEM, "out of memory for a window of %zu tokens",
	                           room);

	progress_begin("scored", PROGRESS_TOKENS, t->n);
	for (size_t from = t->lead, fresh = t->lead; !rc && fresh < t->n; from += step) {
		size_t to = t->n - from < room ? t->n : from + room;

		progress_part(fresh, to);
		rc = score_window(r, t, scratch, from, to, fresh, err);
		fresh = to;
	}
	progress_end();
	mem_free(scratch);
	return rc;
}

/* Print one line per token: id, log-probability, text as a JSON string; then the perplexity. */
static int print_text(const struct run *r, const struct text *t, infer_error *err)
{
	const infer_tokenizer *tok = infer_model_tokenizer(r->model);
	struct buf b;
	struct jwrite w;
	double sum = 0;
	int rc = INFER_OK;

	buf_init(&b, MEM_BASE);
	for (size_t i = 0; !rc && i < t->n; i++) {
		const char *bytes = "";
		size_t n = 0;

		rc = infer_token_bytes(tok, t->ids[i], INFER_DECODE_SPECIAL, &bytes, &n, err);
		if (i) {
			buf_printf(&b, "%d\t%.9g\t", (int)t->ids[i], (double)t->logprobs[i]);
			sum += (double)t->logprobs[i];
		} else {
			buf_printf(&b, "%d\t-\t", (int)t->ids[i]);
		}
		jw_init(&w, &b);
		jw_strn(&w, NULL, bytes, n);
		buf_putc(&b, '\n');
	}
	buf_printf(&b, "perplexity\t%.9g\n", fm_exp(-sum / (double)(t->n - 1)));
	if (!rc)
		rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for the scores")
		           : say_out(b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

static int print_record(const struct run *r, const struct text *t, infer_error *err)
{
	struct infer_sample_opts sample = r->sampling.o;
	struct infer_run_info info;
	infer_records *w;

	int rc = run_writer(&w, r, err);

	run_info(&info, r);
	sample.seed = 0; /* no token is sampled: write no random seed */
	info.sample = &sample;
	info.seed_random = 0;
	if (!rc)
		rc = records_put(infer_write_score(w, "1", t->ids, t->logprobs, t->n, &info, err),
		                 w, STDOUT_FILENO, err);

	infer_records_free(w);
	return rc;
}

int score_ids(float **logprobs, struct run *r, const int32_t *ids, size_t n, infer_error *err)
{
	int32_t bos = infer_token_special(infer_model_tokenizer(r->model), INFER_BOS);
	struct text t = { .ids = ids, .n = n };

	t.lead = infer_model_adds_bos(r->model) && ids[0] == bos;
	*logprobs = t.logprobs = mem_alloc(MEM_BASE, n, sizeof *t.logprobs);
	if (!t.logprobs)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu scores", n);
	for (size_t i = 0; i < n; i++)
		t.logprobs[i] = NAN;
	return run_unchanged(r, score_windows(r, &t, err), err);
}

static int score_text(struct run *r, struct text *t, infer_error *err)
{
	if (t->n < 2)
		return err_set(err, INFER_EINVAL,
		               "nothing to score: the text has fewer than two tokens");
	TRY(score_ids(&t->logprobs, r, t->ids, t->n, err));
	return r->o->output == OUTPUT_JSONL ? print_record(r, t, err) : print_text(r, t, err);
}

int score(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct text t = { 0 };
	int32_t *ids = NULL;
	struct run r;
	struct buf prompt;
	int rc = run_open(&r, o, rest, &err);

	if (rc)
		return say_fail(&err);
	rc = prompt_read(&prompt, o, rest, NULL, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = prompt_ids(&ids, &t.n, o, infer_model_tokenizer(r.model), &prompt, &err);
	t.ids = ids;
	if (!rc)
		rc = score_text(&r, &t, &err);
	if (!rc && o->stats)
		stats_take(&r, NULL, 0);
	mem_free(t.logprobs);
	infer_ids_free(ids);
	buf_fini(&prompt);
	run_close(&r);
	return rc ? say_fail(&err) : EXIT_DONE;
}
