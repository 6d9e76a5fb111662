/* quant/eval_choices.c - multiple-choice questions, answered by log-likelihood */
#include "quant/eval.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CHOICES = 64 };

struct question {
	struct infer_str prompt, choice[MOST_CHOICES];
	int32_t *ids[MOST_CHOICES]; /* tokens of prompt and choice, encoded together */
	size_t n_ids[MOST_CHOICES];
	double sum[MOST_CHOICES]; /* ln p of choice i, see score_choice */
	int n, answer;
	size_t common; /* leading tokens of the prompt that all choices share */
};

struct choices {
	const struct infer_eval_side *model;
	const infer_tokenizer *tok;
	int32_t n_vocab;
	struct arena mem; /* memory of the current line */
	const float **at;
	size_t cap;
	char what[80]; /* file name and line number, for messages */
};

static int fail_line(const struct choices *c, const char *why, infer_error *err)
{
	return err_set(err, INFER_EFORMAT, "%s: %s", c->what, why);
}

static struct infer_str str_of(const struct json *v)
{
	return (struct infer_str){ json_str(v), json_bytes(v) };
}

static int read_question(struct question *q, struct choices *c, const char *line, size_t n,
                         infer_error *err)
{
	const struct json *o, *prompt, *list, *answer;

	TRY(jread(&o, &c->mem, line, n, c->what, err));
	prompt = json_get(o, "prompt");
	list = json_get(o, "choices");
	answer = json_get(o, "answer");
	if (!json_is_string(prompt))
		return fail_line(c, "prompt must be a string", err);
	if (!json_is_array(list) || !json_count(list))
		return fail_line(c, "choices must be a list of strings", err);
	if (json_count(list) > MOST_CHOICES)
		return fail_line(c, "choices must have at most 64 elements", err);
	q->prompt = str_of(prompt);
	json_each(v, list) {
		if (!json_is_string(v) || !json_bytes(v))
			return fail_line(c, "a choice must be a string that is not empty", err);
		q->choice[q->n++] = str_of(v);
	}
	if (!json_is(answer, JSON_INT) || answer->i < 0 || answer->i >= q->n)
		return fail_line(c, "answer must be the index of a choice, from 0", err);
	q->answer = (int)answer->i;
	return INFER_OK;
}

static int encode_question(struct question *q, const struct choices *c, infer_error *err)
{
	struct buf text;
	int32_t *ids;
	size_t n;
	int rc = infer_encode(c->tok, q->prompt.at, q->prompt.len, INFER_ENCODE_ADD, &ids, &n, err);

	if (rc)
		return rc;
	buf_init(&text, MEM_QUANT);
	q->common = n;
	for (int i = 0; !rc && i < q->n; i++) {
		size_t k = 0;

		buf_clear(&text);
		buf_put(&text, q->prompt.at, q->prompt.len);
		buf_put(&text, q->choice[i].at, q->choice[i].len);
		rc = text.bad ? err_nomem(err)
		              : infer_encode(c->tok, text.at, text.len, INFER_ENCODE_ADD,
		                             &q->ids[i], &q->n_ids[i], err);
		while (!rc && k < q->common && k < q->n_ids[i] && ids[k] == q->ids[i][k])
			k++;
		q->common = k;
	}
	buf_fini(&text);
	infer_ids_free(ids);
	return rc;
}

static int reserve_rows(struct choices *c, size_t n, infer_error *err)
{
	const float **at;

	if (n <= c->cap)
		return INFER_OK;
	at = mem_realloc(MEM_QUANT, c->at, n, sizeof *at);
	if (!at)
		return err_nomem(err);
	c->at = at;
	c->cap = n;
	return INFER_OK;
}

