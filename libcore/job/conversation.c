/* job/conversation.c - render and encode a conversation as the prompt of a job */
#include "job/job.h"
#include "base/err.h"
#include "chat/chat.h"

#include <string.h>

int job_is_conversation(const struct job *j)
{
	return j->messages ||
	       (j->is_own && json_is_string(j->prompt_value) && !j->raw && j->o->chat);
}

/* Refuse fields that are only valid with a conversation. */
static int check_alone(const struct job *j, const char **param, infer_error *err)
{
	const struct {
		const char *key;
		int is;
	} fields[] = {
		{ "tools", j->tools.n > 0 },
		{ "template_args", j->args != NULL },
		{ "think", j->think != INFER_THINK_DEFAULT },
		{ "think_budget", j->j.request.reason_limit > 0 },
		{ "now", j->now_given },
		{ "template_sha256", j->template_sha256 != NULL },
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		*param = fields[i].key;
		if (fields[i].is)
			return err_set(err, INFER_EINVAL,
			               "%s needs a conversation, and this prompt is not one",
			               *param);
	}
	return INFER_OK;
}

/* Set what is needed to parse the answer, in the memory of the job. */
static int keep_for_reply(struct job *j, const struct infer_conversation *c, infer_error *err)
{
	char *tail = arena_alloc(&j->mem, INFER_REPLY_TAIL, 1);

	if (!tail)
		return err_nomem(err);
	j->j.reply = (struct infer_reply_options){ .tools = c->tools, .prompt = tail };
	j->j.reply.flags = j->inline_reasoning ? INFER_REPLY_INLINE : 0;
	j->j.reply.prompt_n = infer_reply_tail(infer_model_tokenizer(j->o->model), j->prompt,
	                                       j->j.request.n_prompt, tail);
	if (j->j.chat == j->o->chat_tools ? j->reader->special_tools : j->reader->special)
		j->j.request.flags |= INFER_REQ_SPECIAL_TEXT;
	return INFER_OK;
}

/* Fill *c from the request, and from the options for fields that it lacks. */
static void fill_conversation(struct job *j, struct infer_conversation *c)
{
	const struct json *role = json_get(json_first(j->messages), "role");

	*c = j->o->conversation;
	if (json_equals(role, "system") || json_equals(role, "developer"))
		c->system = NULL;
	c->user = j->prompt_value ? json_str(j->prompt_value) : NULL;
	c->user_n = json_bytes(j->prompt_value);
	if (j->tools_given)
		c->tools = j->tools.n ? &j->tools : NULL;
	if (!j->choice_given) {
		j->j.calls = j->o->calls;
		j->j.calls_name = j->o->calls_name;
	}
	if (j->j.calls == INFER_CALLS_NONE)
		c->tools = NULL;
	c->think = j->think == INFER_THINK_DEFAULT ? c->think : j->think;
	if (j->now_given)
		c->now = j->now;
	else if (j->o->now)
		c->now = j->o->now();
}

/* Set the limit of the options for a request without one. */
static void limit_thinking(struct job *j, struct infer_conversation *c)
{
	struct infer_chat_caps caps;

	if (j->limits_thinking)
		return;
	j->j.request.reason_limit = j->o->reason_limit;
	infer_chat_caps(c->tools && j->o->chat_tools ? j->o->chat_tools : j->o->chat, &caps);
	if (j->o->reason_limit == 1 && caps.thinking && c->think == INFER_THINK_DEFAULT)
		c->think = INFER_THINK_OFF;
}

/* Return what the template arguments of the request say about thinking, under either of the names
 * that templates use; `otherwise` if they say nothing. */
