/* api/conversation.c - the fields of requests that are conversations */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "chat/chat.h"

#include <string.h>

enum { TOP_MOST = 20 };

int job_take_messages(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	j->messages = v;
	return INFER_OK;
}

int job_take_tools(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	size_t bad;
	int rc;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	j->tools_given = 1;
	if (!j->is_own)
		TRY(job_check_tools(v, err));
	/* our own format accepts the same as --tools */
	rc = tools_take(&j->tools, v, j->is_own ? 0 : TOOLS_WRAPPED, &bad);
	if (rc == INFER_ENOMEM)
		return err_nomem(err);
	return rc ? err_set(err, INFER_EINVAL, "%s: entry %zu must be a function with a name", key,
	                    bad)
	          : INFER_OK;
}

/* Return the name in {"type": "function", "function": {"name": ...}}; in our own format also a bare
 * name. */
static const struct json *name_of_choice(const struct job *j, const struct json *v)
{
	const struct json *f = json_get(v, "function");

	if (json_is_string(v))
		return j->is_own ? v : NULL;
	return json_equals(json_get(v, "type"), "function") ? json_get(f, "name") : NULL;
}

/* Read {"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}. */
static int take_allowed(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *allowed = json_get(v, "allowed_tools");
	const struct json *mode = json_get(allowed, "mode"), *tools = json_get(allowed, "tools");

	j->j.calls = json_equals(mode, "required") ? INFER_CALLS_REQUIRED : INFER_CALLS_AUTO;
	j->allowed = tools;
	if (!json_is_array(tools) || !tools->n ||
	    (j->j.calls == INFER_CALLS_AUTO && !json_equals(mode, "auto")))
		return err_set(err, INFER_EINVAL,
		               "%s: allowed_tools must have a mode, auto or required, and "
		               "tools",
		               key);
	return INFER_OK;
}

int job_take_tool_choice(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	static const char *const words[] = { [INFER_CALLS_NONE] = "none",
		                             [INFER_CALLS_AUTO] = "auto",
		                             [INFER_CALLS_REQUIRED] = "required" };

	j->choice_given = 1;
	if (!j->is_own && json_equals(json_get(v, "type"), "allowed_tools"))
		return take_allowed(j, key, v, err);
	for (int i = INFER_CALLS_NONE; i <= INFER_CALLS_REQUIRED; i++)
		if (json_equals(v, words[i])) {
			j->j.calls = i;
			return INFER_OK;
		}
	j->j.calls = INFER_CALLS_NAMED;
	j->j.calls_name = json_cstr(&j->mem, name_of_choice(j, v));
	if (j->mem.bad)
		return err_nomem(err);
	return j->j.calls_name
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL,
	                         "%s must be none, auto, required or {\"type\": \"function\", "
	                         "\"function\": {\"name\": ...}}",
	                         key);
}

int job_take_args(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	j->args = v;
	return INFER_OK;
}

int job_take_think(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	TRY(job_take_bool(&on, key, v, err));
	j->think = on ? INFER_THINK_ON : INFER_THINK_OFF;
	return INFER_OK;
}

int job_take_now(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is(v, JSON_INT))
		return err_set(err, INFER_EINVAL, "%s must be an integer", key);
	j->now = v->i;
	j->now_given = 1;
	return INFER_OK;
}

int job_take_template(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->template_sha256 = json_cstr(&j->mem, v);
	return j->template_sha256 ? INFER_OK
	                          : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

/* Read logprobs (a boolean) or top_logprobs: other formats have one field for both. */
int job_take_chat_logprobs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return strcmp(key, "logprobs") ? job_whole(&j->top_logprobs, key, v, 0, TOP_MOST, err)
	                               : job_take_bool(&j->wants_logprobs, key, v, err);
}

int job_chat_end(struct job *j, infer_error *err)
{
	if (j->top_logprobs >= 0 && !j->wants_logprobs)
		return err_set(err, INFER_EINVAL, "top_logprobs needs logprobs to be true");
	if (j->wants_logprobs)
		j->j.logprobs = j->top_logprobs < 0 ? 0 : j->top_logprobs;
	return INFER_OK;
}

int job_take_prefill(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(strcmp(key, "continue_final_message") ? &j->opens : &j->prefill, key,
	                     v, err);
}

static int is_one_of(const struct json *v, const char *const *words)
{
	while (*words && !json_equals(v, *words))
		words++;
	return *words != NULL;
}

int job_take_effort(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	static const char *const words[] = { "none", "minimal", "low", "medium",
		                             "high", "xhigh",   "max", NULL };

	if (!is_one_of(v, words))
		return err_set(err, INFER_EINVAL,
		               "%s must be none, minimal, low, medium, high, xhigh or max", key);
	j->effort = v;
	return INFER_OK;
}

int job_take_reasoning(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	static const char *const words[] = { "none", "auto", "deepseek", "deepseek-legacy", NULL };

	if (!is_one_of(v, words))
		return err_set(err, INFER_EINVAL,
		               "%s must be none, auto, deepseek or deepseek-legacy", key);
	j->inline_reasoning = json_equals(v, "none");
	return INFER_OK;
}

/* Read the most tokens of reasoning; 0: no thinking; -1: no limit. */
int job_take_thinking_budget(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t most;

	TRY(job_whole(&most, key, v, -1, INT32_MAX, err));
	j->limits_thinking = 1;
	if (!most)
		j->no_thinking = 1;
	j->j.request.reason_limit = most < INT32_MAX ? most + 1 : 0;
	return INFER_OK;
}