/* Set q->sum[i] to ln p of the tokens of choice i after the common ones. */
static int score_choice(struct question *q, int i, struct choices *c, infer_error *err)
{
	struct eval_rows r = { .engine = c->model->engine };
	int32_t from = (int32_t)q->common;
	int rc;

	TRY(reserve_rows(c, q->n_ids[i] - q->common, err));
	rc = eval_rows_begin(&r, c->model->engine, q->ids[i], (int32_t)q->n_ids[i], from, c->at,
	                     err);
	while (!rc && !(rc = eval_rows_step(&r, err)) && r.n)
		for (; r.used < r.n; r.used++)
			q->sum[i] += eval_logprob(r.at[r.used], c->n_vocab, q->ids[i][from++]);
	eval_rows_stop(&r);
	return rc;
}

static int answer_question(struct question *q, struct choices *c, struct infer_eval_choices *out,
                           infer_error *err)
{
	int best = 0, best_norm = 0;

	TRY(encode_question(q, c, err));
	if (!q->common)
		return fail_line(c, "prompt and choices have no first token in common", err);
	for (int i = 0; i < q->n; i++) {
		if (q->n_ids[i] <= q->common)
			return fail_line(c, "a choice adds no token to the prompt", err);
		TRY(score_choice(q, i, c, err));
		if (q->sum[i] > q->sum[best])
			best = i;
		if (q->sum[i] / (double)q->choice[i].len >
		    q->sum[best_norm] / (double)q->choice[best_norm].len)
			best_norm = i;
	}
	out->questions++;
	out->right += best == q->answer;
	out->right_norm += best_norm == q->answer;
	return INFER_OK;
}

static int evaluate_line(struct choices *c, const char *at, size_t n,
                         struct infer_eval_choices *out, infer_error *err)
{
	struct question q = { 0 };
	infer_error why = { 0 };
	int rc = read_question(&q, c, at, n, &why);

	if (!rc)
		rc = answer_question(&q, c, out, &why);
	for (int i = 0; i < q.n; i++)
		infer_ids_free(q.ids[i]);
	arena_reset(&c->mem);
	if (rc && !strncmp(why.message, c->what, strlen(c->what)))
		return err_set(err, rc, "%s", why.message);
	return rc ? err_set(err, rc, "%s: %s", c->what, why.message) : INFER_OK;
}

static int is_blank(const char *at, size_t n)
{
	while (n && strchr(" \t\r", at[n - 1]))
		n--;
	return !n;
}

static int evaluate_lines(struct choices *c, const char *text, size_t bytes, const char *name,
                          const struct infer_watch *watch, struct infer_eval_choices *out,
                          infer_error *err)
{
	size_t number = 0, n;

	for (size_t at = 0; at < bytes; at += n + 1) {
		const char *end = memchr(text + at, '\n', bytes - at);

		n = end ? (size_t)(end - text) - at : bytes - at;
		snprintf(c->what, sizeof c->what, "%.50s: line %zu", name, ++number);
		if (!is_blank(text + at, n))
			TRY(evaluate_line(c, text + at, n, out, err));
		if (watch && watch->fn)
			watch->fn(watch->user, at + n, bytes);
	}
	if (!out->questions)
		return err_set(err, INFER_EFORMAT, "%s: contains no question", name);
	return INFER_OK;
}

int infer_eval_choices(struct infer_eval_choices *out, const struct infer_eval_side *model,
                       const char *text, size_t bytes, const char *name,
                       const struct infer_watch *watch, infer_error *err)
{
	struct choices c = { .model = model, .tok = infer_model_tokenizer(model->model) };
	struct infer_model_info m;
	int rc;

	*out = (struct infer_eval_choices){ 0 };
	if (!c.tok)
		return err_set(err, INFER_EUNSUP, "the model has no vocabulary");
	infer_model_info(model->model, &m);
	c.n_vocab = m.n_vocab;
	arena_init(&c.mem, MEM_QUANT);
	rc = evaluate_lines(&c, text, bytes, name, watch, out, err);
	arena_fini(&c.mem);
	mem_free(c.at);
	if (rc) {
		*out = (struct infer_eval_choices){ 0 };
		return rc;
	}
	out->accuracy = eval_share(out->right, out->questions);
	out->accuracy_norm = eval_share(out->right_norm, out->questions);
	return INFER_OK;
}
