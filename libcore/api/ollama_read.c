/* api/ollama_read.c - requests of Ollama's /api/chat and /api/generate */
#include "api/ollama.h"
#include "api/api.h"
#include "api/turns.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

/* ---- fields ---- */

/* Read "json" or a JSON schema.  An empty string sets no constraint. */
static int take_ollama_format(struct job *j, const char *key, const struct json *v,
                              infer_error *err)
{
	struct json *any;

	if (json_is_string(v) && !v->n)
		return INFER_OK;
	if (json_is_object(v))
		return job_take_schema(j, key, v, err);
	if (!json_equals(v, "json"))
		return err_set(err, INFER_EINVAL, "%s must be \"json\" or a JSON schema", key);
	any = json_new(&j->mem, JSON_OBJECT);
	json_set(any, "type", json_new_str(&j->mem, "json_object"));
	return j->mem.bad ? err_nomem(err) : job_take_format(j, key, any, err);
}

/* Read true, false, or how much to think. */
static int take_ollama_think(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int on;

	if (json_is_string(v))
		return job_take_effort(j, key, v, err);
	TRY(job_take_bool(&on, key, v, err));
	j->no_thinking = !on;
	if (on)
		j->think = INFER_THINK_ON;
	return INFER_OK;
}

/* Refuse a text that replaces the model's chat template. */
static int take_other_template(struct job *j, const char *key, const struct json *v,
                               infer_error *err)
{
	(void)j;
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	return v->n ? err_set(err, INFER_EUNSUP, "%s is not supported: the model's is used", key)
	            : INFER_OK;
}

static int take_system_text(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	j->instructions = v->n ? v : NULL;
	return INFER_OK;
}

static int take_prompt_text(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->input = v;
	return json_is_string(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

static int take_text_after(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v))
		return err_set(err, INFER_EINVAL, "%s must be a string", key);
	j->fim.behind = v->n ? v : NULL;
	return INFER_OK;
}

static int take_context(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t id;

	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a list of token ids", key);
	json_each(one, v)
		TRY(job_take_id(&id, j, key, one, err));
	j->context = v->n ? v : NULL;
	return INFER_OK;
}

static int take_ollama_messages(struct job *j, const char *key, const struct json *v,
                                infer_error *err)
{
	j->input = v;
	return json_is_array(v) ? INFER_OK : err_set(err, INFER_EINVAL, "%s must be an array", key);
}

#define OLLAMA_FIELDS \
	{ "model", job_pass_text }, { "format", take_ollama_format }, \
		{ "options", ollama_take_options }, { "keep_alive", ollama_take_keep_alive }, \
		{ "think", take_ollama_think }, { "logprobs", job_take_chat_logprobs }, \
		{ "top_logprobs", job_take_chat_logprobs }, \
	{ \
		NULL, NULL \
	}
static const struct job_field known_chat[] = {
	{ "messages", take_ollama_messages },
	{ "tools", job_take_tools },
	{ "tool_choice", job_take_tool_choice }, /* ours: Ollama's requests cannot demand a call */
	OLLAMA_FIELDS,
};
static const struct job_field known_generate[] = {
	{ "prompt", take_prompt_text },
	{ "suffix", take_text_after },
	{ "system", take_system_text },
	{ "template", take_other_template },
	{ "context", take_context },
	{ "raw", job_take_raw },
	OLLAMA_FIELDS,
};
static const struct job_refused refused[] = {
	{ "stream", 0 }, { "stream_options", NAN }, { "images", NAN },
	{ "width", 0 },  { "height", 0 },           { "steps", 0 },
	{ NULL, 0 },
};

/* ---- prompts ---- */

static int ready_chat(struct job *j, const char **param, infer_error *err)
{
	*param = "n";
	if (j->j.n != 1)
		return err_set(err, INFER_EINVAL, "n is %d: there is one answer", (int)j->j.n);
	*param = "messages";
	if (!j->input)
		return err_set(err, INFER_EINVAL, "messages is missing");
	return ollama_turns(j, j->input, err);
}

/* Return the field that a prompt without a template excludes, or NULL. */
static const char *find_excluded(const struct job *j)
{
	return j->instructions                                ? "system"
	       : j->context                                   ? "context"
	       : j->think != INFER_THINK_DEFAULT || j->effort ? "think"
	                                                      : NULL;
}

static int ready_generate(struct job *j, const char **param, infer_error *err)
{
	const int plain = j->fim.behind || j->raw || !j->o->chat;
	struct json *turns;

	*param = "n";
	if (j->j.n != 1)
		return err_set(err, INFER_EINVAL, "n is %d: there is one answer", (int)j->j.n);
	*param = "prompt";
	if (!j->input)
		return err_set(err, INFER_EINVAL, "prompt is missing");
	*param = plain ? find_excluded(j) : NULL;
	if (*param)
		return err_set(err, INFER_EINVAL,
		               "%s needs a prompt with a chat template: not raw, "
		               "without suffix",
		               *param);
	if (plain) {
		j->prompt_value = j->fim.before = j->input;
		j->has_gap = j->fim.behind != NULL;
		return INFER_OK;
	}
	turns = json_new(&j->mem, JSON_ARRAY);
	if (j->instructions)
		turns_put(turns, &j->mem, "system", json_share(&j->mem, j->instructions));
	turns_put(turns, &j->mem, "user", json_share(&j->mem, j->input));
	j->messages = turns;
	j->j.token_ids = 1; /* for the `context` of the answer */
	return j->mem.bad ? err_nomem(err) : INFER_OK;
}

/* Put the ids of `context` before the prompt, which then begins without BOS. */
static int prepend_context(struct job *j, infer_error *err)
{
	struct infer_request *q = &j->j.request;
	const int32_t bos = infer_token_special(infer_model_tokenizer(j->o->model), INFER_BOS);
	size_t n = json_count(j->context), at = 0, skip = q->n_prompt && q->prompt[0] == bos;
	int32_t *ids = arena_alloc(&j->mem, n + q->n_prompt, sizeof *ids);

	if (!ids)
		return err_nomem(err);
	if (j->o->reads & INFER_JOB_KEEP)
		return err_set(err, INFER_EUNSUP,
		               "context: a record of the request cannot express it");
	json_each(id, j->context)
		ids[at++] = (int32_t)id->i;
	memcpy(ids + n, q->prompt + skip, (q->n_prompt - skip) * sizeof *ids);
	q->n_prompt += n - skip;
	q->prompt = ids;
	return INFER_OK;
}

const struct job_fields ollama_chat_fields = { known_chat, refused, -1, ready_chat };
const struct job_fields ollama_generate_fields = { known_generate, refused, -1, ready_generate };

/* Answers are streamed unless the request says otherwise. */
static void stream_by_default(struct job *j)
{
	j->j.stream = (j->o->reads & INFER_JOB_STREAM) != 0;
}

int ollama_read_chat(struct job *j, const struct json *body)
{
	stream_by_default(j);
	return job_read_fields(j, body, &ollama_chat_fields);
}

int ollama_read_generate(struct job *j, const struct json *body)
{
	stream_by_default(j);
	if (job_read_fields(j, body, &ollama_generate_fields))
		return j->j.fault.error.code;
	return j->context && prepend_context(j, &j->j.fault.error) ? job_fault(j, "context")
	                                                           : INFER_OK;
}
