/* schema/apply.c - keywords of schemas, constants, numbers and strings: the branches they make. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

/* Require every schema of the list, or if it->neg none of them. */
static int want_all(struct schema *c, const struct todo *it)
{
	const uint32_t mask = it->neg ? 0 : it->mask;
	struct branch *x;
	uint32_t lit;

	TRY(schema_fork(c, &x));
	json_each(e, it->v) {
		TRY(schema_literal(c, it->location, e, 0, &lit));
		TRY(schema_require(c, x, lit ^ (uint32_t)it->neg, mask));
	}
	return INFER_OK;
}

/* Make a branch for each schema of the list, in which it holds, or if it->neg does not. Only that
 * schema names members. */
static int want_any(struct schema *c, const struct todo *it)
{
	const uint32_t mask = it->neg ? 0 : it->mask & MASK_NAMES;
	struct branch *x;
	uint32_t lit;

	json_each(e, it->v) {
		TRY(schema_literal(c, it->location, e, 0, &lit));
		lit ^= (uint32_t)it->neg;
		if (schema_verdict(c, lit, 0) == HOLDS_NEVER)
			continue;
		TRY(schema_fork(c, &x));
		TRY(schema_require(c, x, lit, mask));
	}
	return INFER_OK;
}

/* Make a branch for each subset of schemas, in which only these hold (for unevaluated*). */
static int decide_any(struct schema *c, const struct todo *it)
{
	enum { MOST = 6 };
	uint32_t lit[MOST], n = 0, sure = 0;
	struct branch *x;

	json_each(e, it->v) {
		enum verdict v;
		uint32_t l;

		TRY(schema_literal(c, it->location, e, 0, &l));
		v = schema_verdict(c, l, 0);
		if (v == HOLDS_NEVER)
			continue;
		if (n == MOST)
			return schema_fail(c, INFER_EUNSUP, it->v,
			                   "has too many schemas for an unevaluated keyword");
		if (v == HOLDS_ALWAYS)
			sure |= UINT32_C(1) << n;
		lit[n++] = l;
	}
	for (uint32_t s = 1; s < UINT32_C(1) << n; s++) {
		if (sure & ~s)
			continue;
		TRY(schema_fork(c, &x));
		for (uint32_t i = 0; i < n; i++)
			TRY(schema_require(c, x, lit[i] ^ !(s >> i & 1),
			                   s >> i & 1 ? it->mask : 0));
	}
	return INFER_OK;
}

/* -- oneOf ---------------------------------------------------------------------------------- */

static int one_of(struct schema *c, const struct todo *it)
{
	struct branch *x;
	uint32_t lit, other;

	json_each(e, it->v) {
		TRY(schema_literal(c, it->location, e, 0, &lit));
		if (schema_verdict(c, lit, 0) == HOLDS_NEVER)
			continue;
		TRY(schema_fork(c, &x));
		TRY(schema_require(c, x, lit, it->mask));
		json_each(o, it->v) {
			TRY(work_steps(&c->w, 1));
			if (o == e)
				continue;
			TRY(schema_literal(c, it->location, o, 0, &other));
			if (schema_verdict(c, lit_not(other), 0) == HOLDS_ALWAYS ||
			    schema_disjoint(c, lit / 2, other / 2))
				continue;
			TRY(schema_require(c, x, lit_not(other), 0));
		}
	}
	return INFER_OK;
}

/* Make a branch in which no schema holds, and one for each pair of schemas, in which both do. */
static int not_one_of(struct schema *c, const struct todo *it)
{
	struct branch *x;
	uint32_t lit, other;

	TRY(want_all(c, it));
	json_each(e, it->v) {
		TRY(schema_literal(c, it->location, e, 0, &lit));
		for (const struct json *o = e->next; o; o = o->next) {
			TRY(schema_literal(c, it->location, o, 0, &other));
			TRY(schema_fork(c, &x));
			TRY(schema_require(c, x, lit, 0));
			TRY(schema_require(c, x, other, 0));
		}
	}
	return INFER_OK;
}

/* -- if, constants -------------------------------------------------------------------------- */

