/* api/read.c - read a JSON body as a job, or as the fault of a job */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* ---- fields ---- */

static const struct job_field *find_field(const struct job_field *f, const char *key)
{
	while (f->key && strcmp(f->key, key))
		f++;
	return f->key ? f : NULL;
}

static const struct job_refused *find_refused(const struct job_refused *f, const char *key)
{
	while (f->key && strcmp(f->key, key))
		f++;
	return f->key ? f : NULL;
}

static int refuse_field(const struct job *j, const struct job_refused *r, const struct json *v,
                        infer_error *err)
{
	double x = json_is_number(v)        ? json_double(v)
	           : json_is(v, JSON_TRUE)  ? 1
	           : json_is(v, JSON_FALSE) ? 0
	                                    : NAN;

	if (json_is_null(v) || x == r->nothing || (json_is_array(v) && !json_count(v)))
		return INFER_OK;
	return err_set(err, INFER_EUNSUP, "%s is not supported%s", r->key,
	               j->o->where ? j->o->where : "");
}

/* Read one field; sets *known to 0 if there is no such field. */
static int take_field(struct job *j, const struct job_fields *fields, const char *key,
                      const struct json *v, int *known, infer_error *err)
{
	const struct job_field *f = find_field(fields->known, key);
	const struct job_refused *r;

	f = f ? f : find_field(job_common, key);
	f = f ? f : find_field(job_constraints, key);
	f = f || !fields->has_extras ? f : find_field(job_extras(), key);
	f = f || !(j->o->reads & INFER_JOB_STREAM) ? f : find_field(job_streamed, key);
	*known = 1;
	if (f)
		return json_is_null(v) ? INFER_OK : f->take(j, key, v, err);
	TRY(job_sampling(j, key, v, known, err));
	if (*known)
		return INFER_OK;
	r = find_refused(fields->refused, key);
	r = r ? r : find_refused(job_refused_common, key);
	r = r || !fields->has_extras ? r : find_refused(job_refused_extras(), key);
	*known = r != NULL;
	return r ? refuse_field(j, r, v, err) : INFER_OK;
}

static int take_fields(struct job *j, const struct json *o, const struct job_fields *fields)
{
	int known;

	json_each(v, o) {
		const char *key = arena_strndup(&j->mem, v->key, v->key_n);

		if (!key)
			return err_nomem(&j->j.fault.error);
		known = 0;
		if (strlen(key) == v->key_n &&
		    take_field(j, fields, key, v, &known, &j->j.fault.error))
			return job_fault(j, key);
		if (!known && !(j->o->reads & INFER_JOB_LENIENT))
			return job_unknown(j, v->key, v->key_n);
	}
	return INFER_OK;
}

/* ---- the whole of it ---- */

static void fill_defaults(struct job *j, const struct job_fields *fields)
{
	const struct infer_job_opts *o = j->o;

	j->j.n = 1;
	j->raw = o->raw || o->messages_only;
	j->top_logprobs = -1;
	j->prefill = j->opens = -1;
	j->single = j->is_own ? 0 : -1;
	j->j.logprobs = o->logprobs;
	j->j.breaker_texts = o->breaker_texts;
	j->j.n_breaker_texts = o->n_breaker_texts;
	j->constraint.flags = o->constraint.flags;
	j->constraint.budget = o->constraint.budget;
	j->j.request = (struct infer_request){
		.max_tokens = fields->max_tokens >= 0 && !o->max_tokens_given ? fields->max_tokens
		                                                              : o->max_tokens,
		.sample = o->sample,
		.stop = o->stop,
		.n_stop = o->n_stop,
		.flags = o->flags,
		.stop_tokens = o->stop_tokens,
		.n_stop_tokens = o->n_stop_tokens,
	};
}

/* Return the name of the field that contains the prompt. */
static const char *job_prompt_key(const struct job *j)
{
	return j->j.api->flags & API_TALKS ? "messages" : "prompt";
}

/* Store the prompt if `echo` needs its text for the beginning of the answer. */
static int keep_begun(struct job *j, const struct infer_prompt *p, infer_error *err)
{
	struct infer_prompt *kept;

	j->j.echo = p->text.len > 0;
	if (!j->j.echo)
		return INFER_OK;
	kept = arena_alloc(&j->mem, 1, sizeof *kept);
	if (!kept)
		return err_nomem(err);
	*kept = *p;
	j->j.prompts = kept;
	j->j.n_prompts = 1;
	return INFER_OK;
}

