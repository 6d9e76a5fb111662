/* api/messages_read.c - requests of Anthropic's /v1/messages, converted to OpenAI's format */
#include "api/messages.h"
#include "api/api.h"
#include "api/turns.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

enum { BUDGET_LEAST = 1024 };

/* ---- fields ---- */

static int take_system(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v) && !json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a string or an array", key);
	j->instructions = v;
	return INFER_OK;
}

/* Read a temperature: at most 1, unlike in other formats. */
static int take_temperature(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int known;

	if (json_is_number(v) && !(json_double(v) >= 0 && json_double(v) <= 1))
		return err_set(err, INFER_EINVAL, "%s is %.9g: must be from 0 to 1", key,
		               json_double(v));
	return job_sampling(j, key, v, &known, err);
}

static int take_stops(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	return job_take_stop(j, key, v, err);
}

static int take_tools(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct json *tools = json_new(&j->mem, JSON_ARRAY);
	size_t i = 0;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	json_each(t, v) {
		const struct json *type = json_get(t, "type");

		if (type && !json_is_null(type) && !json_equals(type, "custom"))
			return err_set(
				err, INFER_EUNSUP,
				"%s: entry %zu: tools that the server runs are not supported", key,
				i);
		if (!json_is_object(json_get(t, "input_schema")))
			return err_set(err, INFER_EINVAL, "%s: entry %zu has no input_schema", key,
			               i);
		turns_tool(tools, &j->mem, t, "input_schema");
		i++;
	}
	return j->mem.bad ? err_nomem(err) : job_take_tools(j, key, tools, err);
}

static int take_messages_choice(struct job *j, const char *key, const struct json *v,
                                infer_error *err)
{
	static const char *const words[][2] = { { "auto", "auto" },
		                                { "any", "required" },
		                                { "none", "none" } };
	const struct json *type = json_get(v, "type"),
			  *single = json_get(v, "disable_parallel_tool_use");
	struct json *choice = NULL;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (json_equals(type, words[i][0]))
			choice = json_new_str(&j->mem, words[i][1]);
	if (json_equals(type, "tool") && json_is_string(json_get(v, "name")))
		choice = turns_choice(&j->mem, json_get(v, "name"));
	if (j->mem.bad)
		return err_nomem(err);
	if (!choice)
		return err_set(err, INFER_EINVAL,
		               "%s: the type must be auto, any, none, or tool with a name", key);
	if (single && !json_is_null(single))
		TRY(job_take_bool(&j->single, "tool_choice: disable_parallel_tool_use", single,
		                  err));
	return job_take_tool_choice(j, key, choice, err);
}

static int take_thinking(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *type = json_get(v, "type"), *budget = json_get(v, "budget_tokens");

	if (json_equals(type, "adaptive"))
		return INFER_OK;
	if (json_equals(type, "disabled")) {
		j->no_thinking = 1;
		return INFER_OK;
	}
	if (!json_equals(type, "enabled"))
		return err_set(err, INFER_EINVAL,
		               "%s: the type must be enabled, disabled or adaptive", key);
	j->wants_thinking = 1;
	TRY(job_whole(&j->thinking_budget, "thinking: budget_tokens", budget, BUDGET_LEAST,
	              INT32_MAX - 1, err));
	j->limits_thinking = 1;
	j->j.request.reason_limit = j->thinking_budget + 1;
	return INFER_OK;
}

/* Read {"type": "json_schema", "schema"}, which output_format contains and output_config under
 * `format`.  The beta interface has the first; both may be given if they are the same. */
static int take_schema_of(struct job *j, const char *key, const struct json *format,
                          infer_error *err)
{
	const struct infer_str before = j->constraint.text;
	const int again = j->constraint_key && strcmp(j->constraint_key, key) != 0 &&
	                  (!strcmp(j->constraint_key, "output_config") ||
	                   !strcmp(j->constraint_key, "output_format"));

	if (!json_equals(json_get(format, "type"), "json_schema"))
		return err_set(err, INFER_EINVAL, "%s: the type of format must be json_schema",
		               key);
	if (again)
		j->constraint_key = NULL;
	TRY(job_take_schema(j, key, json_get(format, "schema"), err));
	if (again && (before.len != j->constraint.text.len ||
	              memcmp(before.at, j->constraint.text.at, before.len) != 0))
		return err_set(err, INFER_EINVAL,
		               "%s: output_config.format and output_format must be the same", key);
	return INFER_OK;
}

