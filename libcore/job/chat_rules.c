/* job/chat_rules.c - conversations in the formats of servers: checks of messages and tools, and
 * how the assistant's turn begins */
#include "job/job.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

enum { TOOLS_MOST = 128, NAME_MOST = 64 };

/* ---- messages ---- */

static int has_content(const struct json *m)
{
	const struct json *content = json_get(m, "content");

	return json_is_string(content) || json_is_array(content);
}

/* Check that the arguments of each call are JSON, or a string with JSON. */
static int check_calls(struct arena *a, const struct json *m, size_t i, infer_error *err)
{
	const struct json *read;

	json_each(call, json_get(m, "tool_calls")) {
		const struct json *f = json_get(call, "function"),
				  *args = json_get(f ? f : call, "arguments");

		if (json_bytes(args) && jread(&read, a, args->s, args->n, "arguments", NULL))
			return err_set(err, INFER_EINVAL,
			               "messages[%zu]: the arguments of a call are not JSON", i);
	}
	return INFER_OK;
}

static int check_message(struct arena *a, const struct json *m, size_t i, infer_error *err)
{
	const struct json *role = json_get(m, "role");

	if (!json_is_object(m) || !json_is_string(role))
		return err_set(err, INFER_EINVAL, "messages[%zu] must be an object with a role", i);
	if (json_equals(role, "assistant")) {
		if (!has_content(m) && !json_count(json_get(m, "tool_calls")) &&
		    !json_bytes(json_get(m, "reasoning_content")))
			return err_set(err, INFER_EINVAL,
			               "messages[%zu] has neither content nor tool_calls", i);
		return check_calls(a, m, i, err);
	}
	if (!has_content(m))
		return err_set(err, INFER_EINVAL, "messages[%zu] has no content", i);
	if (json_equals(role, "tool") && !json_is_string(json_get(m, "tool_call_id")))
		return err_set(err, INFER_EINVAL, "messages[%zu] has no tool_call_id", i);
	return INFER_OK;
}

static int is_assistant(const struct json *m)
{
	return json_equals(json_get(m, "role"), "assistant");
}

int job_check_messages(struct job *j, infer_error *err)
{
	const struct json *before = NULL, *last = NULL;
	size_t i = 0;

	if (!j->messages->n)
		return err_set(err, INFER_EINVAL, "messages is empty");
	json_each(m, j->messages) {
		TRY(check_message(&j->mem, m, i++, err));
		before = last;
		last = m;
	}
	if (is_assistant(last) && is_assistant(before))
		return err_set(err, INFER_EINVAL,
		               "messages: two turns of the assistant at the end");
	return INFER_OK;
}

/* ---- how the answer begins ---- */

/* True if the template's variable enable_thinking is true. */
static int wants_thinking(const struct job *j)
{
	return json_is(json_get(j->args, "enable_thinking"), JSON_TRUE);
}

/* Refuse fields that a stored request cannot express.  anew: a new turn follows an assistant's. */
static int check_kept(const struct job *j, int anew, const char **param, infer_error *err)
{
	if (!(j->o->reads & INFER_JOB_KEEP))
		return INFER_OK;
	*param = anew                  ? "continue_final_message"
	         : !j->opens           ? "add_generation_prompt"
	         : j->single > 0       ? "parallel_tool_calls"
	         : j->inline_reasoning ? "reasoning_format"
	                               : NULL;
	return *param ? err_set(err, INFER_EUNSUP, "%s: a record of the request cannot express it",
	                        *param)
	              : INFER_OK;
}

static int take_begun(struct job *j, const struct json *content, infer_error *err)
{
	j->extras.begun = (struct infer_str){ json_str(content), json_bytes(content) };
	return json_is_string(content)
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "echo: the content of the last message must be a string");
}

int job_begin_answer(struct job *j, struct infer_conversation *c, const char **param,
                     infer_error *err)
{
	const struct json *last = NULL, *think = json_get(j->args, "enable_thinking");
	int there, last_is;

	json_each(m, j->messages)
		last = m;
	last_is = is_assistant(last) && !json_count(json_get(last, "tool_calls"));
	*param = "chat_template_kwargs";
	if (think && !json_is_bool(think) && !json_is_null(think))
		return err_set(err, INFER_EINVAL,
		               "chat_template_kwargs: enable_thinking must be true or false");
	*param = "continue_final_message";
	if (j->prefill == 1 && j->opens == 1)
		return err_set(err, INFER_EINVAL,
		               "continue_final_message and add_generation_prompt exclude each "
		               "other");
	if (j->prefill == 1 && !last_is)
		return err_set(err, INFER_EINVAL,
		               "continue_final_message: the last message is not the assistant's");
	*param = "messages";
	there = last_is && (j->prefill < 0 ? j->opens != 1 : j->prefill);
	if (there && wants_thinking(j))
		return err_set(err, INFER_EINVAL,
		               "messages: an answer that is continued excludes enable_thinking");
	TRY(check_kept(j, last_is && !there, param, err));
	c->flags &= ~(uint32_t)INFER_CHAT_CONTINUE;
	c->flags |= there ? INFER_CHAT_CONTINUE : 0;
	c->flags |= !j->opens ? INFER_CHAT_NO_PROMPT : 0;
	*param = "echo";
	return there && j->j.echo ? take_begun(j, json_get(last, "content"), err) : INFER_OK;
}