/* Read the prompt, whichever fields contain it.  *param: the field at fault. */
static int fill_prompt(struct job *j, const char **param, infer_error *err)
{
	const struct json *v = j->prompt_value;

	*param = j->j.api == &api_text ? "suffix" : NULL;
	if (j->has_gap)
		return job_read_gap(j, &j->fim, err);
	if (job_is_conversation(j)) {
		struct infer_prompt p;

		TRY(job_conversation(j, param, err));
		p = (struct infer_prompt){ .ids = j->prompt, .n = j->j.request.n_prompt };
		*param = "truncate_prompt_tokens";
		TRY(job_cut_prompt(j, &p, err));
		j->j.request.prompt = p.ids;
		j->j.request.n_prompt = p.n;
		p.text = j->extras.begun;
		TRY(keep_begun(j, &p, err));
		return j->j.request.n_prompt
		               ? INFER_OK
		               : err_set(err, INFER_EFORMAT, "the chat template writes nothing");
	}
	*param = job_prompt_key(j);
	if (!v)
		return err_set(err, INFER_EINVAL, "%s is missing",
		               j->is_own ? "prompt or messages" : *param);
	TRY(job_no_conversation(j, param, err));
	return job_read_prompts(j, "prompt", v, err);
}

/* Store the request in j->j.asked, as a line that repeats it. */
static int keep_request(struct job *j, infer_error *err)
{
	const struct json *v = j->prompt_value;
	struct job_asked a = { .j = &j->j, .values = { j->messages, j->args } };

	if (job_is_conversation(j))
		a.conversation = &j->conversation;
	else if (json_is_string(v) && !(j->o->encode & INFER_ENCODE_SPECIAL))
		a.text = (struct infer_str){ v->s, v->n };
	TRY(job_put_request(&j->asked, &a, err));
	j->j.asked = (struct infer_str){ j->asked.at, j->asked.len };
	return INFER_OK;
}

int job_read_fields(struct job *j, const struct json *body, const struct job_fields *fields)
{
	infer_error *err = &j->j.fault.error;
	const char *param = NULL;

	fill_defaults(j, fields);
	j->j.body = body;
	if (take_fields(j, body, fields))
		return err->code;
	if (job_choose_adapters(j, body, &param, err))
		return job_fault(j, param);
	if (fields->ready && fields->ready(j, &param, err))
		return job_fault(j, param);
	if (fill_prompt(j, &param, err))
		return job_fault(j, param);
	if (job_constrain_end(j, &param, err)) {
		job_fault(j, param);
		if (err->code == INFER_EEMPTY && j->constraint.form == INFER_GRAMMAR_SCHEMA)
			j->j.fault.kind = INFER_FAULT_SCHEMA;
		return err->code;
	}
	if (job_chat_end(j, err))
		return job_fault(j, "top_logprobs");
	if (j->stream_options && !j->j.stream) {
		err_set(err, INFER_EINVAL, "stream_options needs stream to be true");
		return job_fault(j, "stream_options");
	}
	if (j->j.request.max_tokens >= 0 && j->j.request.min_tokens > j->j.request.max_tokens) {
		err_set(err, INFER_EINVAL, "min_tokens is %d: above max_tokens, %d",
		        (int)j->j.request.min_tokens, (int)j->j.request.max_tokens);
		return job_fault(j, "min_tokens");
	}
	if (!j->seeded && !(j->o->reads & INFER_JOB_SEEDED))
		j->j.request.sample.seed = job_seed_of_id(j);
	if (j->min_logprobs && j->j.logprobs < 0)
		j->j.logprobs = 0;
	j->j.request.top = j->j.logprobs > 0 ? j->j.logprobs : 0;
	if (job_extras_end(j, &param, err))
		return job_fault(j, param);
	if (job_sampling_end(j, err))
		return job_fault(j, NULL);
	return j->o->reads & INFER_JOB_KEEP && keep_request(j, err) ? job_fault(j, "logit_bias")
	                                                            : INFER_OK;
}

void job_set_api(struct job *j, const infer_api *api)
{
	j->j.api = api;
	j->is_own = api == &api_own;
}

void job_read_body(struct job *j, const struct json *body)
{
	if (json_is_object(body)) {
		j->j.api->read(j, body);
		return;
	}
	err_set(&j->j.fault.error, INFER_EINVAL, "the body must be a JSON object");
	job_fault(j, NULL);
}

int infer_job_read(infer_job **out, const infer_job_reader *r, const infer_api *api,
                   uint64_t tenant, const char *id, const char *body, size_t bytes,
                   infer_error *err)
{
	struct job *j;

	*out = NULL;
	TRY(job_new(&j, r, err));
	job_set_api(j, api);
	j->tenant = tenant;
	j->j.id = arena_strndup(&j->mem, id, strlen(id));
	if (j->j.id && !job_parse(j, body, bytes))
		job_read_body(j, j->json);
	return job_end(out, j, err);
}
