/* schema/apply.c - what a keyword, or its negation, demands: one branch for each choice. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

static int child(struct schema *c, const struct item *it, const struct json *v, uint32_t *lit)
{
	TRY(schema_child(c, it->place, v, lit));
	*lit *= 2;
	return INFER_OK;
}

/* Every schema of the list, or none of them. */
static int want_all(struct schema *c, const struct branch *b, const struct item *it)
{
	const uint32_t mask = it->neg ? 0 : it->mask;
	struct branch *x;
	uint32_t lit;

	TRY(schema_fork(c, b, &x));
	json_each(e, it->v) {
		TRY(child(c, it, e, &lit));
		TRY(schema_want(c, x, lit ^ (uint32_t)it->neg, mask));
	}
	return INFER_OK;
}

/* Some schema of the list, or some that does not hold. */
static int want_any(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	uint32_t lit;

	json_each(e, it->v) {
		TRY(child(c, it, e, &lit));
		lit ^= (uint32_t)it->neg;
		int q = schema_quick(c, lit, 0);

		if (!q)
			continue;
		TRY(schema_fork(c, b, &x));
		TRY(schema_want(c, x, lit, 0));
	}
	return INFER_OK;
}

/* Where it matters which of them hold: every choice of those that do. */
static int decide_any(struct schema *c, const struct branch *b, const struct item *it)
{
	enum { MOST = 6 };
	uint32_t lit[MOST], n = 0, sure = 0;
	struct branch *x;

	json_each(e, it->v) {
		uint32_t l;
		int q;

		TRY(child(c, it, e, &l));
		q = schema_quick(c, l, 0);
		if (!q)
			continue;
		if (n == MOST)
			return schema_fail(c, INFER_EUNSUP, it->v,
			                   "has too many schemas beside an unevaluated keyword");
		if (q == 1)
			sure |= UINT32_C(1) << n;
		lit[n++] = l;
	}
	for (uint32_t s = 1; s < UINT32_C(1) << n; s++) {
		if (sure & ~s)
			continue;
		TRY(schema_fork(c, b, &x));
		for (uint32_t i = 0; i < n; i++)
			TRY(schema_want(c, x, lit[i] ^ !(s >> i & 1), s >> i & 1 ? it->mask : 0));
	}
	return INFER_OK;
}

/* -- oneOf ---------------------------------------------------------------------------------- */

static int one_of(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	uint32_t lit, other;

	json_each(e, it->v) {
		TRY(child(c, it, e, &lit));
		if (!schema_quick(c, lit, 0))
			continue;
		TRY(schema_fork(c, b, &x));
		TRY(schema_want(c, x, lit, it->mask));
		json_each(o, it->v) {
			TRY(work_steps(&c->w, 1));
			if (o == e)
				continue;
			TRY(child(c, it, o, &other));
			if (schema_quick(c, lit_not(other), 0) == 1 ||
			    schema_apart(c, lit / 2, other / 2))
				continue;
			TRY(schema_want(c, x, lit_not(other), 0));
		}
	}
	return INFER_OK;
}

/* None of them, or two. */
static int not_one_of(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	uint32_t lit, other;

	TRY(want_all(c, b, it));
	json_each(e, it->v) {
		TRY(child(c, it, e, &lit));
		for (const struct json *o = e->next; o; o = o->next) {
			TRY(child(c, it, o, &other));
			TRY(schema_fork(c, b, &x));
			TRY(schema_want(c, x, lit, 0));
			TRY(schema_want(c, x, other, 0));
		}
	}
	return INFER_OK;
}

/* -- if, constants -------------------------------------------------------------------------- */

static int if_then(struct schema *c, const struct branch *b, const struct item *it)
{
	const struct json *s = c->place[it->place].v, *then = json_get(s, "then"),
			  *other = json_get(s, "else");
	const int decide = it->neg || it->mask;
	uint32_t lit, yes = LIT_TRUE, no = LIT_TRUE;
	struct branch *x;

	TRY(child(c, it, it->v, &lit));
	if (then)
		TRY(child(c, it, then, &yes));
	if (other)
		TRY(child(c, it, other, &no));
	if (!it->neg && !it->mask && !then && !other)
		return schema_fork(c, b, &x);
	if (!it->neg || then) {
		TRY(schema_fork(c, b, &x));
		/* where nothing is evaluated, one side need not be decided if the other is free */
		if (other || decide || !then)
			TRY(schema_want(c, x, lit, it->neg ? 0 : it->mask));
		TRY(schema_want(c, x, yes ^ (uint32_t)it->neg, it->neg ? 0 : it->mask));
	}
	if (!it->neg || other) {
		TRY(schema_fork(c, b, &x));
		if (then || decide || !other)
			TRY(schema_want(c, x, lit_not(lit), 0));
		TRY(schema_want(c, x, no ^ (uint32_t)it->neg, it->neg ? 0 : it->mask));
	}
	return INFER_OK;
}

