/* record/answer.c - what a request of a batch gets, in the form in which it was asked */
#include "record/record.h"
#include <infer/request.h>
#include "base/err.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Made of the request's id, so that the same batch gives the same names. */
static void put_name(struct jwrite *w, const char *key, const char *prefix, const infer_job *j)
{
	char name[40];

	snprintf(name, sizeof name, "%s%016llx", prefix,
	         (unsigned long long)rng_hash(0, j->id, strlen(j->id)));
	jw_str(w, key, name);
}

/* The line that asked, by name; one that could not be read whole has none. */
static void put_request(struct jwrite *w, const infer_job *j)
{
	if (*j->request_sha256)
		jw_str(w, "request_sha256", j->request_sha256);
}

/* A line, open in its body. */
static struct jwrite *begin(infer_writer *out, const infer_job *j, int status)
{
	struct jwrite *w = record_begin(out, NULL);

	put_name(w, "id", "batch_req_", j);
	jw_str(w, "custom_id", j->id);
	jw_object(w, "response");
	jw_int(w, "status_code", status);
	put_name(w, "request_id", "req_", j);
	jw_object(w, "body");
	return w;
}

static int end(infer_writer *out, struct jwrite *w, infer_error *err)
{
	jw_end(w); /* body */
	jw_end(w); /* response */
	jw_null(w, "error");
	return record_end(out, err);
}

int answer_token_text(const infer_tokenizer *t, int32_t id, const char **bytes, size_t *n)
{
	/* an id that was drawn is in the vocabulary */
	return infer_token_bytes(t, id, INFER_DECODE_SPECIAL, bytes, n, NULL);
}

/* A token as a key of an object: its text, where that is a text and no other of the n before it has
 * the same. */
static void token_key(char key[128], const infer_tokenizer *t, const struct infer_top *top,
                      int32_t n)
{
	const char *mine, *other;
	size_t bytes, other_bytes;
	int plain = !answer_token_text(t, top[n].token, &mine, &bytes) && bytes && bytes < 128 &&
	            utf8_check(mine, bytes) == bytes && !memchr(mine, 0, bytes);

	for (int32_t i = 0; plain && i < n; i++)
		plain = answer_token_text(t, top[i].token, &other, &other_bytes) ||
		        other_bytes != bytes || memcmp(mine, other, bytes);
	if (plain)
		snprintf(key, 128, "%.*s", (int)bytes, mine);
	else
		snprintf(key, 128, "token_id:%d", (int)top[n].token);
}

static void put_top(struct jwrite *w, const infer_tokenizer *t, const struct infer_completion *c)
{
	char key[128];

	jw_array(w, "top_logprobs");
	for (size_t i = 0; i < c->n_tokens; i++) {
		jw_object(w, NULL);
		for (int32_t k = 0; k < c->tokens[i].n_top; k++) {
			token_key(key, t, c->tokens[i].top, k);
			jw_num(w, key, (double)c->tokens[i].top[k].logprob);
		}
		jw_end(w);
	}
	jw_end(w);
}

/* {tokens, token_logprobs, top_logprobs, text_offset}, offsets in characters */
static void put_logprobs(struct jwrite *w, const infer_tokenizer *t,
                         const struct infer_completion *c)
{
	const char *bytes;
	size_t n, offset = 0;

	jw_object(w, "logprobs");
	jw_array(w, "tokens");
	for (size_t i = 0; i < c->n_tokens; i++)
		if (!answer_token_text(t, c->tokens[i].token, &bytes, &n))
			jw_strn(w, NULL, bytes, n);
	jw_end(w);
	jw_array(w, "token_logprobs");
	for (size_t i = 0; i < c->n_tokens; i++)
		jw_num(w, NULL, (double)c->tokens[i].logprob);
	jw_end(w);
	put_top(w, t, c);
	jw_array(w, "text_offset");
	for (size_t i = 0; i < c->n_tokens; i++) {
		jw_uint(w, NULL, offset);
		if (answer_token_text(t, c->tokens[i].token, &bytes, &n))
			continue;
		for (size_t k = 0; k < n; k++)
			offset += ((unsigned char)bytes[k] & 0xc0) != 0x80;
	}
	jw_end(w);
	jw_end(w);
}

static struct infer_usage total(const struct infer_completion *c, int32_t n)
{
	struct infer_usage u = c->usage;

	for (int32_t i = 1; i < n; i++)
		u.completion_tokens += c[i].usage.completion_tokens;
	return u;
}

static void put_usage(struct jwrite *w, const struct infer_completion *c, int32_t n)
{
	struct infer_usage u = total(c, n);

	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", u.prompt_tokens);
	jw_int(w, "completion_tokens", u.completion_tokens);
	jw_int(w, "total_tokens", u.prompt_tokens + u.completion_tokens);
	jw_object(w, "prompt_tokens_details");
	jw_int(w, "cached_tokens", u.cached_tokens);
	jw_end(w);
	jw_end(w);
}