/* ---- reasoning ---- */

/* Add a variable to a copy of the template's variables, unless it is set. */
static int add_arg(struct job *j, const char *key, struct json *v, infer_error *err)
{
	struct json *args = j->args ? json_copy(&j->mem, j->args) : json_new(&j->mem, JSON_OBJECT);

	if (!json_get(args, key))
		json_set(args, key, v);
	j->args = args;
	return j->mem.bad ? err_nomem(err) : INFER_OK;
}

int job_apply_effort(struct job *j, const struct infer_chat_caps *caps, infer_error *err)
{
	const int none = j->no_thinking || json_equals(j->effort, "none");

	if (j->wants_thinking && caps->thinking)
		j->think = INFER_THINK_ON;
	if (none && caps->thinking)
		j->think = INFER_THINK_OFF;
	if (!j->effort)
		return INFER_OK;
	if (!none && caps->thinking && j->think == INFER_THINK_DEFAULT &&
	    !json_get(j->args, "enable_thinking"))
		j->think = INFER_THINK_ON;
	return add_arg(j, "reasoning_effort", json_share(&j->mem, j->effort), err);
}

/* ---- tools ---- */

int job_is_name(const struct json *v)
{
	if (!json_bytes(v) || v->n > NAME_MOST)
		return 0;
	for (uint32_t i = 0; i < v->n; i++) {
		const char c = v->s[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-'))
			return 0;
	}
	return 1;
}

static int same_text(const struct json *a, const struct json *b)
{
	return json_bytes(a) == json_bytes(b) && !memcmp(json_str(a), json_str(b), json_bytes(a));
}

static int check_tool(const struct json *tools, const struct json *tool, size_t i, infer_error *err)
{
	const struct json *f = json_get(tool, "function"), *name = json_get(f, "name"),
			  *parameters = json_get(f, "parameters"), *strict = json_get(f, "strict");

	if (!json_equals(json_get(tool, "type"), "function"))
		return err_set(err, INFER_EINVAL, "tools: entry %zu: the type must be function", i);
	if (!job_is_name(name))
		return err_set(
			err, INFER_EINVAL,
			"tools: entry %zu must be a function with a name of 1 to 64 letters, "
			"digits, _ or -",
			i);
	if (parameters && !json_is_null(parameters) && !json_is_object(parameters))
		return err_set(err, INFER_EINVAL, "tools: entry %zu: parameters must be an object",
		               i);
	if (strict && !json_is_null(strict) && !json_is_bool(strict))
		return err_set(err, INFER_EINVAL, "tools: entry %zu: strict must be true or false",
		               i);
	for (const struct json *t = json_first(tools); t != tool; t = t->next)
		if (same_text(json_get(json_get(t, "function"), "name"), name))
			return err_set(err, INFER_EINVAL, "tools: two are called %.*s",
			               (int)name->n, name->s);
	return INFER_OK;
}

int job_check_tools(const struct json *tools, infer_error *err)
{
	size_t i = 0;

	if (tools->n > TOOLS_MOST)
		return err_set(err, INFER_EINVAL, "tools: there are %u, more than %d",
		               (unsigned)tools->n, TOOLS_MOST);
	json_each(tool, tools)
		TRY(check_tool(tools, tool, i++, err));
	return INFER_OK;
}

static const struct json *find_tool(const struct json *list, const struct json *wanted)
{
	const struct json *f = json_get(wanted, "function"),
			  *name = json_get(f ? f : wanted, "name");

	json_each(tool, list)
		if (json_bytes(name) &&
		    same_text(json_get(json_get(tool, "function"), "name"), name))
			return tool;
	return NULL;
}

int job_allow_tools(struct job *j, infer_error *err)
{
	struct json *left;
	size_t bad;

	if (!j->allowed)
		return INFER_OK;
	left = json_new(&j->mem, JSON_ARRAY);
	json_each(wanted, j->allowed) {
		const struct json *tool = find_tool(j->tools.list, wanted);

		if (!tool)
			return err_set(err, INFER_EINVAL,
			               "tool_choice: a tool of allowed_tools is not in tools");
		json_append(left, json_share(&j->mem, tool));
	}
	tools_fini(&j->tools);
	memset(&j->tools, 0, sizeof j->tools);
	if (j->mem.bad || tools_take(&j->tools, left, TOOLS_WRAPPED, &bad))
		return err_nomem(err);
	return INFER_OK;
}
