/* chat/tools.c - the tools that a model may call, and the kinds of values of their parameters */
#include "chat/tools.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

/* maximum length of a parameter's name */
enum { KEY_MOST = 1024 };

static int take_one(struct infer_tools *t, const struct json *tool, unsigned flags)
{
	const struct json *f = json_get(tool, "function");
	const struct json *from = f || flags & TOOLS_WRAPPED ? f : tool,
			  *name = json_get(from, "name");
	const char *s = json_bytes(name) ? json_cstr(&t->arena, name) : NULL;

	if (t->arena.bad)
		return INFER_ENOMEM;
	if (!s)
		return INFER_EFORMAT;
	const struct json *p = json_get(from, "parameters");

	t->at[t->n++] = (struct chat_tool){ s, json_bytes(name), p, json_get(p, "properties") };
	return INFER_OK;
}

int tools_take(struct infer_tools *t, const struct json *list, unsigned flags, size_t *bad)
{
	*bad = 0;
	t->arena.who = MEM_CHAT;
	t->list = list;
	t->n = 0;
	if (!(t->at = arena_alloc(&t->arena, json_count(list), sizeof *t->at)))
		return INFER_ENOMEM;
	json_each(tool, list) {
		TRY(take_one(t, tool, flags));
		++*bad;
	}
	return INFER_OK;
}

void tools_fini(struct infer_tools *t)
{
	arena_fini(&t->arena);
	mem_free(t->text);
}

static int read_tools(struct infer_tools *t, const char *json, size_t n, infer_error *err)
{
	const struct json *list;
	size_t bad;
	int rc;

	/* the caller may free its text before the answer is parsed */
	if (!(t->text = mem_strndup(MEM_CHAT, json, n)))
		return err_nomem(err);
	t->text_n = n;
	TRY(jread(&list, &t->arena, t->text, n, "tools", err));
	if (!json_is_array(list))
		return err_set(err, INFER_EFORMAT, "tools must be an array");
	rc = tools_take(t, list, 0, &bad);
	return rc == INFER_ENOMEM ? err_nomem(err)
	       : rc               ? err_set(err, rc, "tools[%zu]: no function with a name", bad)
	                          : INFER_OK;
}

int infer_tools_read(infer_tools **out, const char *json, size_t n, infer_error *err)
{
	infer_tools *t = mem_zalloc(MEM_CHAT, 1, sizeof *t);
	int rc;

	*out = NULL;
	if (!t)
		return err_nomem(err);
	arena_init(&t->arena, MEM_CHAT);
	rc = read_tools(t, json, n, err);
	if (rc)
		infer_tools_free(t);
	else
		*out = t;
	return rc;
}