/* One value: an object or array is what has these members, and no others. */
static int equal_object(struct schema *c, struct branch *x, const struct json *v)
{
	uint32_t lit;

	x->min = x->min > v->n ? x->min : v->n;
	x->max = x->max < v->n ? x->max : v->n;
	json_each(m, v) {
		struct fact f = { .kind = FACT_VALUE, .name = m->key, .name_n = m->key_n };

		TRY(schema_place(c, m, 0, 1, &lit));
		f.lit = lit * 2;
		TRY(schema_fact(c, x, &f));
		f.kind = FACT_REQUIRED;
		TRY(schema_fact(c, x, &f));
	}
	return INFER_OK;
}

static int equal_array(struct schema *c, struct branch *x, const struct json *v)
{
	uint32_t i = 0, lit;

	x->min = x->min > v->n ? x->min : v->n;
	x->max = x->max < v->n ? x->max : v->n;
	json_each(e, v) {
		TRY(schema_place(c, e, 0, 1, &lit));
		TRY(schema_fact(
			c, x,
			&(struct fact){
				.kind = FACT_ITEMS, .from = i, .to = i + 1, .lit = lit * 2 }));
		i++;
	}
	return INFER_OK;
}

static int other_object(struct schema *c, const struct branch *b, const struct json *v)
{
	struct branch *x;
	uint32_t lit;

	json_each(m, v) {
		struct fact f = {
			.kind = FACT_VALUE, .name = m->key, .name_n = m->key_n, .lit = LIT_FALSE
		};

		TRY(schema_fork(c, b, &x));
		TRY(schema_fact(c, x, &f));
		TRY(schema_place(c, m, 0, 1, &lit));
		TRY(schema_fork(c, b, &x));
		f.lit = lit_not(lit * 2);
		TRY(schema_fact(c, x, &f));
		f.kind = FACT_REQUIRED;
		TRY(schema_fact(c, x, &f));
	}
	/* or more members */
	TRY(schema_fork(c, b, &x));
	x->min = x->min > v->n + 1 ? x->min : v->n + 1;
	return INFER_OK;
}

static int other_array(struct schema *c, const struct branch *b, const struct json *v)
{
	uint32_t i = 0, lit;
	struct branch *x;

	json_each(e, v) {
		TRY(schema_place(c, e, 0, 1, &lit));
		TRY(schema_fork(c, b, &x));
		TRY(schema_fact(c, x,
		                &(struct fact){ .kind = FACT_ITEMS,
		                                .from = i,
		                                .to = i + 1,
		                                .lit = lit_not(lit * 2) }));
		i++;
		x->min = x->min > i ? x->min : i;
	}
	TRY(schema_fork(c, b, &x));
	x->min = x->min > v->n + 1 ? x->min : v->n + 1;
	if (!v->n)
		return INFER_OK;
	TRY(schema_fork(c, b, &x));
	x->max = x->max < v->n - 1 ? x->max : v->n - 1;
	return INFER_OK;
}

int schema_constant(struct schema *c, const struct branch *b, const struct item *it)
{
	const struct json *v = c->place[it->lit / 2].v;
	const int neg = it->lit & 1;
	const struct dfa *d;
	struct branch *x;

	if (c->type == ALT_NUMBER || c->type == ALT_STRING) {
		TRY(schema_values(c, v, 0, neg, &d));
		TRY(schema_fork(c, b, &x));
		return schema_narrow(c, x, d);
	}
	if (neg)
		return c->type == ALT_OBJECT ? other_object(c, b, v) : other_array(c, b, v);
	TRY(schema_fork(c, b, &x));
	return c->type == ALT_OBJECT ? equal_object(c, x, v) : equal_array(c, x, v);
}

