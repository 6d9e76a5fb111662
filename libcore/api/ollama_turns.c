/* api/ollama_turns.c - conversations of Ollama's /api/chat, converted to OpenAI's format
 *
 * Calls and their results have no ids there: a result belongs to the first call that has none yet, of
 * the tool that the result names if it names one. */
#include "api/ollama.h"
#include "api/turns.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

struct made_call {
	struct json *id;
	const struct json *name;
	int answered;
};
struct turn_reading {
	struct job *j;
	struct json *to;
	struct made_call *calls;
	size_t n_calls, i; /* i: index of the message */
	infer_error *err;
};

static int refuse_turn(const struct turn_reading *r, const char *what)
{
	return err_set(r->err, INFER_EINVAL, "messages[%zu]: %s", r->i, what);
}

static int check_turn(const struct turn_reading *r, const struct json *m)
{
	static const char *const roles[] = { "system", "user", "assistant", "tool", NULL };
	const struct json *content = json_get(m, "content"), *images = json_get(m, "images");
	const char *const *role = roles;

	if (!json_is_object(m))
		return refuse_turn(r, "must be an object with a role");
	while (*role && !json_equals(json_get(m, "role"), *role))
		role++;
	if (!*role)
		return refuse_turn(r, "the role must be system, user, assistant or tool");
	if (content && !json_is_null(content) && !json_is_string(content))
		return refuse_turn(r, "content must be a string");
	if (images && !json_is_null(images) && !(json_is_array(images) && !images->n))
		return err_set(r->err, INFER_EUNSUP, "messages[%zu]: images are not supported",
		               r->i);
	return INFER_OK;
}

/* Append a call to a turn, with an id of 9 letters and digits, which some templates require. */
static int put_turn_call(struct turn_reading *r, struct json *turn, const struct json *call)
{
	const struct json *f = json_get(call, "function"), *name = json_get(f, "name"),
			  *given = json_get(call, "id");
	struct made_call *made = &r->calls[r->n_calls];
	char id[32];

	if (!json_is_string(name))
		return refuse_turn(r, "a call must have a function with a name");
	snprintf(id, sizeof id, "call%05zu", r->n_calls++ % 100000);
	made->id = json_bytes(given) ? json_share(&r->j->mem, given) : json_new_str(&r->j->mem, id);
	made->name = name;
	turns_call(turn, &r->j->mem, made->id, name, json_get(f, "arguments"));
	return INFER_OK;
}

static int put_assistant_turn(struct turn_reading *r, const struct json *m, struct json *turn)
{
	const struct json *thinking = json_get(m, "thinking"), *calls = json_get(m, "tool_calls");

	if (thinking && !json_is_null(thinking) && !json_is_string(thinking))
		return refuse_turn(r, "thinking must be a string");
	if (json_bytes(thinking))
		json_set(turn, "reasoning_content", json_share(&r->j->mem, thinking));
	if (!calls || json_is_null(calls))
		return INFER_OK;
	if (!json_is_array(calls))
		return refuse_turn(r, "tool_calls must be an array");
	json_each(call, calls)
		TRY(put_turn_call(r, turn, call));
	return INFER_OK;
}

/* Return the first call without a result, of this tool (NULL: of any); NULL: there is none. */
static struct made_call *find_open_call(const struct turn_reading *r, const struct json *name)
{
	for (size_t i = 0; i < r->n_calls; i++) {
		struct made_call *c = &r->calls[i];

		if (!c->answered && (!name || (json_bytes(c->name) == json_bytes(name) &&
		                               !memcmp(c->name->s, name->s, name->n))))
			return c;
	}
	return NULL;
}

static int put_result_turn(struct turn_reading *r, const struct json *m, struct json *turn)
{
	const struct json *id = json_get(m, "tool_call_id"), *name = json_get(m, "tool_name");
	struct made_call *c;

	if (name && !json_is_null(name) && !json_is_string(name))
		return refuse_turn(r, "tool_name must be a string");
	if (json_bytes(name))
		json_set(turn, "name", json_share(&r->j->mem, name));
	c = find_open_call(r, json_bytes(name) ? name : NULL);
	if (c)
		c->answered = 1;
	json_set(turn, "tool_call_id",
	         json_bytes(id) ? json_share(&r->j->mem, id)
	         : c            ? json_share(&r->j->mem, c->id)
	                        : json_new_str(&r->j->mem, "call99999"));
	return INFER_OK;
}

static int put_ollama_turn(struct turn_reading *r, const struct json *m)
{
	const struct json *content = json_get(m, "content"), *role;
	char name[16];
	struct json *turn;

	TRY(check_turn(r, m));
	role = json_get(m, "role");
	snprintf(name, sizeof name, "%.*s", (int)role->n, role->s);
	turn = turns_put(r->to, &r->j->mem, name,
	                 json_is_string(content) ? json_share(&r->j->mem, content) : NULL);
	if (!strcmp(name, "assistant"))
		return put_assistant_turn(r, m, turn);
	return !strcmp(name, "tool") ? put_result_turn(r, m, turn) : INFER_OK;
}

int ollama_turns(struct job *j, const struct json *messages, infer_error *err)
{
	struct turn_reading r = { .j = j, .to = json_new(&j->mem, JSON_ARRAY), .err = err };
	size_t n = 0;

	json_each(m, messages)
		n += json_count(json_get(m, "tool_calls"));
	r.calls = arena_alloc(&j->mem, n, sizeof *r.calls);
	if (!r.calls)
		return err_nomem(err);
	json_each(m, messages) {
		TRY(put_ollama_turn(&r, m));
		r.i++;
	}
	if (j->mem.bad)
		return err_nomem(err);
	j->messages = r.to;
	return INFER_OK;
}
