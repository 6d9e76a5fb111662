/* schema/expand.c - expand goals, one type at a time, into branches without choices. */
#include "schema/compile.h"
#include "base/err.h"

#include <string.h>

enum { MOST_DEPTH = 300, MOST_GOALS = 1 << 16 };

int schema_fork(struct schema *c, struct branch **out)
{
	TRY(work_steps(&c->w, 4));
	TRY(work_alloc(&c->w, out, 1, sizeof **out));
	**out = *c->branch;
	(*out)->next = NULL;
	if (c->made)
		c->newest->next = *out;
	else
		c->made = *out;
	c->newest = *out;
	return INFER_OK;
}

int schema_add_todo(struct schema *c, struct branch *b, const struct todo *like, int late)
{
	struct todo *it, **at = late ? &b->late : &b->todo;

	TRY(work_alloc(&c->w, &it, 1, sizeof *it));
	*it = *like;
	it->next = *at;
	*at = it;
	return INFER_OK;
}

int schema_require(struct schema *c, struct branch *b, uint32_t lit, uint32_t mask)
{
	if (lit == LIT_TRUE)
		return INFER_OK;
	b->dead |= lit == LIT_FALSE;
	return schema_add_todo(c, b, &(struct todo){ .lit = lit, .mask = mask }, 0);
}

int schema_add_fact(struct schema *c, struct branch *b, const struct fact *like)
{
	struct fact *f;

	TRY(work_alloc(&c->w, &f, 1, sizeof *f));
	*f = *like;
	f->next = b->facts;
	b->facts = f;
	return INFER_OK;
}

int schema_narrow(struct schema *c, struct branch *b, const struct dfa *d)
{
	TRY(schema_intersect(c, b->text, d, &b->text));
	b->dead |= dfa_is_none(b->text);
	return INFER_OK;
}

/* -- literals ------------------------------------------------------------------------------- */

/* Keywords that make several branches are applied last: the others may rule branches out. */
static int is_late(const struct keyword_row *row, int neg) { return row->branches >> neg & 1; }

static int is_unevaluated(const struct schema *c, const struct keyword_row *row)
{
	return row->branches == UNEVALUATED && keyword_is_on(row, c->type);
}

/* Return the unevaluated* keyword of a schema for c->type, or NULL. */
static const struct keyword_row *find_unevaluated(const struct schema *c, uint32_t loc,
                                                  const struct json **v)
{
	json_each(m, c->location[loc].v) {
		const struct keyword_row *row = schema_constraint(c, loc, m);

		*v = m;
		if (row && is_unevaluated(c, row))
			return row;
	}
	return NULL;
}

static int kw_unevaluated_apply(struct schema *c, const struct todo *it)
{
	struct branch *x;
	uint32_t to;

	TRY(schema_fork(c, &x));
	if (x->bits == 31)
		return schema_fail(c, INFER_EUNSUP, it->v,
		                   "too many unevaluated keywords hold at once");
	TRY(schema_child(c, it->location, it->v, &to));
	return schema_add_fact(c, x,
	                       &(struct fact){ .kind = FACT_REST,
	                                       .lit = to * 2 + (uint32_t)it->neg,
	                                       .mask = it->mask,
	                                       .evaluates = !it->neg,
	                                       .neg = it->neg,
	                                       .bit = UINT32_C(1) << x->bits++,
	                                       .v = it->v });
}

int kw_unevaluatedItems_apply(struct schema *c, const struct todo *it)
{
	return kw_unevaluated_apply(c, it);
}

int kw_unevaluatedProperties_apply(struct schema *c, const struct todo *it)
{
	return kw_unevaluated_apply(c, it);
}

/* Add all keywords of a schema to x, except unevaluated*. */
static int add_keywords(struct schema *c, struct branch *x, uint32_t loc, uint32_t mask)
{
	json_each(m, c->location[loc].v) {
		const struct keyword_row *row = schema_constraint(c, loc, m);
		enum verdict v;

		if (!row || is_unevaluated(c, row))
			continue;
		v = schema_keyword_verdict(c, loc, m, row, 0);
		x->dead |= v == HOLDS_NEVER;
		if (v == HOLDS_ALWAYS &&
		    (!mask || !keyword_evaluates(row) || !keyword_is_on(row, c->type)))
			continue;
		TRY(schema_add_todo(
			c, x, &(struct todo){ .location = loc, .v = m, .row = row, .mask = mask },
			is_late(row, 0)));
	}
	return INFER_OK;
}