/* const and enum; quick has answered for null, false and true */
static int values(struct schema *c, const struct branch *b, const struct item *it)
{
	const int list = it->row->kw == KW_ENUM;
	const struct dfa *d;
	struct branch *x = NULL;
	uint32_t lit;

	if (c->type == ALT_NUMBER || c->type == ALT_STRING) {
		TRY(schema_values(c, it->v, list, it->neg, &d));
		TRY(schema_fork(c, b, &x));
		return schema_narrow(c, x, d);
	}
	if (it->neg)
		TRY(schema_fork(c, b, &x));
	for (const struct json *e = list ? json_first(it->v) : it->v; e;
	     e = list ? e->next : NULL) {
		TRY(schema_place(c, e, 0, 1, &lit));
		lit = lit * 2 + (uint32_t)it->neg;
		if (!schema_quick(c, lit, 0) && !it->neg)
			continue;
		if (!it->neg)
			TRY(schema_fork(c, b, &x));
		TRY(schema_want(c, x, lit, 0));
	}
	return INFER_OK;
}

/* -- all ------------------------------------------------------------------------------------ */

static int narrow_by(struct schema *c, const struct branch *b, const struct item *it)
{
	const int four = schema_draft(c, it->place) == SCHEMA_4;
	const struct json *s = c->place[it->place].v;
	enum keyword kw = (enum keyword)it->row->kw;
	const struct dfa *d = NULL;
	struct branch *x;

	if (four && kw == KW_MINIMUM && json_is(json_get(s, "exclusiveMinimum"), JSON_TRUE))
		kw = KW_EXCLUSIVE_MINIMUM;
	if (four && kw == KW_MAXIMUM && json_is(json_get(s, "exclusiveMaximum"), JSON_TRUE))
		kw = KW_EXCLUSIVE_MAXIMUM;
	/* 1.0 is no integer of draft 4 */
	if (kw == KW_TYPE)
		TRY(schema_integer(c, four, it->neg, &d));
	else if (c->type == ALT_STRING)
		TRY(schema_string(c, it->v, kw, it->neg, &d));
	else
		TRY(schema_number(c, it->v, kw, it->neg, &d));
	TRY(schema_fork(c, b, &x));
	return schema_narrow(c, x, d);
}

static int refer(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	uint32_t to;

	TRY(schema_target(c, it->place, it->v, it->row->kw == KW_DYNAMIC_REF, &to));
	TRY(schema_fork(c, b, &x));
	return schema_want(c, x, to * 2 + (uint32_t)it->neg, it->neg ? 0 : it->mask);
}

static int negate(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	uint32_t lit;

	TRY(child(c, it, it->v, &lit));
	TRY(schema_fork(c, b, &x));
	return schema_want(c, x, it->neg ? lit : lit_not(lit), 0);
}

int schema_apply(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x;
	int q = -1;

	if (!it->entry && !it->mask)
		q = schema_quick_keyword(c, it->place, it->v, it->row, 0);
	if (q >= 0)
		return q != it->neg ? schema_fork(c, b, &x) : INFER_OK;
	switch (it->row->kw) {
	case KW_ALL_OF:
		return it->neg ? want_any(c, b, it) : want_all(c, b, it);
	case KW_ANY_OF:
		if (it->neg)
			return want_all(c, b, it);
		return it->mask ? decide_any(c, b, it) : want_any(c, b, it);
	case KW_ONE_OF:
		return it->neg ? not_one_of(c, b, it) : one_of(c, b, it);
	case KW_NOT:
		return negate(c, b, it);
	case KW_IF:
		return if_then(c, b, it);
	case KW_REF:
	case KW_DYNAMIC_REF:
		return refer(c, b, it);
	case KW_CONST:
	case KW_ENUM:
		q = schema_quick_keyword(c, it->place, it->v, it->row, 0);
		if (q >= 0)
			return q != it->neg ? schema_fork(c, b, &x) : INFER_OK;
		return values(c, b, it);
	case KW_TYPE:
		q = schema_quick_keyword(c, it->place, it->v, it->row, 0);
		if (q >= 0)
			return q != it->neg ? schema_fork(c, b, &x) : INFER_OK;
		return narrow_by(c, b, it);
	default:
		if (c->type == ALT_ARRAY)
			return schema_apply_array(c, b, it);
		if (c->type == ALT_OBJECT)
			return schema_apply_object(c, b, it);
		return narrow_by(c, b, it);
	}
}