static int take_output(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *format = json_get(v, "format"), *effort = json_get(v, "effort");

	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	if (effort && !json_is_null(effort))
		TRY(job_take_effort(j, key, effort, err));
	return !format || json_is_null(format) ? INFER_OK : take_schema_of(j, key, format, err);
}

static const struct job_field known[] = {
	{ "messages", job_take_messages },
	{ "system", take_system },
	{ "temperature", take_temperature },
	{ "stop_sequences", take_stops },
	{ "tools", take_tools },
	{ "tool_choice", take_messages_choice },
	{ "thinking", take_thinking },
	{ "output_config", take_output },
	{ "output_format", take_schema_of },
	{ "chat_template_kwargs", job_take_args },
	{ "model", job_pass_text },
	{ "metadata", job_pass_object },
	{ "service_tier", job_pass_text },
	{ "container", job_pass },
	{ "cache_control", job_pass_object },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "stream", 0 },
	{ "mcp_servers", NAN },
	{ NULL, 0 },
};

/* ---- turns ---- */

struct reading {
	struct job *j;
	/* to: all turns; texts: parts of the open turn; turn: the turn, if the assistant's */
	struct json *to, *texts, *turn;
	size_t i; /* index of the message */
	infer_error *err;
};

static int refuse_block(const struct reading *r, const char *what)
{
	return err_set(r->err, INFER_EINVAL, "messages[%zu]: %s", r->i, what);
}

/* Append a string, or the texts of blocks, to a list of parts. */
static int put_texts(struct reading *r, struct json *parts, const struct json *v)
{
	if (json_is_string(v)) {
		turns_part(parts, &r->j->mem, v);
		return INFER_OK;
	}
	json_each(b, v) {
		if (!json_equals(json_get(b, "type"), "text") ||
		    !json_is_string(json_get(b, "text")))
			return refuse_block(r, "a block must be text");
		turns_part(parts, &r->j->mem, json_get(b, "text"));
	}
	return INFER_OK;
}

/* True if an earlier turn has a call with this id. */
static int was_called(const struct json *turns, const struct json *id)
{
	json_each(m, turns)
		json_each(c, json_get(m, "tool_calls")) {
			const struct json *of = json_get(c, "id");

			if (json_bytes(of) == json_bytes(id) &&
			    !memcmp(json_str(of), json_str(id), json_bytes(id)))
				return 1;
		}
	return 0;
}

static int put_result(struct reading *r, const struct json *b)
{
	struct arena *a = &r->j->mem;
	struct json *parts = json_new(a, JSON_ARRAY), *m;
	const struct json *id = json_get(b, "tool_use_id"), *content = json_get(b, "content");

	if (!json_is_string(id) || !was_called(r->to, id))
		return refuse_block(r, "tool_use_id names no tool_use before it");
	if (content && !json_is_null(content))
		TRY(put_texts(r, parts, content));
	m = turns_put(r->to, a, "tool", turns_content(a, parts));
	json_set(m, "tool_call_id", json_share(a, id));
	return INFER_OK;
}

static int put_document(struct reading *r, const struct json *b)
{
	const struct json *source = json_get(b, "source"), *data = json_get(source, "data");

	if (!json_equals(json_get(source, "type"), "text") || !json_is_string(data))
		return err_set(r->err, INFER_EUNSUP, "messages[%zu]: a document must be text",
		               r->i);
	turns_part(r->texts, &r->j->mem, data);
	return INFER_OK;
}

static int put_user_block(struct reading *r, const struct json *b)
{
	const struct json *type = json_get(b, "type");

	if (json_equals(type, "tool_result"))
		return put_result(r, b);
	if (json_equals(type, "document"))
		return put_document(r, b);
	if (json_equals(type, "text") && json_is_string(json_get(b, "text"))) {
		turns_part(r->texts, &r->j->mem, json_get(b, "text"));
		return INFER_OK;
	}
	if (json_equals(type, "image"))
		return err_set(r->err, INFER_EUNSUP, "messages[%zu]: an image is not supported",
		               r->i);
	return refuse_block(r, "a block must be text, tool_result or document");
}

static int put_assistant_block(struct reading *r, const struct json *b)
{
	const struct json *type = json_get(b, "type"), *input = json_get(b, "input");
	struct arena *a = &r->j->mem;

	if (json_equals(type, "redacted_thinking"))
		return INFER_OK;
	if (json_equals(type, "thinking") && json_is_string(json_get(b, "thinking"))) {
		json_set(r->turn, "reasoning_content", json_share(a, json_get(b, "thinking")));
		return INFER_OK;
	}
	if (json_equals(type, "text") && json_is_string(json_get(b, "text"))) {
		turns_part(r->texts, a, json_get(b, "text"));
		return INFER_OK;
	}
	if (!json_equals(type, "tool_use") || !json_is_string(json_get(b, "id")) ||
	    !json_is_string(json_get(b, "name")) || !json_is_object(input))
		return refuse_block(r,
		                    "a block must be text, thinking, or tool_use with id, name and "
		                    "input");
	turns_call(r->turn, a, json_get(b, "id"), json_get(b, "name"), input);
	return INFER_OK;
}