/* Make the branch in which all keywords of a schema hold; v is its unevaluated*. For a negated
 * literal v does not hold, but the others do. */
static int expand_unevaluated(struct schema *c, const struct todo *it,
                              const struct keyword_row *row, const struct json *v)
{
	const struct todo unevaluated = {
		.location = it->lit / 2, .v = v, .row = row, .neg = it->lit & 1, .mask = it->mask
	};

	TRY(row->apply(c, &unevaluated));
	return add_keywords(c, c->newest, it->lit / 2,
	                    it->mask | UINT32_C(1) << (c->newest->bits - 1));
}

static int expand_schema(struct schema *c, const struct todo *it)
{
	const struct json *v;
	const struct keyword_row *row = find_unevaluated(c, it->lit / 2, &v);
	struct branch *x;

	if (row)
		return expand_unevaluated(c, it, row, v);
	TRY(schema_fork(c, &x));
	return add_keywords(c, x, it->lit / 2, it->mask);
}

/* Make a branch for each keyword, in which that keyword does not hold. */
static int expand_negated(struct schema *c, const struct todo *it)
{
	const uint32_t loc = it->lit / 2;
	const struct json *rest;
	const struct keyword_row *unevaluated = find_unevaluated(c, loc, &rest);
	struct branch *x;

	json_each(m, c->location[loc].v) {
		const struct keyword_row *row = schema_constraint(c, loc, m);
		enum verdict v;

		if (!row || is_unevaluated(c, row))
			continue;
		v = schema_keyword_verdict(c, loc, m, row, 0);
		if (v == HOLDS_ALWAYS)
			continue;
		TRY(schema_fork(c, &x));
		if (v == HOLDS_NEVER) { /* every value satisfies this branch */
			c->made = x;
			return INFER_OK;
		}
		TRY(schema_add_todo(c, x,
		                    &(struct todo){ .location = loc, .v = m, .row = row, .neg = 1 },
		                    is_late(row, 1)));
	}
	return unevaluated ? expand_unevaluated(c, it, unevaluated, rest) : INFER_OK;
}

static int expand_literal(struct schema *c, const struct todo *it)
{
	struct branch *x;
	enum verdict v;

	for (const struct todo *d = c->branch->done; d; d = d->next) {
		TRY(work_steps(&c->w, 1));
		if (d->lit == lit_not(it->lit))
			return INFER_OK;
		if (d->lit == it->lit && !(it->mask & ~d->mask))
			return schema_fork(c, &x);
	}
	struct branch with = *c->branch;
	struct todo *mark;

	TRY(work_alloc(&c->w, &mark, 1, sizeof *mark));
	*mark = (struct todo){ .next = with.done, .lit = it->lit, .mask = it->mask };
	with.done = mark;
	c->branch = &with;
	v = schema_verdict(c, it->lit, 0);
	if (v == HOLDS_NEVER)
		return INFER_OK;
	if (v == HOLDS_ALWAYS && !it->mask)
		return schema_fork(c, &x);
	if (c->location[it->lit / 2].constant)
		return schema_constant(c, it);
	if (json_is_bool(c->location[it->lit / 2].v))
		return schema_fork(c, &x);
	return it->lit & 1 ? expand_negated(c, it) : expand_schema(c, it);
}

/* -- branches ------------------------------------------------------------------------------- */

/* Add an alternative of numbers or strings. */
static int add_text(struct schema *c, struct goal *g, const struct alt *like)
{
	const int counts = like->most || like->fewest;

	for (uint32_t i = 0; i < g->n && !counts; i++)
		if (g->alt[i].type == c->type && g->alt[i].text && !g->alt[i].most &&
		    !g->alt[i].fewest) {
			const struct dfa *both;

			TRY(schema_memo(c, MEMO_OR, g->alt[i].text, like->text, &both));
			c->g->goal[c->goal].alt[i].text = both;
			return INFER_OK;
		}
	TRY(work_grow(&c->w, &g->alt, &g->cap, g->n + 1, sizeof *g->alt));
	g->alt[g->n++] = *like;
	return INFER_OK;
}

