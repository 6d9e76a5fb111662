/* schema/disjoint.c - find pairs of schemas without a common value, which oneOf need not negate.
 *
 * Common reasons are tried: different types, different constants, a required property with disjoint
 * schemas, a required property that the other schema forbids. */
#include "schema/compile.h"

#include <string.h>

enum { MOST_CONJUNCTS = 12, MOST_CHOICES = 64, MOST_DEPTH = 5 };

/* Schemas that must all hold: a schema, the target of its $ref, those of its allOf. */
struct conjuncts {
	uint32_t n, location[MOST_CONJUNCTS];
};

static void gather_conjuncts(struct schema *c, uint32_t loc, struct conjuncts *p)
{
	const struct json *v = c->location[loc].v, *ref;
	uint32_t to;

	if (p->n == MOST_CONJUNCTS || c->location[loc].constant)
		return;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->location[i] == loc)
			return;
	ref = json_get(v, "$ref");
	if (!ref || !draft_hides(schema_draft_at(c, loc)))
		p->location[p->n++] = loc;
	if (json_is_string(ref) && !schema_resolve(c, loc, ref, 0, &to))
		gather_conjuncts(c, to, p);
	if (ref && draft_hides(schema_draft_at(c, loc)))
		return;
	json_each(e, json_get(v, "allOf"))
		if (!schema_child(c, loc, e, &to))
			gather_conjuncts(c, to, p);
}

/* -- types and constants -------------------------------------------------------------------- */

/* Return the constants of a schema: an array if *many, else one value; NULL: it has none. */
static const struct json *find_constants(struct schema *c, uint32_t loc, int *many)
{
	const struct json *v = c->location[loc].v,
			  *one = schema_draft_at(c, loc) == SCHEMA_4 ? NULL : json_get(v, "const"),
			  *list = json_get(v, "enum");

	*many = !one;
	return one ? one : json_is_array(list) ? list : NULL;
}

static unsigned types_of(struct schema *c, uint32_t loc)
{
	const struct json *v = c->location[loc].v, *type = json_get(v, "type"), *k;
	unsigned bits = 0, of_type = 0;
	int many;

	if (json_is_bool(v))
		return json_is(v, JSON_TRUE) ? ON_ALL : 0;
	json_each(e, type)
		of_type |= keyword_type_bits(e);
	of_type = json_is_string(type) ? keyword_type_bits(type) : type ? of_type : ON_ALL;
	k = find_constants(c, loc, &many);
	for (const struct json *x = many ? json_first(k) : k; x; x = many ? x->next : NULL)
		bits |= keyword_value_bits(x);
	return k ? bits & of_type : of_type;
}

/* True if both schemas list constants, and no constant of these types is in both lists. */
static int no_common_constant(struct schema *c, uint32_t a, uint32_t b, unsigned types)
{
	int many_a, many_b;
	const struct json *of_a = find_constants(c, a, &many_a),
			  *of_b = find_constants(c, b, &many_b);

	if (!of_a || !of_b)
		return 0;
	for (const struct json *x = many_a ? json_first(of_a) : of_a; x;
	     x = many_a ? x->next : NULL) {
		if (!(keyword_value_bits(x) & types))
			continue;
		for (const struct json *y = many_b ? json_first(of_b) : of_b; y;
		     y = many_b ? y->next : NULL)
			if (schema_equal(x, y))
				return 0;
	}
	return 1;
}

/* -- objects -------------------------------------------------------------------------------- */

static int are_disjoint(struct schema *c, uint32_t a, uint32_t b, unsigned types, int depth);

static int forbids_others(struct schema *c, uint32_t loc)
{
	const struct json *v = c->location[loc].v;

	return json_is(json_get(v, "additionalProperties"), JSON_FALSE) &&
	       !json_get(v, "patternProperties");
}

/* True if no value of the property, which a requires, satisfies both. */
static int is_property_disjoint(struct schema *c, const struct conjuncts *a,
                                const struct conjuncts *b, const struct json *name, int depth)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct json *x = json_getn(
			json_get(c->location[a->location[i]].v, "properties"), name->s, name->n);
		uint32_t of_x, of_y;

		if (!x || schema_child(c, a->location[i], x, &of_x))
			continue;
		for (uint32_t k = 0; k < b->n; k++) {
			const struct json *y =
				json_getn(json_get(c->location[b->location[k]].v, "properties"),
			                  name->s, name->n);

			if (y && !schema_child(c, b->location[k], y, &of_y) &&
			    are_disjoint(c, of_x, of_y, ON_ALL, depth + 1))
				return 1;
		}
	}
	for (uint32_t k = 0; k < b->n; k++)
		if (forbids_others(c, b->location[k]) &&
		    !json_getn(json_get(c->location[b->location[k]].v, "properties"), name->s,
		               name->n))
			return 1;
	return 0;
}

/* True if is_property_disjoint holds for a property that a requires. */
static int are_members_disjoint(struct schema *c, const struct conjuncts *a,
                                const struct conjuncts *b, int depth)
{
	for (uint32_t i = 0; i < a->n; i++)
		json_each(name, json_get(c->location[a->location[i]].v, "required")) {
			if (work_steps(&c->w, 4))
				return 0;
			if (json_is_string(name) && is_property_disjoint(c, a, b, name, depth))
				return 1;
		}
	return 0;
}

/* -- all ------------------------------------------------------------------------------------ */

/* True if every choice of an anyOf or oneOf in a is disjoint from b. */
static int are_choices_disjoint(struct schema *c, const struct conjuncts *a, uint32_t b,
                                unsigned types, int depth)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct json *v = c->location[a->location[i]].v, *any = json_get(v, "anyOf");
		uint32_t to;
		int all = 1;

		any = any ? any : json_get(v, "oneOf");
		if (!any || json_count(any) > MOST_CHOICES)
			continue;
		json_each(e, any)
			all = all && !schema_child(c, a->location[i], e, &to) &&
			      are_disjoint(c, to, b, types, depth + 1);
		if (all)
			return 1;
	}
	return 0;
}

/* True if no value of these types satisfies both. */
static int are_disjoint(struct schema *c, uint32_t a, uint32_t b, unsigned types, int depth)
{
	struct conjuncts pa = { 0 }, pb = { 0 };

	if (depth > MOST_DEPTH || a == b || work_steps(&c->w, 8))
		return 0;
	gather_conjuncts(c, a, &pa);
	gather_conjuncts(c, b, &pb);
	for (uint32_t i = 0; i < pa.n; i++)
		types &= types_of(c, pa.location[i]);
	for (uint32_t i = 0; i < pb.n; i++)
		types &= types_of(c, pb.location[i]);
	if (!types)
		return 1;
	for (uint32_t i = 0; i < pa.n; i++)
		for (uint32_t k = 0; k < pb.n; k++)
			if (no_common_constant(c, pa.location[i], pb.location[k], types))
				return 1;
	if (types == ON_OBJECT &&
	    (are_members_disjoint(c, &pa, &pb, depth) || are_members_disjoint(c, &pb, &pa, depth)))
		return 1;
	return are_choices_disjoint(c, &pa, b, types, depth) ||
	       are_choices_disjoint(c, &pb, a, types, depth);
}

int schema_disjoint(struct schema *c, uint32_t a, uint32_t b)
{
	/* for other types automata decide it */
	if (c->type != ALT_OBJECT && c->type != ALT_ARRAY)
		return 0;
	return are_disjoint(c, a, b, 1u << c->type, 0);
}
