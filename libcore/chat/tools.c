/* chat/tools.c - the tools that a conversation may call: their names, and what kind of values they
 * take. */
#include "chat/tools.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* bytes of a parameter's name */
enum { KEY_MOST = 1024 };

static int nomem(infer_error *err) { return err_set(err, INFER_ENOMEM, "out of memory for tools"); }

static int read_one(struct chat_tools *t, const struct json *j, infer_error *err)
{
	const struct json *f = json_get(j, "function"), *name = json_get(f ? f : j, "name");
	const char *s = json_bytes(name) ? json_cstr(&t->arena, name) : NULL;

	if (t->arena.bad)
		return nomem(err);
	if (!s)
		return err_set(err, INFER_EFORMAT, "tools[%zu]: no function with a name", t->n);
	t->at[t->n++] =
		(struct chat_tool){ s, json_bytes(name),
		                    json_get(json_get(f ? f : j, "parameters"), "properties") };
	return INFER_OK;
}

int chat_tools_read(struct chat_tools *t, const char *json, size_t n, infer_error *err)
{
	const struct json *root;

	arena_init(&t->arena, MEM_CHAT);
	/* the caller's goes before the answer does */
	if (!(t->text = mem_strndup(MEM_CHAT, json, n)))
		return nomem(err);
	TRY(jread(&root, &t->arena, t->text, n, "tools", err));
	if (json_is_null(root))
		return INFER_OK;
	if (!json_is_array(root))
		return err_set(err, INFER_EFORMAT, "tools is not an array");
	if (!(t->at = arena_alloc(&t->arena, json_count(root), sizeof *t->at)))
		return nomem(err);
	json_each(j, root)
		TRY(read_one(t, j, err));
	return INFER_OK;
}

void chat_tools_fini(struct chat_tools *t)
{
	arena_fini(&t->arena);
	mem_free(t->text);
}

static int of_type(const struct json *type)
{
	return !json_is_string(type)         ? 0
	       : json_equals(type, "string") ? VALUE_TEXT
	       : json_equals(type, "null")   ? VALUE_NULL
	                                     : VALUE_JSON;
}

static int of_value(const struct json *v)
{
	return json_is_string(v) ? VALUE_TEXT : json_is_null(v) ? VALUE_NULL : VALUE_JSON;
}

static const struct json *list(const struct json *v) { return json_is_array(v) ? v : NULL; }

/* What a schema admits, as far as its type, enum, const and anyOf say it. */
static int admits(const struct json *schema, int depth)
{
	static const char *const several[] = { "anyOf", "oneOf", "allOf" };
	const struct json *type = json_get(schema, "type"), *value = json_get(schema, "const");
	int kinds = of_type(type);

	json_each(v, list(type))
		kinds |= of_type(v);
	if (kinds || depth > 8)
		return kinds;
	json_each(v, list(json_get(schema, "enum")))
		kinds |= of_value(v);
	if (value)
		kinds |= of_value(value);
	for (size_t k = 0; k < sizeof several / sizeof *several; k++)
		json_each(v, list(json_get(schema, several[k])))
			kinds |= admits(v, depth + 1);
	return kinds;
}

int chat_tools_value(const struct chat_tool *t, const char *key, size_t n)
{
	return n > KEY_MOST ? 0 : admits(json_getn(t->properties, key, n), 0);
}

int chat_tools_python(const struct chat_tools *t)
{
	static const char *const names[] = { "python", "ipython", "code_interpreter" };

	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (!strcmp(t->at[i].name, names[k]))
				return (int)i;
	return -1;
}