static int any_text(struct schema *c, const struct dfa **out)
{
	static const struct json any = { .kind = JSON_INT };
	struct dfa *d;

	*out = schema_cached(c, &any, (uint32_t)c->type);
	if (*out)
		return INFER_OK;
	if (c->type == ALT_NUMBER)
		TRY(schema_number(c, NULL, BOUND_NONE, out));
	else {
		TRY(dfa_all(&d, c->w.left, c->w.err));
		TRY(schema_own(c, d, out));
	}
	return schema_cache(c, &any, (uint32_t)c->type, *out);
}

/* Append a branch of numbers or strings to the goal, or to c->collect. */
static int finish_text(struct schema *c, const struct branch *b, struct alt *a)
{
	struct dfa *d;

	a->text = b->text;
	if (!a->text)
		TRY(any_text(c, &a->text));
	if (b->shortest || b->longest != DFA_FOREVER)
		TRY(schema_limit_text(c, b, a));
	if (!a->text)
		return INFER_OK;
	if (c->collect) {
		if (!*c->collect) {
			*c->collect = a->text;
			return INFER_OK;
		}
		TRY(dfa_or(&d, *c->collect, a->text, c->w.left, c->w.err));
		return schema_own(c, d, c->collect);
	}
	if (c->type == ALT_STRING)
		TRY(schema_intersect(c, a->text, c->opts.strings, &a->text));
	if (c->type == ALT_NUMBER && c->plain)
		TRY(schema_plain_numbers(c, a->text, 0, &a->text));
	if (c->type == ALT_NUMBER && c->opts.canonical)
		TRY(schema_canonical_numbers(c, a->text, b->listed, &a->text));
	return add_text(c, c->g->goal + c->goal, a);
}

/* Append a branch without choices to the goal, as an alternative. */
static int finish_branch(struct schema *c, const struct branch *b)
{
	struct alt a = { .type = (uint8_t)c->type };
	struct goal *g;

	if (c->type == ALT_NUMBER || c->type == ALT_STRING)
		return finish_text(c, b, &a);
	if (c->type == ALT_ARRAY)
		TRY(schema_array(c, b, &a));
	else if (c->type == ALT_OBJECT)
		TRY(schema_object(c, b, &a));
	if ((c->type == ALT_ARRAY && !a.array) || (c->type == ALT_OBJECT && !a.object))
		return INFER_OK;
	g = c->g->goal + c->goal;
	TRY(work_grow(&c->w, &g->alt, &g->cap, g->n + 1, sizeof *g->alt));
	g->alt[g->n++] = a;
	/* null, false, true: one alternative is enough */
	if (c->type < ALT_NUMBER && g->n > 1 && g->alt[g->n - 2].type == c->type)
		g->n--;
	return INFER_OK;
}

/* Apply a keyword. If the options are lax, skip one that cannot be enforced. */
static int apply_keyword(struct schema *c, const struct todo *it)
{
	struct branch *x;
	int rc = schema_apply(c, it);

	if (rc != INFER_EUNSUP || !c->opts.lax || c->failed || !c->w.left->steps)
		return rc;
	c->made = NULL;
	schema_ignore(c, it->v);
	return it->neg ? INFER_OK : schema_fork(c, &x);
}

static int expand_branch(struct schema *c, struct branch *b)
{
	if (++c->depth > MOST_DEPTH)
		return err_set(c->w.err, INFER_EUNSUP, "the schema makes too many choices at once");
	for (;;) {
		struct todo *it = b->todo ? b->todo : b->late;
		struct branch *x, *live = NULL, **end = &live;

		if (b->dead || !it)
			break;
		if (b->todo)
			b->todo = it->next;
		else
			b->late = it->next;
		c->branch = b;
		c->made = NULL;
		TRY(it->v ? apply_keyword(c, it) : expand_literal(c, it));
		for (x = c->made; x; x = x->next)
			if (!x->dead) {
				*end = x;
				end = &x->next;
			}
		*end = NULL;
		if (live && !live->next) {
			*b = *live;
			continue;
		}
		for (x = live; x; x = x->next) {
			struct branch one = *x;

			TRY(expand_branch(c, &one));
		}
		c->depth--;
		return INFER_OK;
	}
	c->depth--;
	return b->dead ? INFER_OK : finish_branch(c, b);
}

