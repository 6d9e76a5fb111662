/* text/reply_tools.c - the tools that a conversation may call: their names, and what kind of values they take. */
#include "text/reply.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

static int read_one(struct reply_tool *t, const json_t *j, size_t i, infer_error *err)
{
	const json_t *f = json_object_get(j, "function");
	const json_t *name = json_object_get(f ? f : j, "name");

	if (!json_is_string(name) || !json_string_length(name))
		return err_set(err, INFER_EFORMAT, "tools[%zu]: no function with a name", i);
	*t = (struct reply_tool){ json_string_value(name), json_string_length(name),
	                          json_object_get(json_object_get(f ? f : j, "parameters"), "properties") };
	return INFER_OK;
}

int reply_tools_read(struct reply_tools *t, const char *json, size_t n, infer_error *err)
{
	TRY(jread(&t->root, json, n, "tools", err));
	if (json_is_null(t->root))
		return INFER_OK;
	if (!json_is_array(t->root))
		return err_set(err, INFER_EFORMAT, "tools is not an array");
	t->at = mem_zalloc(MEM_TEXT, json_array_size(t->root), sizeof *t->at);
	if (!t->at)
		return err_set(err, INFER_ENOMEM, "out of memory for tools");
	for (; t->n < json_array_size(t->root); t->n++)
		TRY(read_one(&t->at[t->n], json_array_get(t->root, t->n), t->n, err));
	return INFER_OK;
}

void reply_tools_fini(struct reply_tools *t)
{
	json_decref(t->root);
	mem_free(t->at);
}

static int of_type(const json_t *type)
{
	const char *s = json_string_value(type);

	return !s ? 0 : !strcmp(s, "string") ? VALUE_TEXT : !strcmp(s, "null") ? VALUE_NULL : VALUE_JSON;
}

static int of_value(const json_t *v)
{
	return json_is_string(v) ? VALUE_TEXT : json_is_null(v) ? VALUE_NULL : VALUE_JSON;
}

/* What a schema admits, as far as its type, enum, const and anyOf say it. */
static int admits(const json_t *schema, int depth)
{
	static const char *const several[] = { "anyOf", "oneOf", "allOf" };
	const json_t *type = json_object_get(schema, "type"), *value = json_object_get(schema, "const");
	int kinds = of_type(type);
	const json_t *v;
	size_t i;

	json_array_foreach(type, i, v)
		kinds |= of_type(v);
	if (kinds || depth > 8)
		return kinds;
	json_array_foreach(json_object_get(schema, "enum"), i, v)
		kinds |= of_value(v);
	if (value)
		kinds |= of_value(value);
	for (size_t k = 0; k < sizeof several / sizeof *several; k++)
		json_array_foreach(json_object_get(schema, several[k]), i, v)
			kinds |= admits(v, depth + 1);
	return kinds;
}

int reply_tools_value(const struct reply_tool *t, const char *key, size_t n)
{
	char name[HEAD_MOST + 1];

	if (n > HEAD_MOST)
		return 0;
	memcpy(name, key, n);
	name[n] = 0;
	return admits(json_object_get(t->properties, name), 0);
}

int reply_tools_python(const struct reply_tools *t)
{
	static const char *const names[] = { "python", "ipython", "code_interpreter" };

	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (!strcmp(t->at[i].name, names[k]))
				return (int)i;
	return -1;
}