static int think_of_args(const struct job *j, int otherwise)
{
	const struct json *one = json_get(j->args, "enable_thinking"),
			  *other = json_get(j->args, "thinking"),
			  *v = json_is_bool(one) ? one : other;
	struct infer_chat_caps caps;

	if (!one && !other)
		return otherwise;
	infer_chat_caps(j->j.chat, &caps);
	/* the arguments alone decide if the template ignores both names, or their values differ */
	if (!caps.thinking || !json_is_bool(v) ||
	    (json_is_bool(other) && json_is(other, JSON_TRUE) != json_is(v, JSON_TRUE)))
		return INFER_THINK_DEFAULT;
	return json_is(v, JSON_TRUE) ? INFER_THINK_ON : INFER_THINK_OFF;
}

/* Add the default template arguments that the request does not set. */
static int merge_args(struct job *j, const struct infer_conversation *c, infer_error *err)
{
	const struct json *defaults;
	struct json *all;

	if (!j->args || !c->args)
		return INFER_OK;
	TRY(jread(&defaults, &j->mem, c->args, c->args_n, "template arguments", err));
	all = json_copy(&j->mem, j->args);
	json_each(v, json_is_object(defaults) ? defaults : NULL) {
		struct json *m = json_share(&j->mem, v);

		if (!m || json_getn(all, v->key, v->key_n))
			continue;
		m->key = v->key;
		m->key_n = v->key_n;
		json_append(all, m);
	}
	j->args = all;
	return j->mem.bad ? err_nomem(err) : INFER_OK;
}

/* Check that the template is the one that the request expects, if it names one. */
static int check_template(const struct job *j, const char **param, infer_error *err)
{
	if (!j->template_sha256 || !strcmp(j->template_sha256, j->j.chat->sha256))
		return INFER_OK;
	*param = "template_sha256";
	return err_set(err, INFER_EINVAL,
	               "template_sha256: the request is for another chat template");
}

int job_encode(struct job *j, const struct infer_conversation *c, infer_error *err)
{
	const struct chat_values values = { j->messages, j->args };

	return chat_encode_json(j->j.chat, infer_model_tokenizer(j->o->model), c, &values,
	                        &j->prompt, &j->j.request.n_prompt, &j->too_long, err);
}

int job_conversation(struct job *j, const char **param, infer_error *err)
{
	struct infer_conversation c;
	struct infer_chat_caps caps;
	int rc;

	*param = j->messages ? "messages" : "prompt";
	if (j->messages && (j->prompt_value || j->raw_given))
		return err_set(err, INFER_EINVAL, "messages and %s exclude each other",
		               j->prompt_value ? "prompt" : "raw");
	if (j->messages && !j->o->chat)
		return err_set(err, INFER_EUNSUP, "messages: there is no chat template for them");
	if (j->messages && !j->is_own) {
		TRY(job_check_messages(j, err));
		*param = "tool_choice";
		TRY(job_allow_tools(j, err));
		infer_chat_caps(j->tools.n && j->o->chat_tools ? j->o->chat_tools : j->o->chat,
		                &caps);
		TRY(job_apply_effort(j, &caps, err));
	}
	fill_conversation(j, &c);
	limit_thinking(j, &c);
	if (j->messages && !j->is_own)
		TRY(job_begin_answer(j, &c, param, err));
	*param = j->messages ? "messages" : "prompt";
	j->j.chat = c.tools && j->o->chat_tools ? j->o->chat_tools : j->o->chat;
	if (j->think == INFER_THINK_DEFAULT)
		c.think = think_of_args(j, c.think);
	TRY(merge_args(j, &c, err));
	if (infer_chat_check(j->j.chat, &c, err)) {
		infer_chat_caps(j->j.chat, &caps);
		*param = c.tools && !caps.tools ? "tools" : "think";
		return INFER_EUNSUP;
	}
	TRY(check_template(j, param, err));
	j->conversation = c;
	rc = job_encode(j, &c, err);
	if (j->truncates && (!rc || j->too_long))
		rc = job_truncate(j, &c, err);
	TRY(rc);
	return keep_for_reply(j, &c, err);
}

int job_no_conversation(const struct job *j, const char **param, infer_error *err)
{
	TRY(check_alone(j, param, err));
	*param = "prompt";
	return INFER_OK;
}
