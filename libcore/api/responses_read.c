/* api/responses_read.c - requests of OpenAI's /v1/responses, converted to conversations */
#include "api/responses.h"
#include "api/api.h"
#include "api/turns.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

/* ---- fields ---- */

static int take_input(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v) && !json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a string or an array", key);
	j->input = v;
	return INFER_OK;
}

static int take_instructions(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	j->instructions = v;
	return INFER_OK;
}

/* Read the tools.  Tools that the hosted service runs, which have other types, are ignored. */
static int take_tools(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct json *tools = json_new(&j->mem, JSON_ARRAY);
	size_t i = 0;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	json_each(t, v) {
		if (!json_is_string(json_get(t, "type")))
			return err_set(err, INFER_EINVAL, "%s: entry %zu has no type", key, i);
		if (json_equals(json_get(t, "type"), "function"))
			turns_tool(tools, &j->mem, t, "parameters");
		i++;
	}
	return j->mem.bad ? err_nomem(err) : job_take_tools(j, key, tools, err);
}

static int take_responses_choice(struct job *j, const char *key, const struct json *v,
                                 infer_error *err)
{
	const struct json *type = json_get(v, "type");
	struct json *choice;

	if (json_equals(type, "allowed_tools")) {
		choice = json_new(&j->mem, JSON_OBJECT);
		json_set(choice, "type", json_new_str(&j->mem, "allowed_tools"));
		json_set(choice, "allowed_tools", json_share(&j->mem, v));
	} else if (json_equals(type, "function")) {
		choice = turns_choice(&j->mem, json_get(v, "name"));
	} else {
		return job_take_tool_choice(j, key, v, err);
	}
	return j->mem.bad ? err_nomem(err) : job_take_tool_choice(j, key, choice, err);
}

static int take_parallel(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int several;

	TRY(job_take_bool(&several, key, v, err));
	j->single = !several;
	return INFER_OK;
}

/* Read {"format": {"type": "json_schema", "name", "schema", "strict"}}. */
static int take_text_format(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *format = json_get(v, "format");
	struct json *wrapped;

	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	if (!format || json_is_null(format))
		return INFER_OK;
	if (!json_equals(json_get(format, "type"), "json_schema"))
		return job_take_format(j, key, format, err);
	wrapped = json_new(&j->mem, JSON_OBJECT);
	json_set(wrapped, "type", json_new_str(&j->mem, "json_schema"));
	json_set(wrapped, "json_schema", json_share(&j->mem, format));
	return j->mem.bad ? err_nomem(err) : job_take_format(j, key, wrapped, err);
}

static int take_reasoning(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *effort = json_get(v, "effort");

	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	return effort && !json_is_null(effort) ? job_take_effort(j, key, effort, err) : INFER_OK;
}

static int take_truncation(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->truncates = json_equals(v, "auto");
	return json_equals(v, "disabled") || j->truncates
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s is neither auto nor disabled", key);
}

static int take_max(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_whole(&j->j.request.max_tokens, key, v, 1, INT32_MAX, err));
	j->limit_rank = 1;
	return INFER_OK;
}

static int take_include(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_array(v) ? INFER_OK : err_set(err, INFER_EINVAL, "%s must be an array", key);
}

/* Refuse the id of an earlier response: a caller that keeps responses replaces it by their items. */
static int take_kept(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)v;
	return err_set(err, INFER_EUNSUP, "%s: responses are not kept%s%s", key,
	               j->o->where ? j->o->where : "",
	               j->o->reads & INFER_JOB_STREAM ? " without --files-dir" : "");
}

static int take_conversation(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j, (void)v;
	return err_set(err, INFER_EUNSUP, "%s is not supported: use previous_response_id", key);
}

/* Read top_logprobs, which implies logprobs. */
static int take_top(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	int32_t n;

	TRY(job_whole(&n, key, v, 0, 20, err));
	return n ? err_set(err, INFER_EUNSUP, "%s is not supported%s", key,
	                   j->o->where ? j->o->where : "")
	         : INFER_OK;
}

static const struct job_field known[] = {
	{ "input", take_input },
	{ "instructions", take_instructions },
	{ "max_output_tokens", take_max },
	{ "tools", take_tools },
	{ "tool_choice", take_responses_choice },
	{ "parallel_tool_calls", take_parallel },
	{ "text", take_text_format },
	{ "reasoning", take_reasoning },
	{ "truncation", take_truncation },
	{ "chat_template_kwargs", job_take_args },
	{ "previous_response_id", take_kept },
	{ "conversation", take_conversation },
	{ "top_logprobs", take_top },
	{ "include", take_include },
	{ "model", job_pass_text },
	{ "user", job_pass_text },
	{ "metadata", job_pass_object },
	{ "store", job_pass_bool },
	{ "service_tier", job_pass_text },
	{ "safety_identifier", job_pass_text },
	{ "prompt_cache_key", job_pass_text },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "stream", 0 },   { "stream_options", NAN }, { "background", 0 },
	{ "prompt", NAN }, { "max_tool_calls", NAN }, { NULL, 0 },
};

/* ---- items ---- */

struct reading {
	struct job *j;
	struct json *to, *last;       /* last: an open turn of the assistant, or NULL */
	const struct json *reasoning; /* the reasoning item before the current item, or NULL */
	size_t i;
	infer_error *err;
};

static int refuse_item(const struct reading *r, const char *what)
{
	return err_set(r->err, INFER_EINVAL, "input[%zu]: %s", r->i, what);
}

