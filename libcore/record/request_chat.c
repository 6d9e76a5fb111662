/* record/request_chat.c - requests that are conversations: their fields, and the prompt that a template makes of them */
#include "record/job.h"
#include "base/buf.h"
#include "base/err.h"

#include <string.h>

int job_take_messages(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is not an array", key);
	j->messages = v;
	return INFER_OK;
}

int job_take_tools(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is not an array", key);
	for (size_t i = 0; i < json_array_size(v); i++)
		if (!json_is_string(json_object_get(json_object_get(json_array_get(v, i), "function"), "name")))
			return err_set(err, INFER_EINVAL, "%s: entry %zu is no function with a name", key, i);
	j->tools = v;
	return INFER_OK;
}

/* Nothing is enforced: the model may call, or is not told of the tools. */
int job_take_tool_choice(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	const char *s = json_string_value(v);

	j->no_tools = s && !strcmp(s, "none");
	return s && (j->no_tools || !strcmp(s, "auto"))
	           ? INFER_OK
	           : err_set(err, INFER_EUNSUP, "%s: only none and auto are supported in a batch", key);
}

int job_take_args(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s is not an object", key);
	j->args = v;
	return INFER_OK;
}

int job_take_think(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (!json_is_boolean(v))
		return err_set(err, INFER_EINVAL, "%s is neither true nor false", key);
	j->think = json_is_true(v) ? INFER_THINK_ON : INFER_THINK_OFF;
	return INFER_OK;
}

/* Chat asks in two fields what others ask in one. */
int job_take_chat_logprobs(struct job *j, const char *key, const json_t *v, infer_error *err)
{
	if (strcmp(key, "logprobs"))
		return job_whole(&j->top_logprobs, key, v, 0, INFER_MAX_TOP, err);
	if (!json_is_boolean(v))
		return err_set(err, INFER_EINVAL, "%s is neither true nor false", key);
	j->wants_logprobs = json_is_true(v);
	return INFER_OK;
}

int job_chat_end(struct job *j, infer_error *err)
{
	if (j->top_logprobs >= 0 && !j->wants_logprobs)
		return err_set(err, INFER_EINVAL, "top_logprobs needs logprobs to be true");
	if (j->wants_logprobs)
		j->j.logprobs = j->top_logprobs < 0 ? 0 : j->top_logprobs;
	return INFER_OK;
}

/* ---- the prompt */

static int put(const char *at, size_t n, void *to)
{
	buf_put(to, at, n);
	return ((struct buf *)to)->bad ? -1 : 0;
}

/* v as JSON text, for a conversation. */
static int text_of(struct buf *b, const json_t *v, const char **at, size_t *n, infer_error *err)
{
	if (!v)
		return INFER_OK;
	if (json_dump_callback(v, put, b, JSON_COMPACT))
		return job_no_memory(err);
	*at = b->at;
	*n = b->len;
	return INFER_OK;
}

static int begins_with_system(const json_t *messages)
{
	const char *role = json_string_value(json_object_get(json_array_get(messages, 0), "role"));

	return role && (!strcmp(role, "system") || !strcmp(role, "developer"));
}

int job_is_talk(const struct job *j)
{
	return j->messages || (j->j.form == INFER_JOB_OWN && json_is_string(j->prompt_value) && !j->raw && j->o->chat);
}

/* What goes with a conversation only. */
static int check_alone(const struct job *j, const char **param, infer_error *err)
{
	const struct { const char *key; int is; } fields[] = {
		{ "tools", json_array_size(j->tools) > 0 }, { "template_args", j->args != NULL }, { "think", j->think != INFER_THINK_DEFAULT },
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		*param = fields[i].key;
		if (fields[i].is)
			return err_set(err, INFER_EINVAL, "%s goes with a conversation, and this prompt is none", *param);
	}
	return INFER_OK;
}

/* What reading the answer needs outlives the conversation. */
static int keep_for_reply(struct job *j, const struct infer_conversation *c, infer_error *err)
{
	char *tail = arena_alloc(&j->mem, INFER_REPLY_TAIL, 1);
	char *tools = c->tools ? arena_strndup(&j->mem, c->tools, c->tools_n) : NULL;

	if (j->mem.bad)
		return job_no_memory(err);
	j->j.reply = (struct infer_reply_options){ .tools = tools, .tools_n = c->tools_n, .prompt = tail };
	j->j.reply.prompt_n = infer_reply_tail(infer_model_tokenizer(j->o->model), j->prompt, j->j.request.n_prompt, tail);
	if (j->j.chat == j->o->chat_tools ? j->o->special_tools : j->o->special)
		j->j.request.flags |= INFER_REQ_SPECIAL_TEXT;
	return INFER_OK;
}

int job_talk(struct job *j, const char **param, infer_error *err)
{
	struct infer_conversation c = j->o->talk;
	struct infer_chat_caps caps;
	struct buf messages, tools, args;
	int rc;

	*param = j->messages ? "messages" : "prompt";
	if (j->messages && (j->prompt_value || j->raw_given))
		return err_set(err, INFER_EINVAL, "messages and %s exclude each other", j->prompt_value ? "prompt" : "raw");
	if (j->messages && !j->o->chat)
		return err_set(err, INFER_EUNSUP, "messages: there is no chat template for them");
	if (begins_with_system(j->messages))
		c.system = NULL;
	c.user = json_string_value(j->prompt_value);
	c.user_n = json_string_length(j->prompt_value);
	if (j->tools || j->no_tools)
		c.tools = NULL;
	c.think = j->think == INFER_THINK_DEFAULT ? c.think : j->think;
	buf_init(&messages, MEM_RECORD);
	buf_init(&tools, MEM_RECORD);
	buf_init(&args, MEM_RECORD);
	rc = text_of(&messages, j->messages, &c.messages, &c.messages_n, err);
	if (!rc)
		rc = text_of(&tools, json_array_size(j->tools) && !j->no_tools ? j->tools : NULL, &c.tools, &c.tools_n, err);
	if (!rc)
		rc = text_of(&args, j->args, &c.args, &c.args_n, err);
	j->j.chat = c.tools && j->o->chat_tools ? j->o->chat_tools : j->o->chat;
	if (!rc && (rc = infer_chat_check(j->j.chat, &c, err))) {
		infer_chat_caps(j->j.chat, &caps);
		*param = c.tools && !caps.tools ? "tools" : "think";
	}
	if (!rc)
		rc = infer_chat_encode(j->j.chat, infer_model_tokenizer(j->o->model), &c, &j->prompt, &j->j.request.n_prompt, err);
	if (!rc)
		rc = keep_for_reply(j, &c, err);
	buf_fini(&messages);
	buf_fini(&tools);
	buf_fini(&args);
	return rc;
}

int job_no_talk(const struct job *j, const char **param, infer_error *err)
{
	TRY(check_alone(j, param, err));
	*param = "prompt";
	return INFER_OK;
}
