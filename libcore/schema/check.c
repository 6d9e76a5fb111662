/* schema/check.c - check the members of schemas: values of keywords, names that are not keywords. */
#include "automata/format.h"
#include "schema/compile.h"

#include <string.h>

const char *schema_mistake(const struct json *m, const struct keyword_row *row, int draft)
{
	enum keyword_value h = (enum keyword_value)row->value;

	if (h == V_EXCLUSIVE)
		h = draft == SCHEMA_4 ? V_BOOL : V_NUMBER;
	if (h == V_ID)
		h = draft == SCHEMA_4 ? V_STRING : V_ANY;
	if (h == V_ITEMS && json_is_array(m) && draft == DRAFT_2020)
		return "must be a schema; prefixItems takes an array";
	return keyword_mistake(m, h);
}

int schema_older_draft(const struct schema *c, const struct json *m, const struct keyword_row *row)
{
	if (c->opts.draft || json_get(c->root, "$schema"))
		return 0;
	if (row->value == V_ITEMS && json_is_array(m))
		return SCHEMA_2019;
	return row->value == V_EXCLUSIVE && json_is_bool(m) ? SCHEMA_4 : 0;
}

/* True if m is additionalItems in a schema where it has no effect in any draft. */
static int has_no_effect(const struct json *s, const struct json *m)
{
	return keyword_is_named(m, "additionalItems") && !json_is_array(json_get(s, "items")) &&
	       !json_get(s, "prefixItems");
}

/* Return the first draft that has a keyword, for messages; NULL: no draft has it. */
static const char *first_draft(const struct keyword_row *row)
{
	static const char *const names[] = { "4", "6", "7", "2019-09", "2020-12" };

	for (int i = 0; i < 5; i++)
		if (row->drafts >> i & 1)
			return names[i];
	return NULL;
}

static int refuse_unknown(struct schema *c, const struct json *m, const struct keyword_row *row)
{
	const char *near = row ? NULL : keyword_near(m), *since = row ? first_draft(row) : NULL;

	if (near)
		return schema_fail(c, INFER_EUNSUP, m, "is not a keyword of this draft; %s is",
		                   near);
	if (!row)
		return INFER_OK;
	if (row->drafts & IN_4 || !since)
		return schema_fail(c, INFER_EUNSUP, m, "is not a keyword of this draft");
	return schema_fail(c, INFER_EUNSUP, m,
	                   "is not a keyword of this draft; drafts from %s on have it", since);
}

int schema_check_unknown(struct schema *c, const struct json *s, const struct json *m,
                         const struct keyword_row *row)
{
	TRY(work_steps(&c->w, 256));
	if (keyword_is_extension(m) || (row && has_no_effect(s, m))) {
		schema_note(c, m);
		return INFER_OK;
	}
	if (!c->opts.lax)
		TRY(refuse_unknown(c, m, row));
	schema_ignore(c, m);
	return INFER_OK;
}

void schema_check_format(struct schema *c, const struct json *m)
{
	if (!string_format_is_known(m->s, m->n) && !c->opts.strict_formats && !c->opts.annotate)
		schema_note(c, m);
}
