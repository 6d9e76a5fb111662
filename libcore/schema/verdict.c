/* schema/verdict.c - decide schemas without expanding them: from types, constants and nested
 * schemas. */
#include "schema/compile.h"
#include "automata/format.h"

enum { MOST_DEPTH = 6 }; /* nesting depth of schemas that are examined */

static enum verdict type_verdict(const struct json *name, enum alt_type t)
{
	if (!(keyword_type_bits(name) >> t & 1))
		return HOLDS_NEVER;
	return json_equals(name, "integer") ? UNDECIDED : HOLDS_ALWAYS;
}

/* Decide whether values of type t equal v. */
static enum verdict value_verdict(const struct json *v, enum alt_type t)
{
	if (!(keyword_value_bits(v) >> t & 1))
		return HOLDS_NEVER;
	return t < ALT_NUMBER ? HOLDS_ALWAYS : UNDECIDED;
}

static enum verdict verdict_or(enum verdict a, enum verdict b)
{
	if (a == HOLDS_ALWAYS || b == HOLDS_ALWAYS)
		return HOLDS_ALWAYS;
	return a == UNDECIDED || b == UNDECIDED ? UNDECIDED : HOLDS_NEVER;
}

static enum verdict verdict_not(enum verdict v) { return v == UNDECIDED ? v : !v; }

enum verdict verdict_of_type(const struct question *q)
{
	enum verdict any = HOLDS_NEVER;

	if (json_is_string(q->v))
		return type_verdict(q->v, q->c->type);
	json_each(e, q->v)
		any = verdict_or(any, type_verdict(e, q->c->type));
	return any;
}

enum verdict verdict_of_const(const struct question *q) { return value_verdict(q->v, q->c->type); }

enum verdict verdict_of_enum(const struct question *q)
{
	enum verdict any = HOLDS_NEVER;

	json_each(e, q->v)
		any = verdict_or(any, value_verdict(e, q->c->type));
	return any;
}

enum verdict verdict_of_ref(const struct question *q)
{
	uint32_t to;

	return schema_resolve(q->c, q->location, q->v, 0, &to)
	               ? UNDECIDED
	               : schema_verdict(q->c, to * 2, q->depth + 1);
}

enum verdict verdict_of_not(const struct question *q)
{
	uint32_t to;

	return schema_child(q->c, q->location, q->v, &to)
	               ? UNDECIDED
	               : verdict_not(schema_verdict(q->c, to * 2, q->depth + 1));
}

/* Decide a list of schemas: `decisive` if the verdict of one of them is, else the opposite. */
static enum verdict list_verdict(const struct question *q, enum verdict decisive)
{
	enum verdict all = verdict_not(decisive);

	json_each(e, q->v) {
		enum verdict one;
		uint32_t child;

		if (schema_child(q->c, q->location, e, &child))
			return UNDECIDED;
		one = schema_verdict(q->c, child * 2, q->depth + 1);
		if (one == decisive)
			return decisive;
		if (one == UNDECIDED)
			all = UNDECIDED;
	}
	return all;
}

enum verdict verdict_of_all_of(const struct question *q) { return list_verdict(q, HOLDS_NEVER); }

enum verdict verdict_of_any_of(const struct question *q) { return list_verdict(q, HOLDS_ALWAYS); }

enum verdict verdict_of_format(const struct question *q)
{
	const struct schema_opts *o = &q->c->opts;

	return o->annotate || string_format_is_free(q->v->s, q->v->n) ||
	                       (!o->strict_formats && !string_format_is_known(q->v->s, q->v->n))
	               ? HOLDS_ALWAYS
	               : UNDECIDED;
}

enum verdict verdict_of_unique_items(const struct question *q)
{
	return json_is(q->v, JSON_FALSE) ? HOLDS_ALWAYS : UNDECIDED;
}

enum verdict schema_keyword_verdict(struct schema *c, uint32_t loc, const struct json *v,
                                    const struct keyword_row *row, uint32_t depth)
{
	if (!keyword_is_on(row, c->type))
		return HOLDS_ALWAYS;
	return row->verdict ? row->verdict(&(struct question){ c, v, loc, depth }) : UNDECIDED;
}

const struct keyword_row *schema_constraint(const struct schema *c, uint32_t loc,
                                            const struct json *m)
{
	const struct keyword_row *row = keyword_find(m);
	const int draft = schema_draft_at(c, loc);

	if (!row || !keyword_constrains(row) || !schema_knows(draft, row))
		return NULL;
	/* in draft 4 read by minimum and maximum */
	if (draft == SCHEMA_4 && row->value == V_EXCLUSIVE)
		return NULL;
	if (draft_hides(draft) && row->apply != kw_ref_apply &&
	    json_get(c->location[loc].v, "$ref"))
		return NULL;
	return row;
}

enum verdict schema_verdict(struct schema *c, uint32_t lit, uint32_t depth)
{
	const enum verdict no = lit & 1 ? HOLDS_ALWAYS : HOLDS_NEVER;
	const uint32_t loc = lit / 2;
	const struct json *v = c->location[loc].v;
	enum verdict one, all = verdict_not(no);

	if (depth > MOST_DEPTH)
		return UNDECIDED;
	if (c->location[loc].constant) {
		one = value_verdict(v, c->type);
		return lit & 1 ? verdict_not(one) : one;
	}
	if (json_is_bool(v))
		return json_is(v, JSON_TRUE) ? verdict_not(no) : no;
	json_each(m, v) {
		const struct keyword_row *row = schema_constraint(c, loc, m);

		if (!row)
			continue;
		one = schema_keyword_verdict(c, loc, m, row, depth);
		if (one == HOLDS_NEVER)
			return no;
		if (one == UNDECIDED)
			all = UNDECIDED;
	}
	return all;
}