static void close_turn(struct reading *r)
{
	struct arena *a = &r->j->mem;

	if (r->turn)
		json_set(r->turn, "content", turns_content(a, r->texts));
	else if (json_count(r->texts))
		turns_put(r->to, a, "user", turns_content(a, r->texts));
	r->turn = NULL;
	r->texts = json_new(a, JSON_ARRAY);
}

static int put_message(struct reading *r, const struct json *m, int assistant)
{
	const struct json *content = json_get(m, "content");

	if (assistant && !r->turn)
		r->turn = turns_put(r->to, &r->j->mem, "assistant", NULL);
	if (!json_is_string(content) && !json_is_array(content))
		return refuse_block(r, "content must be a string or an array");
	if (json_is_string(content)) {
		turns_part(r->texts, &r->j->mem, content);
		return INFER_OK;
	}
	json_each(b, content)
		TRY(assistant ? put_assistant_block(r, b) : put_user_block(r, b));
	return INFER_OK;
}

/* Append all turns; consecutive turns of one role become one. */
static int put_turns(struct reading *r, const struct json *messages)
{
	int was = -1;

	json_each(m, messages) {
		const struct json *role = json_get(m, "role");
		int assistant = json_equals(role, "assistant");

		if (!assistant && !json_equals(role, "user"))
			return refuse_block(r, "the role must be user or assistant");
		if (was >= 0 && was != assistant)
			close_turn(r);
		was = assistant;
		TRY(put_message(r, m, assistant));
		r->i++;
	}
	close_turn(r);
	return INFER_OK;
}

static int put_system(struct reading *r)
{
	struct json *parts = json_new(&r->j->mem, JSON_ARRAY);

	if (!r->j->instructions)
		return INFER_OK;
	json_each(b, r->j->instructions)
		if (!json_is_string(json_get(b, "text")))
			return err_set(r->err, INFER_EINVAL, "system: every block must be text");
	TRY(put_texts(r, parts, r->j->instructions));
	if (json_count(parts))
		turns_put(r->to, &r->j->mem, "system", turns_content(&r->j->mem, parts));
	return INFER_OK;
}

/* ---- all of it ---- */

static int check_thinking(struct job *j, const char **param, infer_error *err)
{
	const char *tag = NULL, *calls;

	if (!j->wants_thinking)
		return INFER_OK;
	*param = "thinking";
	if (j->j.request.max_tokens >= 0 && j->thinking_budget >= j->j.request.max_tokens)
		return err_set(err, INFER_EINVAL,
		               "thinking: budget_tokens is %d: must be less than max_tokens, %d",
		               (int)j->thinking_budget, (int)j->j.request.max_tokens);
	if (j->o->chat)
		infer_reply_format(j->o->chat, &calls, &tag);
	if (!tag || !*tag)
		return err_set(err, INFER_EUNSUP, "thinking: the model has no reasoning");
	return INFER_OK;
}

/* Convert the conversation to OpenAI's format.  *param: the field at fault. */
static int ready_message(struct job *j, const char **param, infer_error *err)
{
	struct reading r = { .j = j,
		             .to = json_new(&j->mem, JSON_ARRAY),
		             .texts = json_new(&j->mem, JSON_ARRAY),
		             .err = err };

	*param = "max_tokens";
	if (!j->limit_rank && !j->counts)
		return err_set(err, INFER_EINVAL, "max_tokens is missing");
	*param = "n";
	if (j->j.n != 1)
		return err_set(err, INFER_EINVAL, "n is %d: must be 1, a message is one answer",
		               (int)j->j.n);
	*param = "messages";
	if (!j->messages || !j->messages->n)
		return err_set(err, INFER_EINVAL, "messages must not be empty");
	TRY(check_thinking(j, param, err));
	*param = "system";
	TRY(put_system(&r));
	*param = "messages";
	TRY(put_turns(&r, j->messages));
	if (j->mem.bad)
		return err_nomem(err);
	j->messages = r.to;
	return INFER_OK;
}

const struct job_fields messages_fields = { known, refused, -1, ready_message };

int messages_read(struct job *j, const struct json *body)
{
	return job_read_fields(j, body, &messages_fields);
}