int kw_if_apply(struct schema *c, const struct todo *it)
{
	const struct json *s = c->location[it->location].v, *then = json_get(s, "then"),
			  *other = json_get(s, "else");
	const int decide = it->neg || it->mask;
	uint32_t lit, yes = LIT_TRUE, no = LIT_TRUE;
	struct branch *x;

	TRY(schema_literal(c, it->location, it->v, 0, &lit));
	if (then)
		TRY(schema_literal(c, it->location, then, 0, &yes));
	if (other)
		TRY(schema_literal(c, it->location, other, 0, &no));
	if (!it->neg && !mask_decides(it->mask) && !then && !other)
		return schema_fork(c, &x);
	if (!it->neg || then) {
		TRY(schema_fork(c, &x));
		/* if no keyword depends on it, `if` need not be decided if one side is always true */
		if (other || decide || !then)
			TRY(schema_require(c, x, lit, it->neg ? 0 : it->mask));
		TRY(schema_require(c, x, yes ^ (uint32_t)it->neg, it->neg ? 0 : it->mask));
	}
	if (!it->neg || other) {
		TRY(schema_fork(c, &x));
		if (then || decide || !other)
			TRY(schema_require(c, x, lit_not(lit), 0));
		TRY(schema_require(c, x, no ^ (uint32_t)it->neg, it->neg ? 0 : it->mask));
	}
	return INFER_OK;
}

/* Make the fact that member or element i, e of a constant, satisfies lit. */
static struct fact entry_fact(const struct schema *c, const struct json *e, uint32_t i,
                              uint32_t lit)
{
	if (c->type == ALT_ARRAY)
		return (struct fact){ .kind = FACT_ITEMS, .from = i, .to = i + 1, .lit = lit };
	return (struct fact){ .kind = FACT_VALUE, .name = e->key, .name_n = e->key_n, .lit = lit };
}

/* Add the fact; for a member, also require that it exists. */
static int add_entry_fact(struct schema *c, struct branch *x, struct fact f)
{
	TRY(schema_add_fact(c, x, &f));
	f.kind = FACT_REQUIRED;
	return c->type == ALT_OBJECT ? schema_add_fact(c, x, &f) : INFER_OK;
}

/* Require an object or array equal to v. */
static int equal_constant(struct schema *c, struct branch *x, const struct json *v, uint32_t mask)
{
	uint32_t i = 0, lit;

	branch_at_least(x, v->n);
	branch_at_most(x, v->n);
	json_each(e, v) {
		struct fact f;

		TRY(schema_locate(c, e, 0, 1, &lit));
		f = entry_fact(c, e, i++, lit * 2);
		f.mask = mask;
		f.evaluates = 1;
		TRY(add_entry_fact(c, x, f));
	}
	return INFER_OK;
}

/* Make the branches of objects or arrays that are not equal to v: a member is missing, a member or
 * element differs, there are more of them, or fewer elements. */
static int unequal_constant(struct schema *c, const struct json *v)
{
	uint32_t i = 0, lit;
	struct branch *x;

	json_each(e, v) {
		if (c->type == ALT_OBJECT) {
			const struct fact absent = entry_fact(c, e, i, LIT_FALSE);

			TRY(schema_fork(c, &x));
			TRY(schema_add_fact(c, x, &absent));
		}
		TRY(schema_locate(c, e, 0, 1, &lit));
		TRY(schema_fork(c, &x));
		TRY(add_entry_fact(c, x, entry_fact(c, e, i++, lit_not(lit * 2))));
		if (c->type == ALT_ARRAY)
			branch_at_least(x, i);
	}
	TRY(schema_fork(c, &x));
	branch_at_least(x, v->n + 1);
	if (c->type == ALT_OBJECT || !v->n)
		return INFER_OK;
	TRY(schema_fork(c, &x));
	branch_at_most(x, v->n - 1);
	return INFER_OK;
}

int schema_constant(struct schema *c, const struct todo *it)
{
	const struct json *v = c->location[it->lit / 2].v;
	const int neg = it->lit & 1;
	const struct dfa *d;
	struct branch *x;

	if (c->type == ALT_NUMBER || c->type == ALT_STRING) {
		TRY(schema_values(c, v, 0, neg, &d));
		TRY(schema_fork(c, &x));
		x->listed |= !neg;
		return schema_narrow(c, x, d);
	}
	if (neg)
		return unequal_constant(c, v);
	TRY(schema_fork(c, &x));
	return equal_constant(c, x, v, it->mask & MASK_NAMES);
}

