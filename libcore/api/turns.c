/* api/turns.c - build a conversation in OpenAI's format from one in another API format */
#include "api/turns.h"

struct json *turns_put(struct json *to, struct arena *a, const char *role, struct json *content)
{
	struct json *m = json_new(a, JSON_OBJECT);

	json_set(m, "role", json_new_str(a, role));
	json_set(m, "content", content ? content : json_new(a, JSON_STRING));
	json_append(to, m);
	return m;
}

void turns_part(struct json *parts, struct arena *a, const struct json *words)
{
	struct json *part = json_new(a, JSON_OBJECT);

	json_set(part, "type", json_new_str(a, "text"));
	json_set(part, "text", json_share(a, words));
	json_append(parts, part);
}

struct json *turns_content(struct arena *a, struct json *parts)
{
	if (!json_count(parts))
		return json_new(a, JSON_STRING);
	return parts->n == 1 ? json_share(a, json_get(parts->first, "text")) : parts;
}

/* Return a string that contains the JSON of the value. */
static struct json *written(struct arena *a, const struct json *v)
{
	struct json *s = NULL;
	struct jwrite w;
	struct buf text;

	buf_init(&text, MEM_JOB);
	jw_init(&w, &text);
	jw_value(&w, NULL, json_share(a, v));
	if (!text.bad)
		s = json_new_strn(a, text.at, text.len);
	a->bad |= text.bad;
	buf_fini(&text);
	return s;
}

void turns_call(struct json *turn, struct arena *a, const struct json *id, const struct json *name,
                const struct json *arguments)
{
	struct json *calls = json_get(turn, "tool_calls"), *call = json_new(a, JSON_OBJECT),
		    *f = json_new(a, JSON_OBJECT);

	if (!calls) {
		json_set(turn, "tool_calls", json_new(a, JSON_ARRAY));
		calls = json_get(turn, "tool_calls");
	}
	json_set(f, "name", json_share(a, name));
	json_set(f, "arguments",
	         !arguments                  ? json_new_str(a, "{}")
	         : json_is_string(arguments) ? json_share(a, arguments)
	                                     : written(a, arguments));
	json_set(call, "id", json_share(a, id));
	json_set(call, "type", json_new_str(a, "function"));
	json_set(call, "function", f);
	json_append(calls, call);
}

void turns_tool(struct json *tools, struct arena *a, const struct json *tool,
                const char *parameters)
{
	static const char *const same[] = { "name", "description", "strict" };
	struct json *t = json_new(a, JSON_OBJECT), *f = json_new(a, JSON_OBJECT);
	const struct json *schema = json_get(tool, parameters);

	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		const struct json *v = json_get(tool, same[i]);

		if (v && !json_is_null(v))
			json_set(f, same[i], json_share(a, v));
	}
	if (schema && !json_is_null(schema))
		json_set(f, "parameters", json_share(a, schema));
	json_set(t, "type", json_new_str(a, "function"));
	json_set(t, "function", f);
	json_append(tools, t);
}

struct json *turns_choice(struct arena *a, const struct json *name)
{
	struct json *c = json_new(a, JSON_OBJECT), *f = json_new(a, JSON_OBJECT);

	if (name)
		json_set(f, "name", json_share(a, name));
	json_set(c, "type", json_new_str(a, "function"));
	json_set(c, "function", f);
	return c;
}