static void put_text(struct jwrite *w, const struct infer_completion *c, const char *id,
                     int32_t index)
{
	(void)id, (void)index;
	jw_strn(w, "text", c->text_bytes ? c->text : "", c->text_bytes);
}

static const struct answer_form text_form = { "cmpl-", "text_completion", put_text, put_logprobs };

static int write_openai(infer_writer *out, const infer_job *j, const struct infer_completion *c,
                        const struct infer_run_info *run, infer_error *err)
{
	const struct answer_form *form =
		j->form == INFER_JOB_OPENAI_CHAT ? &answer_chat : &text_form;
	struct jwrite *w = begin(out, j, 200);

	put_name(w, "id", form->id, j);
	jw_str(w, "object", form->object);
	jw_int(w, "created", (int64_t)time(NULL));
	record_model_name(w, "model", run->model);
	jw_array(w, "choices");
	for (int32_t i = 0; i < j->n; i++) {
		jw_object(w, NULL);
		jw_int(w, "index", i);
		form->put(w, &c[i], j->id, i);
		if (j->logprobs >= 0)
			form->put_logprobs(w, infer_model_tokenizer(run->model), &c[i]);
		else
			jw_null(w, "logprobs");
		jw_str(w, "finish_reason", record_finish(&c[i]));
		jw_end(w);
	}
	jw_end(w);
	put_usage(w, c, j->n);
	put_request(w, j);
	record_run(out, run);
	return end(out, w, err);
}

/* Several samples of one prompt: what belongs to each stands in `choices`. */
static int write_choices(infer_writer *out, const infer_job *j, const struct infer_completion *c,
                         const struct infer_run_info *run, infer_error *err)
{
	struct jwrite *w = record_begin(out, "completion");
	struct infer_usage u = total(c, j->n);

	record_id(w, j->id, j->id_whole ? INFER_RECORD_ID_WHOLE : 0);
	jw_array(w, "choices");
	for (int32_t i = 0; i < j->n; i++) {
		jw_object(w, NULL);
		jw_int(w, "index", i);
		jw_int(w, "seed", (int64_t)infer_job_seed(j, i));
		record_text(w, c[i].text, c[i].text_bytes);
		record_reply(w, &c[i], j->id, i);
		jw_str(w, "finish_reason", record_finish(&c[i]));
		record_usage(w, &c[i].usage, c[i].load_ms);
		record_tokens(w, &c[i]);
		jw_end(w);
	}
	jw_end(w);
	jw_object(w, "usage");
	jw_int(w, "prompt_tokens", u.prompt_tokens);
	jw_int(w, "completion_tokens", u.completion_tokens);
	jw_int(w, "cached_tokens", u.cached_tokens);
	jw_end(w);
	put_request(w, j);
	record_run(out, run);
	return record_end(out, err);
}

int infer_write_job(infer_writer *out, const infer_job *j, const struct infer_completion *c,
                    const struct infer_run_info *run, infer_error *err)
{
	if (j->form == INFER_JOB_OPENAI_CHAT || j->form == INFER_JOB_OPENAI)
		return write_openai(out, j, c, run, err);
	return j->n == 1 ? infer_write_completion(out, c, run, err)
	                 : write_choices(out, j, c, run, err);
}

/* As servers name the fault: the request's own, or theirs.  Memory that ends is the machine's. */
static int write_openai_error(infer_writer *out, const infer_job *j, uint32_t flags,
                              const infer_error *e, const char *param, infer_error *err)
{
	int too_long = (flags & INFER_RECORD_TOO_LONG) != 0;
	int own = e->code == INFER_EINVAL || e->code == INFER_EFORMAT || e->code == INFER_EUNSUP ||
	          too_long;
	struct jwrite *w = begin(out, j, own ? 400 : 500);

	jw_object(w, "error");
	jw_str(w, "message", e->message);
	jw_str(w, "type", own ? "invalid_request_error" : "server_error");
	jw_str(w, "param", param);
	jw_str(w, "code", too_long ? "context_length_exceeded" : NULL);
	jw_end(w);
	put_request(w, j);
	return end(out, w, err);
}

int infer_write_job_error(infer_writer *out, const infer_job *j, uint32_t flags,
                          const infer_error *e, const char *param, infer_error *err)
{
	struct jwrite *w;

	if (j->form != INFER_JOB_OWN && j->id && !(flags & INFER_RECORD_NO_ID))
		return write_openai_error(out, j, flags, e, param, err);
	w = record_begin(out, "error");
	record_id(w, flags & INFER_RECORD_NO_ID ? NULL : j->id,
	          j->id_whole ? INFER_RECORD_ID_WHOLE : 0);
	jw_int(w, "line", j->line);
	jw_str(w, "code", infer_status_name(e->code));
	jw_str(w, "message", e->message);
	jw_str(w, "param", param);
	put_request(w, j);
	return record_end(out, err);
}