void infer_tools_free(infer_tools *t)
{
	if (t)
		tools_fini(t);
	mem_free(t);
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

static const struct json *array_or_none(const struct json *v)
{
	return json_is_array(v) ? v : NULL;
}

/* ---- schemas ---- */

enum { DEEPEST = 8, LOOKS_MOST = 2000 };
static const char *const several[] = { "anyOf", "oneOf", "allOf" };
enum { SEVERAL = sizeof several / sizeof *several };

/* A search in the schemas of a tool.  Schemas may be recursive, so it ends after LOOKS_MOST
 * schemas. */
struct search {
	const struct json *root;
	int left;
};

/* Follow "$ref": "#/...".  Returns the schema itself if it has none, NULL if the target is
 * missing. */
static const struct json *follow(struct search *s, const struct json *schema)
{
	for (int i = 0; i < DEEPEST && s->left > 0; i++) {
		const struct json *ref = json_get(schema, "$ref");
		const char *at = json_str(ref), *end = at + json_bytes(ref);

		s->left--;
		if (!json_is_string(ref))
			return schema;
		if (at == end || *at != '#')
			return NULL;
		for (schema = s->root, at++; at < end && *at == '/';) {
			const char *next = memchr(at + 1, '/', (size_t)(end - at - 1));

			next = next ? next : end;
			schema = json_getn(schema, at + 1, (size_t)(next - at - 1));
			at = next;
		}
	}
	return NULL;
}

/* Return the kinds of values that a schema admits, according to its type, enum, const and anyOf. */
static int admits(struct search *s, const struct json *given, int depth)
{
	const struct json *schema = follow(s, given);
	const struct json *type = json_get(schema, "type"), *value = json_get(schema, "const");
	int kinds = of_type(type);

	json_each(v, array_or_none(type))
		kinds |= of_type(v);
	if (kinds || depth > DEEPEST)
		return kinds;
	json_each(v, array_or_none(json_get(schema, "enum")))
		kinds |= of_value(v);
	if (value)
		kinds |= of_value(value);
	for (size_t k = 0; k < SEVERAL; k++)
		json_each(v, array_or_none(json_get(schema, several[k])))
			kinds |= admits(s, v, depth + 1);
	return kinds;
}

int chat_tools_kinds(const struct chat_tool *t, const struct json *schema)
{
	struct search s = { t->parameters, LOOKS_MOST };

	return admits(&s, schema, 0);
}

int chat_tools_value(const struct chat_tool *t, const char *key, size_t n)
{
	return n > KEY_MOST ? 0 : chat_tools_kinds(t, json_getn(t->properties, key, n));
}

/* Return the value of keyword `word` in the schema, or in its first alternative that has it; with
 * `key`, that member of the value. */
static const struct json *find_in_schema(struct search *s, const struct json *given,
                                         const char *word, const char *key, size_t n, int depth)
{
	const struct json *schema = follow(s, given), *found = json_get(schema, word);

	found = found && key ? json_getn(found, key, n) : found;
	for (size_t k = 0; !found && k < SEVERAL && depth < DEEPEST; k++)
		json_each(v, array_or_none(json_get(schema, several[k])))
			if (!found)
				found = find_in_schema(s, v, word, key, n, depth + 1);
	return found;
}

const struct json *chat_tools_property(const struct chat_tool *t, const struct json *schema,
                                       const char *key, size_t n)
{
	struct search s = { t->parameters, LOOKS_MOST };

	return n > KEY_MOST ? NULL : find_in_schema(&s, schema, "properties", key, n, 0);
}

const struct json *chat_tools_items(const struct chat_tool *t, const struct json *schema)
{
	struct search s = { t->parameters, LOOKS_MOST };

	return find_in_schema(&s, schema, "items", NULL, 0, 0);
}

int chat_tools_admits(const struct chat_tool *t, const struct json *schema, const char *type)
{
	struct search s = { t->parameters, LOOKS_MOST };
	const struct json *at = follow(&s, schema), *is = json_get(at, "type");

	if (json_equals(is, type))
		return 1;
	json_each(v, array_or_none(is))
		if (json_equals(v, type))
			return 1;
	for (size_t k = 0; k < SEVERAL; k++)
		json_each(v, array_or_none(json_get(at, several[k])))
			if (json_equals(json_get(follow(&s, v), "type"), type))
				return 1;
	return 0;
}

static int kinds_known(struct search *s, const struct json *given, int depth);

/* True if the kinds of the properties, elements and alternatives of a schema are known. */
static int known_inside(struct search *s, const struct json *schema, int depth)
{
	const struct json *items = json_get(schema, "items");

	json_each(v, json_get(schema, "properties"))
		if (!kinds_known(s, v, depth + 1))
			return 0;
	for (size_t k = 0; k < SEVERAL; k++)
		json_each(v, array_or_none(json_get(schema, several[k])))
			if (depth > DEEPEST || !known_inside(s, follow(s, v), depth + 1))
				return 0;
	return !items || kinds_known(s, items, depth + 1);
}

static int kinds_known(struct search *s, const struct json *given, int depth)
{
	const struct json *schema = follow(s, given);

	return schema && depth <= DEEPEST && admits(s, schema, 0) && known_inside(s, schema, depth);
}

int chat_tools_known(const struct chat_tool *t)
{
	struct search s = { t->parameters, LOOKS_MOST };

	return known_inside(&s, t->parameters, 0) && s.left > 0;
}

int chat_tools_python(const struct infer_tools *t)
{
	static const char *const names[] = { "python", "ipython", "code_interpreter" };

	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (!strcmp(t->at[i].name, names[k]))
				return (int)i;
	return -1;
}