/* Apply const, or enum if `list`, to a type that schema_apply could not decide. */
static int apply_values(struct schema *c, const struct todo *it, int list)
{
	const struct dfa *d;
	struct branch *x = NULL;
	uint32_t lit;

	if (c->type == ALT_NUMBER || c->type == ALT_STRING) {
		TRY(schema_values(c, it->v, list, it->neg, &d));
		TRY(schema_fork(c, &x));
		x->listed |= !it->neg;
		return schema_narrow(c, x, d);
	}
	if (it->neg)
		TRY(schema_fork(c, &x));
	for (const struct json *e = list ? json_first(it->v) : it->v; e;
	     e = list ? e->next : NULL) {
		TRY(schema_locate(c, e, 0, 1, &lit));
		lit = lit * 2 + (uint32_t)it->neg;
		if (schema_verdict(c, lit, 0) == HOLDS_NEVER && !it->neg)
			continue;
		if (!it->neg)
			TRY(schema_fork(c, &x));
		TRY(schema_require(c, x, lit, it->mask & MASK_NAMES));
	}
	return INFER_OK;
}

int kw_const_apply(struct schema *c, const struct todo *it) { return apply_values(c, it, 0); }

int kw_enum_apply(struct schema *c, const struct todo *it) { return apply_values(c, it, 1); }

/* -- schemas -------------------------------------------------------------------------------- */

int kw_allOf_apply(struct schema *c, const struct todo *it)
{
	return it->neg ? want_any(c, it) : want_all(c, it);
}

int kw_anyOf_apply(struct schema *c, const struct todo *it)
{
	if (it->neg)
		return want_all(c, it);
	return mask_decides(it->mask) ? decide_any(c, it) : want_any(c, it);
}

int kw_oneOf_apply(struct schema *c, const struct todo *it)
{
	return it->neg ? not_one_of(c, it) : one_of(c, it);
}

int kw_not_apply(struct schema *c, const struct todo *it)
{
	struct branch *x;
	uint32_t lit;

	TRY(schema_literal(c, it->location, it->v, 0, &lit));
	TRY(schema_fork(c, &x));
	return schema_require(c, x, it->neg ? lit : lit_not(lit), 0);
}

static int apply_reference(struct schema *c, const struct todo *it, int dynamic)
{
	struct branch *x;
	uint32_t to;

	TRY(schema_resolve(c, it->location, it->v, dynamic, &to));
	TRY(schema_fork(c, &x));
	return schema_require(c, x, to * 2 + (uint32_t)it->neg, it->neg ? 0 : it->mask);
}

int kw_ref_apply(struct schema *c, const struct todo *it) { return apply_reference(c, it, 0); }

int kw_dynamicRef_apply(struct schema *c, const struct todo *it)
{
	return apply_reference(c, it, 1);
}

int kw_recursiveRef_apply(struct schema *c, const struct todo *it)
{
	return apply_reference(c, it, 1);
}

/* -- numbers -------------------------------------------------------------------------------- */

static int narrow_fork(struct schema *c, const struct dfa *d)
{
	struct branch *x;

	TRY(schema_fork(c, &x));
	return schema_narrow(c, x, d);
}

/* Only "integer" is applied here; verdict_of_type decides the other types. */
int kw_type_apply(struct schema *c, const struct todo *it)
{
	const struct dfa *d;
	struct branch *x;

	if (c->type != ALT_NUMBER)
		return schema_fork(c, &x);
	/* in draft 4, 1.0 is not an integer */
	TRY(schema_integer(c, schema_draft_at(c, it->location) == SCHEMA_4, it->neg, &d));
	return narrow_fork(c, d);
}

static int apply_bound(struct schema *c, const struct todo *it, enum number_bound plain,
                       enum number_bound negated)
{
	const struct dfa *d;

	TRY(schema_number(c, it->v, it->neg ? negated : plain, &d));
	return narrow_fork(c, d);
}

/* True if a boolean of draft 4 makes the bound exclusive. */
static int is_exclusive(const struct schema *c, const struct todo *it, const char *name)
{
	return schema_draft_at(c, it->location) == SCHEMA_4 &&
	       json_is(json_get(c->location[it->location].v, name), JSON_TRUE);
}

int kw_exclusiveMaximum_apply(struct schema *c, const struct todo *it)
{
	return apply_bound(c, it, BOUND_BELOW, BOUND_AT_LEAST);
}

int kw_exclusiveMinimum_apply(struct schema *c, const struct todo *it)
{
	return apply_bound(c, it, BOUND_ABOVE, BOUND_AT_MOST);
}

int kw_maximum_apply(struct schema *c, const struct todo *it)
{
	if (is_exclusive(c, it, "exclusiveMaximum"))
		return kw_exclusiveMaximum_apply(c, it);
	return apply_bound(c, it, BOUND_AT_MOST, BOUND_ABOVE);
}

int kw_minimum_apply(struct schema *c, const struct todo *it)
{
	if (is_exclusive(c, it, "exclusiveMinimum"))
		return kw_exclusiveMinimum_apply(c, it);
	return apply_bound(c, it, BOUND_AT_LEAST, BOUND_BELOW);
}

