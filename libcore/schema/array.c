/* schema/array.c - keywords of arrays, and the shapes of arrays. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

enum { MOST_COUNTERS = 4, MOST_TABLE = 1 << 20, MOST_PREFIX = 4096 };

/* Each element satisfies the schema of its position. Negated: some element does not. */
int kw_prefixItems_apply(struct schema *c, const struct todo *it)
{
	struct branch *x = NULL;
	uint32_t i = 0, lit;

	if (!it->neg)
		TRY(schema_fork(c, &x));
	json_each(e, it->v) {
		TRY(schema_literal(c, it->location, e, it->neg, &lit));
		if (it->neg)
			TRY(schema_fork(c, &x));
		TRY(schema_add_fact(c, x,
		                    &(struct fact){ .kind = FACT_ITEMS,
		                                    .from = i,
		                                    .to = i + 1,
		                                    .lit = lit,
		                                    .mask = it->mask,
		                                    .evaluates = 1 }));
		i++;
		if (it->neg)
			branch_at_least(x, i);
	}
	return INFER_OK;
}

/* Every element at `from` or later satisfies the schema it->v. Negated: some element does not. */
static int items_from(struct schema *c, const struct todo *it, uint32_t from)
{
	struct fact f = { .kind = FACT_ITEMS, .from = from, .to = DFA_FOREVER, .mask = it->mask };
	struct branch *x;

	f.evaluates = 1;
	f.max = DFA_FOREVER;
	f.min = 1;
	f.v = it->v;
	TRY(schema_literal(c, it->location, it->v, it->neg, &f.lit));
	if (it->neg)
		f.kind = FACT_COUNT;
	TRY(schema_fork(c, &x));
	return schema_add_fact(c, x, &f);
}

int kw_contains_apply(struct schema *c, const struct todo *it)
{
	const struct json *s = c->location[it->location].v;
	const int draft = schema_draft_at(c, it->location), seven = draft <= SCHEMA_7;
	const struct json *lo = seven ? NULL : json_get(s, "minContains"),
			  *hi = seven ? NULL : json_get(s, "maxContains");
	struct fact f = { .kind = FACT_COUNT, .v = it->v, .mask = it->mask };
	const uint32_t min = lo ? schema_count(lo) : 1, max = hi ? schema_count(hi) : DFA_FOREVER;
	struct branch *x;

	TRY(schema_literal(c, it->location, it->v, 0, &f.lit));
	f.evaluates = draft == DRAFT_2020;
	if (!it->neg) {
		f.min = min;
		f.max = max;
		TRY(schema_fork(c, &x));
		x->dead |= min > max;
		return schema_add_fact(c, x, &f);
	}
	if (min) {
		f.min = 0;
		f.max = min - 1;
		TRY(schema_fork(c, &x));
		TRY(schema_add_fact(c, x, &f));
	}
	if (hi) {
		f.min = max + 1;
		f.max = DFA_FOREVER;
		TRY(schema_fork(c, &x));
		TRY(schema_add_fact(c, x, &f));
	}
	return INFER_OK;
}

int kw_minItems_apply(struct schema *c, const struct todo *it) { return schema_size(c, it, 1); }

int kw_maxItems_apply(struct schema *c, const struct todo *it) { return schema_size(c, it, 0); }

/* The negation, that two elements are equal, cannot be enforced. */
int kw_uniqueItems_apply(struct schema *c, const struct todo *it)
{
	const int asked = json_is(it->v, JSON_TRUE);
	struct branch *x;

	if (it->neg && asked)
		return schema_fail(c, INFER_EUNSUP, it->v, "is not supported under not");
	if (it->neg)
		return INFER_OK;
	TRY(schema_fork(c, &x));
	if (asked)
		x->unique = it->v;
	return INFER_OK;
}

int kw_items_apply(struct schema *c, const struct todo *it)
{
	const struct json *prefix = json_get(c->location[it->location].v, "prefixItems");

	if (json_is_array(it->v))
		return kw_prefixItems_apply(c, it);
	return items_from(
		c, it,
		schema_draft_at(c, it->location) == DRAFT_2020 ? (uint32_t)json_count(prefix) : 0);
}

int kw_additionalItems_apply(struct schema *c, const struct todo *it)
{
	const struct json *items = json_get(c->location[it->location].v, "items");
	struct branch *x;

	if (json_is_array(items))
		return items_from(c, it, items->n);
	return it->neg ? INFER_OK : schema_fork(c, &x);
}