/* Append the alternatives of one type. closed: objects are closed (schema_opts.closed). */
static int expand_type(struct schema *c, uint32_t goal, enum alt_type type, int closed)
{
	struct branch b = { .max = DFA_FOREVER, .longest = DFA_FOREVER };
	const uint32_t n = c->g->goal[goal].n_lits;

	c->type = type;
	c->goal = goal;
	c->plain = c->g->goal[goal].plain;
	c->depth = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t lit = c->g->goal[goal].lit[i];

		TRY(schema_require(c, &b, lit, closed && !(lit & 1) ? MASK_NAMES : 0));
	}
	return expand_branch(c, &b);
}

int schema_expand(struct schema *c, uint32_t goal)
{
	for (int t = ALT_NULL; t <= ALT_OBJECT; t++)
		TRY(expand_type(c, goal, (enum alt_type)t, c->opts.closed && t == ALT_OBJECT));
	return INFER_OK;
}

int schema_expand_open(struct schema *c, uint32_t goal)
{
	return expand_type(c, goal, ALT_OBJECT, 0);
}

int schema_matching_names(struct schema *c, uint32_t lit, int clip, const struct dfa **out)
{
	const struct schema was = *c;
	struct branch b = { .max = DFA_FOREVER, .longest = DFA_FOREVER };
	const struct dfa *all = NULL;
	struct dfa *none;
	int rc;

	c->type = ALT_STRING;
	c->collect = &all;
	c->clip = clip;
	c->depth = 0;
	rc = schema_require(c, &b, lit, 0);
	if (!rc)
		rc = expand_branch(c, &b);
	c->type = was.type;
	c->collect = was.collect;
	c->clip = was.clip;
	c->depth = was.depth;
	c->made = was.made;
	c->newest = was.newest;
	c->branch = was.branch;
	*out = all;
	if (rc || all)
		return rc;
	TRY(dfa_none(&none, c->w.left, c->w.err));
	return schema_own(c, none, out);
}

/* -- goals ---------------------------------------------------------------------------------- */

static uint32_t sort_literals(uint32_t *lits, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = i; j && lits[j - 1] > lits[j]; j--) {
			uint32_t t = lits[j];

			lits[j] = lits[j - 1];
			lits[j - 1] = t;
		}
	for (uint32_t i = 0; i < n; i++)
		if (lits[i] != LIT_TRUE && lits[i] != lit_not(LIT_FALSE) &&
		    (!k || lits[k - 1] != lits[i]))
			lits[k++] = lits[i];
	return k;
}

int schema_goal(struct schema *c, uint32_t *lits, uint32_t n, uint32_t *goal)
{
	struct grammar *g = c->g;
	uint32_t hash = (uint32_t)c->plain;
	struct htab_slot *s;

	TRY(work_steps(&c->w, (uint64_t)n * n));
	n = sort_literals(lits, n);
	*goal = NOWHERE;
	for (uint32_t i = 0; i < n; i++) {
		if (lits[i] == LIT_FALSE || lits[i] == lit_not(LIT_TRUE) ||
		    (i && lits[i - 1] == lit_not(lits[i])))
			return INFER_OK;
		hash = htab_mix(hash, lits[i]);
	}
	for (s = htab_find(&c->by_lits, hash); s->index != NOWHERE; s = htab_next(&c->by_lits, s)) {
		const struct goal *x = g->goal + s->index;

		TRY(work_steps(&c->w, 1));
		if (x->n_lits == n && x->plain == c->plain &&
		    !memcmp(x->lit, lits, n * sizeof *lits)) {
			*goal = s->index;
			return INFER_OK;
		}
	}
	if (g->n_goals == MOST_GOALS)
		return err_set(c->w.err, INFER_EUNSUP, "the schema is too large");
	TRY(work_grow(&c->w, &g->goal, &g->cap_goals, g->n_goals + 1, sizeof *g->goal));
	*goal = g->n_goals++;
	g->goal[*goal] = (struct goal){ .n_lits = n, .plain = c->plain };
	TRY(work_alloc(&c->w, &g->goal[*goal].lit, (uint64_t)n + 1, sizeof *lits));
	memcpy(g->goal[*goal].lit, lits, n * sizeof *lits);
	return htab_insert(&c->w, &c->by_lits, s, hash, *goal);
}