/* Read the content of an item: a text, or parts that are texts. */
static int read_content(struct json **out, struct reading *r, const struct json *v)
{
	static const char *const texts[] = { "input_text",     "output_text",  "text", "refusal",
		                             "reasoning_text", "summary_text", NULL };
	struct arena *a = &r->j->mem;
	struct json *parts = json_new(a, JSON_ARRAY);

	*out = NULL;
	if (json_is_string(v)) {
		*out = json_share(a, v);
		return INFER_OK;
	}
	if (!json_is_array(v))
		return refuse_item(r, "the content is neither a text nor an array");
	json_each(p, v) {
		const struct json *type = json_get(p, "type"), *words = json_get(p, "text");
		const char *const *t = texts;

		while (*t && !json_equals(type, *t))
			t++;
		words = words ? words : json_get(p, "refusal");
		if (!*t && json_is_string(type))
			return err_set(r->err, INFER_EUNSUP,
			               "input[%zu]: content of type %.*s is not supported", r->i,
			               type->n < 40 ? (int)type->n : 40, type->s);
		if (!*t || !json_is_string(words))
			return refuse_item(r, "every part of the content must be text");
		turns_part(parts, a, words);
	}
	*out = turns_content(a, parts);
	return INFER_OK;
}

/* Return the last turn of the assistant, to which calls are appended; begins one if needed. */
static struct json *assistant(struct reading *r)
{
	struct arena *a = &r->j->mem;

	if (!r->last)
		r->last = turns_put(r->to, a, "assistant", NULL);
	if (r->reasoning)
		json_set(r->last, "reasoning_content", json_share(a, r->reasoning));
	r->reasoning = NULL;
	return r->last;
}

static int put_message(struct reading *r, const struct json *item)
{
	static const char *const roles[] = { "user", "system", "developer", "assistant", NULL };
	const struct json *role = json_get(item, "role");
	const char *const *is = roles;
	struct json *content;

	while (*is && !json_equals(role, *is))
		is++;
	if (!*is)
		return refuse_item(r, "the role is none of user, system, developer and assistant");
	TRY(read_content(&content, r, json_get(item, "content")));
	r->last = NULL;
	if (strcmp(*is, "assistant") != 0)
		turns_put(r->to, &r->j->mem, *is, content);
	else
		json_set(assistant(r), "content", content);
	return INFER_OK;
}

static int put_call(struct reading *r, const struct json *item)
{
	const struct json *id = json_get(item, "call_id"), *name = json_get(item, "name"),
			  *arguments = json_get(item, "arguments");

	if (!json_is_string(id) || !json_is_string(name) || !json_is_string(arguments))
		return refuse_item(r, "a function_call lacks call_id, name or arguments");
	turns_call(assistant(r), &r->j->mem, id, name, arguments);
	return INFER_OK;
}

static int put_output(struct reading *r, const struct json *item)
{
	const struct json *id = json_get(item, "call_id");
	struct json *content, *m;

	if (!json_is_string(id))
		return refuse_item(r, "a function_call_output has no call_id");
	TRY(read_content(&content, r, json_get(item, "output")));
	m = turns_put(r->to, &r->j->mem, "tool", content);
	json_set(m, "tool_call_id", json_share(&r->j->mem, id));
	r->last = NULL;
	return INFER_OK;
}

static int put_reasoning(struct reading *r, const struct json *item)
{
	const struct json *content = json_get(item, "content");
	struct json *words;

	r->last = NULL;
	if (!content || json_is_null(content))
		return INFER_OK;
	TRY(read_content(&words, r, content));
	r->reasoning = json_is_string(words) ? words : json_get(json_first(words), "text");
	return INFER_OK;
}

static int put_item(struct reading *r, const struct json *item)
{
	const struct json *type = json_get(item, "type");

	if (!json_is_object(item))
		return refuse_item(r, "is not an object");
	if (!type || json_is_null(type) || json_equals(type, "message"))
		return put_message(r, item);
	if (json_equals(type, "function_call"))
		return put_call(r, item);
	if (json_equals(type, "function_call_output"))
		return put_output(r, item);
	if (json_equals(type, "reasoning"))
		return put_reasoning(r, item);
	return err_set(r->err, INFER_EUNSUP, "input[%zu]: an item of type %.*s is not supported",
	               r->i, json_bytes(type) < 40 ? (int)json_bytes(type) : 40, json_str(type));
}

static int ready(struct job *j, const char **param, infer_error *err)
{
	struct reading r = { .j = j, .to = json_new(&j->mem, JSON_ARRAY), .err = err };

	*param = "n";
	if (j->j.n != 1)
		return err_set(err, INFER_EINVAL, "n is %d: a response is one answer", (int)j->j.n);
	*param = "input";
	if (!j->input || (json_is_array(j->input) && !j->input->n))
		return err_set(err, INFER_EINVAL, "input is missing");
	if (j->instructions)
		turns_put(r.to, &j->mem, "system", json_share(&j->mem, j->instructions));
	if (json_is_string(j->input))
		turns_put(r.to, &j->mem, "user", json_share(&j->mem, j->input));
	json_each(item, j->input) {
		TRY(put_item(&r, item));
		r.i++;
	}
	if (j->mem.bad)
		return err_nomem(err);
	j->messages = r.to;
	return INFER_OK;
}

const struct job_fields responses_fields = { known, refused, -1, ready };

int responses_read(struct job *j, const struct json *body)
{
	return job_read_fields(j, body, &responses_fields);
}