/* -- shapes --------------------------------------------------------------------------------- */

struct rest {
	const struct fact *f;
	uint32_t from; /* the first element that no keyword has evaluated by its position */
};

struct build {
	const struct branch *b;
	struct array_shape *a;
	const struct fact *count[MOST_COUNTERS];
	uint32_t decided; /* counters: an element that is not counted must not satisfy lit */
	struct rest rest[8];
	uint32_t n_rest, n_facts;
};

static int add_counter(struct schema *c, struct build *u, const struct fact *f, uint32_t from)
{
	if (u->a->n_counters == MOST_COUNTERS)
		return schema_fail(c, INFER_EUNSUP, f->v, "too many conditions count elements");
	if (from > MOST_PREFIX || f->min >= MOST_TABLE ||
	    (f->max != DFA_FOREVER && f->max >= MOST_TABLE))
		return schema_fail(c, INFER_EUNSUP, f->v, "counts too many elements");
	u->count[u->a->n_counters++] = f;
	return INFER_OK;
}

/* Find the elements that each unevaluatedItems applies to. A negated one becomes a counter. */
static int collect_unevaluated(struct schema *c, struct build *u)
{
	for (const struct fact *f = u->b->facts; f; f = f->next) {
		struct rest *r = u->rest + u->n_rest;
		int counts = 0;

		if (f->kind != FACT_REST)
			continue;
		if (u->n_rest == 8)
			return schema_fail(c, INFER_EUNSUP, f->v,
			                   "too many unevaluatedItems hold at once");
		*r = (struct rest){ f, 0 };
		for (const struct fact *e = u->b->facts; e; e = e->next) {
			if (!e->evaluates || !(e->mask & f->bit))
				continue;
			if (e->kind == FACT_ITEMS && e->to > r->from)
				r->from = e->to;
			if (e->kind == FACT_REST)
				r->from = DFA_FOREVER;
			counts |= e->kind == FACT_COUNT;
		}
		if (!f->neg) {
			u->n_rest++;
			continue;
		}
		/* some element that is not evaluated satisfies f->lit, which is negated */
		if (counts)
			return schema_fail(c, INFER_EUNSUP, f->v,
			                   "is not supported under not together with contains");
		struct fact *some;

		TRY(work_alloc(&c->w, &some, 1, sizeof *some));
		*some = *f;
		some->kind = FACT_COUNT;
		some->from = r->from;
		some->min = 1;
		some->max = DFA_FOREVER;
		some->mask = 0;
		TRY(add_counter(c, u, some, r->from == DFA_FOREVER ? 0 : r->from));
	}
	return INFER_OK;
}

static void extend_prefix(struct array_shape *a, uint32_t to)
{
	if (to != DFA_FOREVER && to > a->n_prefix)
		a->n_prefix = to;
}

static int gather_facts(struct schema *c, struct build *u)
{
	struct array_shape *a = u->a;

	a->min = u->b->min;
	a->max = u->b->max;
	for (const struct fact *f = u->b->facts; f; f = f->next) {
		u->n_facts++;
		if (f->kind == FACT_COUNT)
			TRY(add_counter(c, u, f, f->from));
		/* this element cannot exist, so none can follow */
		if (f->kind == FACT_ITEMS && f->lit == LIT_FALSE && f->from < a->max)
			a->max = f->from;
	}
	TRY(collect_unevaluated(c, u));
	for (const struct fact *f = u->b->facts; f; f = f->next)
		if (f->kind == FACT_ITEMS)
			extend_prefix(a, f->to == DFA_FOREVER ? f->from : f->to);
	for (uint32_t i = 0; i < a->n_counters; i++)
		extend_prefix(a, u->count[i]->from);
	for (uint32_t i = 0; i < u->n_rest; i++)
		extend_prefix(a, u->rest[i].from);
	if (a->n_prefix > a->max)
		a->n_prefix = a->max;
	if (a->n_prefix > MOST_PREFIX)
		return err_set(c->w.err, INFER_EUNSUP, "the schema has arrays that are too long");
	return INFER_OK;
}

