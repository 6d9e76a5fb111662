/* api/own_write.c - write a job as a request in our own format, which gets the same answer */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "base/utf8.h"
#include "chat/chat.h"

#include <math.h>

/* True if the conversation is more than one user turn, so that `messages` must be written. */
static int has_messages(const struct job_asked *a)
{
	return a->conversation && (a->values.messages || a->conversation->system);
}

static int has_text(const struct job_asked *a)
{
	return !a->conversation && a->text.at && utf8_check(a->text.at, a->text.len) == a->text.len;
}

/* ---- the request ---- */

void job_put_kind(struct jwrite *w, const char *key, const struct job_asked *a)
{
	(void)a;
	jw_str(w, key, "request");
}

void job_put_id(struct jwrite *w, const char *key, const struct job_asked *a)
{
	(void)key;
	part_id(w, a->j);
}

/* Write nothing: the field is only read. */
void job_put_nothing(struct jwrite *w, const char *key, const struct job_asked *a)
{
	(void)w, (void)key, (void)a;
}

void job_put_prompt(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const struct infer_request *r = &a->j->request;

	if (has_messages(a))
		return;
	if (a->conversation) {
		jw_strn(w, key, a->conversation->user ? a->conversation->user : "",
		        a->conversation->user_n);
	} else if (has_text(a)) {
		jw_strn(w, key, a->text.at, a->text.len);
	} else {
		jw_array(w, key);
		for (size_t i = 0; i < r->n_prompt; i++)
			jw_int(w, NULL, r->prompt[i]);
		jw_end(w);
	}
}

void job_put_raw(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (has_text(a))
		jw_bool(w, key, 1);
}

static void put_turn(struct jwrite *w, const char *role, const char *text, size_t n)
{
	jw_object(w, NULL);
	jw_str(w, "role", role);
	jw_strn(w, "content", text, n);
	jw_end(w);
}

void job_put_messages(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const struct infer_conversation *c = a->conversation;

	if (!has_messages(a))
		return;
	jw_array(w, key);
	if (c->system)
		put_turn(w, "system", c->system, c->system_n);
	json_each(m, a->values.messages)
		jw_value(w, NULL, m);
	if (c->user)
		put_turn(w, "user", c->user, c->user_n);
	jw_end(w);
}

void job_put_tools(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->conversation->tools)
		jw_value(w, key, a->conversation->tools->list);
}

void job_put_tool_choice(struct jwrite *w, const char *key, const struct job_asked *a)
{
	static const char *const words[] = {
		[INFER_CALLS_AUTO] = "auto", [INFER_CALLS_REQUIRED] = "required"
	};
	const infer_job *j = a->j;

	if (!a->conversation || !a->conversation->tools || j->calls < INFER_CALLS_AUTO)
		return;
	if (j->calls != INFER_CALLS_NAMED) {
		jw_str(w, key, words[j->calls]);
		return;
	}
	jw_object(w, key);
	jw_str(w, "type", "function");
	jw_object(w, "function");
	jw_str(w, "name", j->calls_name);
	jw_end(w);
	jw_end(w);
}

void job_put_args(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->values.args)
		jw_value(w, key, a->values.args);
}

void job_put_think(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->conversation->think != INFER_THINK_DEFAULT)
		jw_bool(w, key, a->conversation->think == INFER_THINK_ON);
}

void job_put_think_budget(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->j->request.reason_limit)
		jw_int(w, key, a->j->request.reason_limit - 1);
}

void job_put_now(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->j->chat && a->j->chat->asks_time)
		jw_int(w, key, a->conversation->now);
}

void job_put_template(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->conversation && a->j->chat)
		jw_str(w, key, a->j->chat->sha256);
}

void job_put_logprobs(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->logprobs >= 0)
		jw_int(w, key, a->j->logprobs);
}

/* ---- limits ---- */

void job_put_max_tokens(struct jwrite *w, const char *key, const struct job_asked *a)
{
	jw_int(w, key, a->j->request.max_tokens);
}

void job_put_n(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->n > 1)
		jw_int(w, key, a->j->n);
}

void job_put_stop(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const struct infer_request *r = &a->j->request;

	if (!r->n_stop)
		return;
	jw_array(w, key);
	for (int32_t i = 0; i < r->n_stop; i++)
		jw_strn(w, NULL, r->stop[i].at, r->stop[i].len);
	jw_end(w);
}

void job_put_stop_ids(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const struct infer_request *r = &a->j->request;

	if (!r->n_stop_tokens)
		return;
	jw_array(w, key);
	for (int32_t i = 0; i < r->n_stop_tokens; i++)
		jw_int(w, NULL, r->stop_tokens[i]);
	jw_end(w);
}

void job_put_ignore_eos(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->request.flags & INFER_REQ_IGNORE_EOS)
		jw_bool(w, key, 1);
}

/* ---- sampling ---- */

void job_put_samplers(struct jwrite *w, const char *key, const struct job_asked *a)
{
	part_stages(w, key, &a->sample);
}

void job_put_bias(struct jwrite *w, const char *key, const struct job_asked *a)
{
	part_bias(w, key, &a->sample, PART_NEVER_FALSE);
}

void job_put_breakers(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->sample.dry_multiplier > 0)
		part_texts(w, key, a->j->breaker_texts, a->j->n_breaker_texts);
}

void job_put_bad_words(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->n_bad_words)
		part_texts(w, key, a->j->bad_words, a->j->n_bad_words);
}

void job_put_seed(struct jwrite *w, const char *key, const struct job_asked *a)
{
	jw_int(w, key, (int64_t)a->sample.seed);
}

/* ---- the whole request ---- */

/* Check that a request can express each bias: above -100 and at most 100, or a forbidden token. */
static int check_bias(const struct infer_sample_opts *o, infer_error *err)
{
	for (int32_t i = 0; i < o->n_bias; i++) {
		float b = o->bias[i].bias;

		if (!isinf(b) && !(b > -100 && b <= 100))
			return err_set(err, INFER_EINVAL,
			               "logit_bias: token %d: a request that is written down has "
			               "no %.9g: above -100 to 100, or never",
			               (int)o->bias[i].token, (double)b);
	}
	return INFER_OK;
}

static int write_request(struct buf *to, struct job_asked *a, struct arena *mem, infer_error *err)
{
	struct jwrite w;

	if (a->conversation)
		TRY(chat_values(&a->values, mem, a->conversation, err));
	a->sample = a->j->request.sample;
	infer_sample_resolve(&a->sample);
	TRY(check_bias(&a->sample, err));
	jw_init(&w, to);
	jw_object(&w, NULL);
	job_put_fields(&w, job_own, a);
	job_put_fields(&w, job_common, a);
	job_put_fields(&w, job_constraints, a);
	job_put_sampling(&w, a);
	jw_end(&w);
	return to->bad ? err_nomem(err) : INFER_OK;
}

int job_put_request(struct buf *to, struct job_asked *a, infer_error *err)
{
	struct arena mem;

	arena_init(&mem, MEM_JOB);
	int rc = write_request(to, a, &mem, err);

	arena_fini(&mem);
	return rc;
}

void job_put_fields(struct jwrite *w, const struct job_field *f, const struct job_asked *a)
{
	for (; f->key; f++)
		f->put(w, f->key, a);
}

int infer_api_put_request(infer_writer *w, const struct infer_asked *asked, infer_error *err)
{
	struct job_asked a = { .j = asked->job,
		               .conversation = asked->conversation,
		               .text = asked->text };

	return job_put_request(&w->text, &a, err);
}
