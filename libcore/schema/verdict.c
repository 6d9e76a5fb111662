/* schema/verdict.c - decide schemas without expanding them: from types, constants and nested schemas. */
#include "schema/compile.h"
#include "automata/format.h"

enum { MOST_DEPTH = 6 }; /* nested schemas looked into */

static enum verdict type_verdict(const struct json *v, enum alt_type t)
{
	static const char *const names[] = { "null",   "boolean", "boolean", "number",
		                             "string", "array",   "object" };

	if (json_equals(v, names[t]))
		return HOLDS_ALWAYS;
	return json_equals(v, "integer") && t == ALT_NUMBER ? UNDECIDED : HOLDS_NEVER;
}

/* Decide "equal to v". */
static enum verdict value_verdict(const struct json *v, enum alt_type t)
{
	switch (t) {
	case ALT_NULL:
		return json_is_null(v);
	case ALT_FALSE:
		return json_is(v, JSON_FALSE);
	case ALT_TRUE:
		return json_is(v, JSON_TRUE);
	case ALT_NUMBER:
		return json_is_number(v) ? UNDECIDED : HOLDS_NEVER;
	case ALT_STRING:
		return json_is_string(v) ? UNDECIDED : HOLDS_NEVER;
	case ALT_ARRAY:
		return json_is_array(v) ? UNDECIDED : HOLDS_NEVER;
	case ALT_OBJECT:
		break;
	}
	return json_is_object(v) ? UNDECIDED : HOLDS_NEVER;
}

static enum verdict verdict_or(enum verdict a, enum verdict b)
{
	if (a == HOLDS_ALWAYS || b == HOLDS_ALWAYS)
		return HOLDS_ALWAYS;
	return a == UNDECIDED || b == UNDECIDED ? UNDECIDED : HOLDS_NEVER;
}

static enum verdict verdict_not(enum verdict v) { return v == UNDECIDED ? v : !v; }

enum verdict verdict_of_type(struct schema *c, uint32_t place, const struct json *v, uint32_t depth)
{
	enum verdict any = HOLDS_NEVER;

	(void)place;
	(void)depth;
	if (json_is_string(v))
		return type_verdict(v, c->type);
	json_each(e, v)
		any = verdict_or(any, type_verdict(e, c->type));
	return any;
}

enum verdict verdict_of_const(struct schema *c, uint32_t place, const struct json *v,
                              uint32_t depth)
{
	(void)place;
	(void)depth;
	return value_verdict(v, c->type);
}

enum verdict verdict_of_enum(struct schema *c, uint32_t place, const struct json *v, uint32_t depth)
{
	enum verdict any = HOLDS_NEVER;

	(void)place;
	(void)depth;
	json_each(e, v)
		any = verdict_or(any, value_verdict(e, c->type));
	return any;
}

enum verdict verdict_of_ref(struct schema *c, uint32_t place, const struct json *v, uint32_t depth)
{
	uint32_t to;

	return schema_target(c, place, v, 0, &to) ? UNDECIDED
	                                          : schema_verdict(c, to * 2, depth + 1);
}

enum verdict verdict_of_not(struct schema *c, uint32_t place, const struct json *v, uint32_t depth)
{
	uint32_t to;

	return schema_child(c, place, v, &to) ? UNDECIDED
	                                      : verdict_not(schema_verdict(c, to * 2, depth + 1));
}

/* Decide a list of schemas: `decisive` as soon as one of them is, else the opposite. */
static enum verdict list_verdict(struct schema *c, uint32_t place, const struct json *v,
                                 uint32_t depth, enum verdict decisive)
{
	enum verdict all = verdict_not(decisive);

	json_each(e, v) {
		enum verdict one;
		uint32_t child;

		if (schema_child(c, place, e, &child))
			return UNDECIDED;
		one = schema_verdict(c, child * 2, depth + 1);
		if (one == decisive)
			return decisive;
		if (one == UNDECIDED)
			all = UNDECIDED;
	}
	return all;
}

enum verdict verdict_of_all_of(struct schema *c, uint32_t place, const struct json *v,
                               uint32_t depth)
{
	return list_verdict(c, place, v, depth, HOLDS_NEVER);
}

enum verdict verdict_of_any_of(struct schema *c, uint32_t place, const struct json *v,
                               uint32_t depth)
{
	return list_verdict(c, place, v, depth, HOLDS_ALWAYS);
}

enum verdict verdict_of_format(struct schema *c, uint32_t place, const struct json *v,
                               uint32_t depth)
{
	(void)place;
	(void)depth;
	return c->opts.annotate || string_format_is_free(v->s, v->n) ? HOLDS_ALWAYS : UNDECIDED;
}

enum verdict verdict_of_unique_items(struct schema *c, uint32_t place, const struct json *v,
                                     uint32_t depth)
{
	(void)c;
	(void)place;
	(void)depth;
	return json_is(v, JSON_FALSE) ? HOLDS_ALWAYS : UNDECIDED;
}

enum verdict schema_keyword_verdict(struct schema *c, uint32_t place, const struct json *v,
                                    const struct keyword_row *row, uint32_t depth)
{
	if (!keyword_is_on(row, c->type))
		return HOLDS_ALWAYS;
	return row->verdict ? row->verdict(c, place, v, depth) : UNDECIDED;
}

const struct keyword_row *schema_constraint(const struct schema *c, uint32_t place,
                                            const struct json *m)
{
	const struct keyword_row *row = keyword_find(m);
	const int draft = schema_draft(c, place);

	if (!row || !keyword_constrains(row) || !schema_knows(draft, row))
		return NULL;
	/* in draft 4 read by minimum and maximum */
	if (draft == SCHEMA_4 && row->value == V_EXCLUSIVE)
		return NULL;
	if (draft_hides(draft) && row->apply != kw_ref_apply && json_get(c->place[place].v, "$ref"))
		return NULL;
	return row;
}

enum verdict schema_verdict(struct schema *c, uint32_t lit, uint32_t depth)
{
	const enum verdict no = lit & 1 ? HOLDS_ALWAYS : HOLDS_NEVER;
	const uint32_t place = lit / 2;
	const struct json *v = c->place[place].v;
	enum verdict one, all = verdict_not(no);

	if (depth > MOST_DEPTH)
		return UNDECIDED;
	if (c->place[place].constant) {
		one = value_verdict(v, c->type);
		return lit & 1 ? verdict_not(one) : one;
	}
	if (json_is_bool(v))
		return json_is(v, JSON_TRUE) ? verdict_not(no) : no;
	json_each(m, v) {
		const struct keyword_row *row = schema_constraint(c, place, m);

		if (!row)
			continue;
		one = schema_keyword_verdict(c, place, m, row, depth);
		if (one == HOLDS_NEVER)
			return no;
		if (one == UNDECIDED)
			all = UNDECIDED;
	}
	return all;
}