static int make_counters(struct schema *c, struct build *u)
{
	struct array_shape *a = u->a;

	TRY(work_alloc(&c->w, &a->counter, a->n_counters + 1, sizeof *a->counter));
	a->width = 1;
	for (uint32_t i = 0; i < a->n_counters; i++) {
		const struct fact *f = u->count[i];
		const uint32_t most = f->max == DFA_FOREVER ? f->min : f->max;

		a->counter[i] = (struct counter){ f->min, f->max, a->width };
		if ((uint64_t)a->width * (most + 1) > MOST_TABLE)
			return schema_fail(c, INFER_EUNSUP, f->v, "counts too many elements");
		a->width *= most + 1;
		/* else each element may or may not be counted, and a parser state for each count is kept */
		if (f->max != DFA_FOREVER || f->min > 1000)
			u->decided |= UINT32_C(1) << i;
		for (uint32_t k = 0; k < u->n_rest; k++)
			if (f->evaluates && f->kind == FACT_COUNT && (f->mask & u->rest[k].f->bit))
				u->decided |= UINT32_C(1) << i;
	}
	a->steady = a->max != DFA_FOREVER ? a->max : a->min > a->n_prefix ? a->min : a->n_prefix;
	if (a->width == 1)
		return INFER_OK;
	if (((uint64_t)a->steady + 1) * a->width > MOST_TABLE)
		return schema_fail(c, INFER_EUNSUP, u->count[0]->v,
		                   "counts elements of arrays that are too long");
	return work_alloc(&c->w, &a->can, (uint64_t)(a->steady + 1) * a->width, 1);
}

/* Make the options of position i: one goal for each set of counters an element can increment. */
static int make_options_at(struct schema *c, struct build *u, uint32_t i)
{
	struct options *o = u->a->item + i;
	const uint32_t n = u->a->n_counters;
	uint32_t *lits;

	TRY(work_alloc(&c->w, &lits, u->n_facts + n + u->n_rest + 1, sizeof *lits));
	TRY(work_alloc(&c->w, &o->at, UINT64_C(1) << n, sizeof *o->at));
	for (uint32_t s = 0; s < UINT32_C(1) << n; s++) {
		uint32_t k = 0, goal, evaluated = 0;
		int out = 0;

		for (const struct fact *f = u->b->facts; f; f = f->next)
			if (f->kind == FACT_ITEMS && i >= f->from && i < f->to)
				lits[k++] = f->lit;
		for (uint32_t j = 0; j < n; j++) {
			const struct fact *f = u->count[j];
			const int in = i >= f->from && f->from != DFA_FOREVER;

			out |= (!in || !f->max) && (s >> j & 1);
			if (s >> j & 1) {
				lits[k++] = f->lit;
				evaluated |= f->evaluates ? f->mask : 0;
			} else if (in && (u->decided >> j & 1)) {
				lits[k++] = lit_not(f->lit);
			}
		}
		for (uint32_t j = 0; j < u->n_rest; j++)
			if (i >= u->rest[j].from && !(evaluated & u->rest[j].f->bit))
				lits[k++] = u->rest[j].f->lit;
		if (out)
			continue;
		TRY(schema_goal(c, lits, k, &goal));
		if (goal != NOWHERE)
			o->at[o->n++] = (struct option){ goal, s };
	}
	return INFER_OK;
}

int schema_array(struct schema *c, const struct branch *b, struct alt *out)
{
	struct grammar *g = c->g;
	struct build u = { .b = b };

	if (b->min > b->max)
		return INFER_OK;
	TRY(work_alloc(&c->w, &u.a, 1, sizeof *u.a));
	TRY(gather_facts(c, &u));
	if (u.a->min > u.a->max)
		return INFER_OK;
	TRY(make_counters(c, &u));
	TRY(work_alloc(&c->w, &u.a->item, (uint64_t)u.a->n_prefix + 1, sizeof *u.a->item));
	u.a->unique = b->unique && u.a->max > 1;
	c->plain |= u.a->unique;
	for (uint32_t i = 0; i <= u.a->n_prefix; i++)
		TRY(make_options_at(c, &u, i));
	c->plain = g->goal[c->goal].plain;
	if (u.a->unique) {
		TRY(work_grow(&c->w, &c->unique, &c->cap_unique, c->n_unique + 1,
		              sizeof *c->unique));
		c->unique[c->n_unique++] = (struct unique){ u.a, b->unique };
	}
	TRY(work_grow(&c->w, &g->array, &g->cap_arrays, g->n_arrays + 1, sizeof *g->array));
	out->shape = g->n_arrays;
	g->array[g->n_arrays++] = out->array = u.a;
	return INFER_OK;
}
