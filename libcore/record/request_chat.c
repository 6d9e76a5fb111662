/* record/request_chat.c - requests that are conversations: their fields, and the prompt that a
 * template makes of them */
#include "record/job.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "chat/chat.h"

#include <string.h>

int job_take_messages(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is not an array", key);
	j->messages = v;
	return INFER_OK;
}

int job_take_tools(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	size_t i = 0;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s is not an array", key);
	json_each(tool, v) {
		if (!json_is_string(json_get(json_get(tool, "function"), "name")))
			return err_set(err, INFER_EINVAL,
			               "%s: entry %zu is no function with a name", key, i);
		i++;
	}
	j->tools = v;
	return INFER_OK;
}

/* Nothing is enforced: the model may call, or is not told of the tools. */
int job_take_tool_choice(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->no_tools = json_equals(v, "none");
	return j->no_tools || json_equals(v, "auto")
	               ? INFER_OK
	               : err_set(err, INFER_EUNSUP,
	                         "%s: only none and auto are supported in a batch", key);
}

int job_take_args(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s is not an object", key);
	j->args = v;
	return INFER_OK;
}

int job_take_think(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_bool(v))
		return err_set(err, INFER_EINVAL, "%s is neither true nor false", key);
	j->think = json_is(v, JSON_TRUE) ? INFER_THINK_ON : INFER_THINK_OFF;
	return INFER_OK;
}

/* Chat asks in two fields what others ask in one. */
int job_take_chat_logprobs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (strcmp(key, "logprobs"))
		return job_whole(&j->top_logprobs, key, v, 0, INFER_MAX_TOP, err);
	if (!json_is_bool(v))
		return err_set(err, INFER_EINVAL, "%s is neither true nor false", key);
	j->wants_logprobs = json_is(v, JSON_TRUE);
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

/* v as JSON text, for a conversation. */
static int text_of(struct buf *b, const struct json *v, const char **at, size_t *n,
                   infer_error *err)
{
	struct jwrite w;

	if (!v)
		return INFER_OK;
	jw_init(&w, b);
	jw_value(&w, NULL, v);
	if (b->bad)
		return job_no_memory(err);
	*at = b->at;
	*n = b->len;
	return INFER_OK;
}

static int begins_with_system(const struct json *messages)
{
	const struct json *role = json_get(json_first(messages), "role");

	return json_equals(role, "system") || json_equals(role, "developer");
}

int job_is_talk(const struct job *j)
{
	return j->messages || (j->j.form == INFER_JOB_OWN && json_is_string(j->prompt_value) &&
	                       !j->raw && j->o->chat);
}

/* What goes with a conversation only. */
static int check_alone(const struct job *j, const char **param, infer_error *err)
{
	const struct {
		const char *key;
		int is;
	} fields[] = {
		{ "tools", json_count(j->tools) > 0 },
		{ "template_args", j->args != NULL },
		{ "think", j->think != INFER_THINK_DEFAULT },
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		*param = fields[i].key;
		if (fields[i].is)
			return err_set(err, INFER_EINVAL,
			               "%s goes with a conversation, and this prompt is none",
			               *param);
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
	j->j.reply = (struct infer_reply_options){ .tools = tools,
		                                   .tools_n = c->tools_n,
		                                   .prompt = tail };
	j->j.reply.prompt_n = infer_reply_tail(infer_model_tokenizer(j->o->model), j->prompt,
	                                       j->j.request.n_prompt, tail);
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
		return err_set(err, INFER_EINVAL, "messages and %s exclude each other",
		               j->prompt_value ? "prompt" : "raw");
	if (j->messages && !j->o->chat)
		return err_set(err, INFER_EUNSUP, "messages: there is no chat template for them");
	if (begins_with_system(j->messages))
		c.system = NULL;
	c.user = j->prompt_value ? json_str(j->prompt_value) : NULL;
	c.user_n = json_bytes(j->prompt_value);
	if (j->tools || j->no_tools)
		c.tools = NULL;
	c.think = j->think == INFER_THINK_DEFAULT ? c.think : j->think;
	buf_init(&messages, MEM_RECORD);
	buf_init(&tools, MEM_RECORD);
	buf_init(&args, MEM_RECORD);
	rc = text_of(&messages, j->messages, &c.messages, &c.messages_n, err);
	if (!rc)
		rc = text_of(&tools, json_count(j->tools) && !j->no_tools ? j->tools : NULL,
		             &c.tools, &c.tools_n, err);
	if (!rc)
		rc = text_of(&args, j->args, &c.args, &c.args_n, err);
	j->j.chat = c.tools && j->o->chat_tools ? j->o->chat_tools : j->o->chat;
	if (!rc && (rc = infer_chat_check(j->j.chat, &c, err))) {
		infer_chat_caps(j->j.chat, &caps);
		*param = c.tools && !caps.tools ? "tools" : "think";
	}
	if (!rc)
		rc = chat_encode(j->j.chat, infer_model_tokenizer(j->o->model), &c, &j->prompt,
		                 &j->j.request.n_prompt, &j->too_long, err);
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