int kw_multipleOf_apply(struct schema *c, const struct todo *it)
{
	return apply_bound(c, it, BOUND_MULTIPLE, BOUND_NOT_MULTIPLE);
}

/* -- strings -------------------------------------------------------------------------------- */

static int apply_string(struct schema *c, const struct todo *it, enum string_bound kind)
{
	const struct dfa *d;

	TRY(schema_string(c, it->v, kind, it->neg, &d));
	return narrow_fork(c, d);
}

int kw_format_apply(struct schema *c, const struct todo *it)
{
	return apply_string(c, it, STRING_FORMAT);
}

/* Limit the length of strings, which is combined with their other conditions last. */
static int limit_length(struct schema *c, const struct todo *it, uint32_t most)
{
	struct branch *x;

	TRY(schema_fork(c, &x));
	if (most >= x->longest)
		return INFER_OK;
	x->longest = most;
	x->limit = it->v;
	x->limit_neg = it->neg;
	x->dead |= x->shortest > x->longest;
	return INFER_OK;
}

/* The same from below; few characters are an automaton at once. */
static int limit_below(struct schema *c, const struct todo *it, enum string_bound kind,
                       uint32_t least)
{
	enum { FEW = 256 };
	struct branch *x;

	if (least <= FEW)
		return apply_string(c, it, kind);
	TRY(schema_fork(c, &x));
	if (least <= x->shortest)
		return INFER_OK;
	x->shortest = least;
	x->floor = it->v;
	x->floor_neg = it->neg;
	x->dead |= x->shortest > x->longest;
	return INFER_OK;
}

int kw_maxLength_apply(struct schema *c, const struct todo *it)
{
	const uint32_t n = schema_count(it->v);

	return it->neg ? limit_below(c, it, STRING_MAX_LENGTH, n + (n < DFA_FOREVER - 1))
	               : limit_length(c, it, n);
}

int kw_minLength_apply(struct schema *c, const struct todo *it)
{
	const uint32_t n = schema_count(it->v);

	return it->neg && n ? limit_length(c, it, n - 1) : limit_below(c, it, STRING_MIN_LENGTH, n);
}

/* Apply a pattern that repeats one class of characters, its first `atom` bytes after "^", as that class and
 * limits on the length. */
static int apply_repeated(struct schema *c, const struct todo *it, size_t atom, uint32_t least,
                          uint32_t most)
{
	const struct json *n[2];
	const struct dfa *d;
	struct branch *x;
	char *any;

	TRY(work_alloc(&c->w, &any, atom + 4, 1));
	memcpy(any, json_str(it->v), atom + 1);
	memcpy(any + atom + 1, "*$", 3);
	TRY(schema_regex(c, it->v, any, atom + 3, &d));
	TRY(schema_fork(c, &x));
	TRY(schema_narrow(c, x, d));
	n[0] = json_new_int(&c->w.mem, least);
	n[1] = json_new_int(&c->w.mem, most);
	if (!n[0] || !n[1])
		return err_nomem(c->w.err);
	if (least > x->shortest) {
		x->shortest = least;
		x->floor = n[0];
		x->floor_neg = 0;
	}
	if (most < x->longest) {
		x->longest = most;
		x->limit = n[1];
		x->limit_neg = 0;
	}
	x->dead |= x->shortest > x->longest;
	return INFER_OK;
}

int kw_pattern_apply(struct schema *c, const struct todo *it)
{
	enum { MANY = 1000 };
	uint32_t least, most;
	const size_t atom = it->neg ? 0 : schema_repeats(json_str(it->v), it->v->n, &least, &most);

	if (!atom || (least <= MANY && (most <= MANY || most == DFA_FOREVER)))
		return apply_string(c, it, STRING_PATTERN);
	return apply_repeated(c, it, atom, least, most);
}

/* -- all ------------------------------------------------------------------------------------ */

int kw_annotation_apply(struct schema *c, const struct todo *it)
{
	struct branch *x;

	return it->neg ? INFER_OK : schema_fork(c, &x);
}

int schema_apply(struct schema *c, const struct todo *it)
{
	/* a keyword that always holds may still evaluate members or elements */
	const enum verdict v = it->mask && keyword_evaluates(it->row)
	                               ? UNDECIDED
	                               : schema_keyword_verdict(c, it->location, it->v, it->row, 0);
	struct branch *x;

	if (v == UNDECIDED)
		return it->row->apply(c, it);
	return (v == HOLDS_ALWAYS) == it->neg ? INFER_OK : schema_fork(c, &x);
}
