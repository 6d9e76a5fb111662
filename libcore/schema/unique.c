/* schema/unique.c - uniqueItems: count the values that elements may have.
 *
 * While an array is generated, each prefix must be completable with an element that is not in it
 * yet. If an element has infinitely many values, this is certain. If it has few, the parser counts
 * or searches them. So this file decides for the goals of elements, and for goals nested in them,
 * whether they have infinitely many values. */
#include "schema/compile.h"
#include "base/err.h"

struct survey {
	struct schema *c;
	struct grammar *g;
	uint8_t *in, *few; /* [n_goals] 1: nested in an element; 1: finitely many values */
	uint32_t *todo, n_todo;
	uint32_t *seen;             /* scratch of object_can_begin_with, zero */
	const struct alt **counted; /* alternatives with different automata */
	uint32_t n_counted, cap_counted;
};

static void reach_options(struct survey *y, const struct options *o)
{
	for (uint32_t i = 0; i < o->n; i++) {
		const uint32_t goal = o->at[i].goal;

		if (y->in[goal])
			continue;
		y->in[goal] = 1;
		y->todo[y->n_todo++] = goal;
	}
}

static void reach_items(struct survey *y, const struct array_shape *a)
{
	for (uint32_t i = 0; i <= a->n_prefix; i++)
		reach_options(y, a->item + i);
}

/* Return the automaton with one word for each value. */
static const struct dfa *values_of(const struct alt *a) { return a->plain ? a->plain : a->text; }

static int count_text(struct survey *y, struct alt *a)
{
	if (a->type == ALT_NUMBER)
		TRY(schema_plain_numbers(y->c, a->text, 1, &a->plain));
	TRY(work_steps(&y->c->w, y->n_counted + 1));
	for (uint32_t i = 0; i < y->n_counted; i++)
		if (values_of(y->counted[i]) == values_of(a)) {
			a->count = y->counted[i]->count;
			return INFER_OK;
		}
	TRY(schema_followers(y->c, values_of(a), &a->count));
	TRY(work_grow(&y->c->w, &y->counted, &y->cap_counted, y->n_counted + 1,
	              sizeof *y->counted));
	y->counted[y->n_counted++] = a;
	return INFER_OK;
}

static int reach_all(struct survey *y)
{
	for (uint32_t i = 0; i < y->c->n_unique; i++)
		reach_items(y, y->c->unique[i].array);
	while (y->n_todo) {
		const struct goal *goal = y->g->goal + y->todo[--y->n_todo];

		for (uint32_t k = 0; k < goal->n; k++) {
			struct alt *a = goal->alt + k;

			TRY(work_steps(&y->c->w, 1));
			if (a->text)
				TRY(count_text(y, a));
			else if (a->array)
				reach_items(y, a->array);
			for (uint32_t s = 0; a->object && s < a->object->n_slots; s++)
				reach_options(y, &a->object->slot[s].value);
			for (uint32_t s = 0; a->object && s < a->object->n_classes; s++)
				reach_options(y, &a->object->class[s].value);
		}
	}
	return INFER_OK;
}

/* -- goals with few values ----------------------------------------------------------------- */

static int few_options(const struct survey *y, const struct options *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (!y->few[o->at[i].goal])
			return 0;
	return 1;
}

/* Return an upper bound of the number of elements. */
static uint32_t most_of(const struct array_shape *a) { return a->can ? a->max : a->most; }

static int few_arrays(const struct survey *y, const struct array_shape *a)
{
	for (uint32_t i = 0; i <= a->n_prefix && i < most_of(a); i++)
		if (!few_options(y, a->item + i))
			return 0;
	return a->unique || most_of(a) != DFA_FOREVER;
}

static int few_members(const struct survey *y, const struct object_shape *o, uint32_t slot,
                       const struct options *value)
{
	return few_options(y, value) ||
	       (!o->easy && !object_can_begin_with(y->g, o, slot, value, y->seen));
}

static int few_objects(const struct survey *y, const struct object_shape *o)
{
	for (uint32_t i = 0; i < o->n_slots; i++)
		if (!few_members(y, o, i, &o->slot[i].value))
			return 0;
	for (uint32_t i = 0; i < o->n_classes; i++) {
		const struct key_class *k = o->class + i;

		if (k->value.n && !dfa_is_finite(k->names) &&
		    (o->easy || object_can_begin_with(y->g, o, NOWHERE, &k->value, y->seen)))
			return 0;
		if (!few_members(y, o, NOWHERE, &k->value))
			return 0;
	}
	return 1;
}

static int few_values(const struct survey *y, const struct goal *goal)
{
	for (uint32_t k = 0; k < goal->n; k++) {
		const struct alt *a = goal->alt + k;

		if (a->text && (!a->count || a->count[values_of(a)->start] == UINT64_MAX))
			return 0;
		if ((a->array && !few_arrays(y, a->array)) ||
		    (a->object && !few_objects(y, a->object)))
			return 0;
	}
	return 1;
}

/* Count the values of a goal; 0: unknown, because some are arrays or objects. */
static uint64_t count_values(const struct goal *goal)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < goal->n; k++) {
		const struct alt *a = goal->alt + k;

		if (a->array || a->object)
			return 0;
		if (__builtin_add_overflow(n, a->text ? a->count[values_of(a)->start] : 1, &n))
			return UINT64_MAX / 2;
	}
	return n;
}

/* Find the goals with finitely many values, as a least fixpoint: a recursive goal is assumed to
 * have infinitely many. */
static int survey_goals(struct survey *y)
{
	for (int more = 1; more;) {
		more = 0;
		for (uint32_t i = 0; i < y->g->n_goals; i++) {
			TRY(work_steps(&y->c->w, 1 + (y->in[i] ? y->g->goal[i].n : 0)));
			if (!y->in[i] || y->few[i] || !few_values(y, y->g->goal + i))
				continue;
			more = y->few[i] = 1;
		}
	}
	for (uint32_t i = 0; i < y->g->n_goals; i++)
		if (y->in[i])
			y->g->goal[i].values =
				y->few[i] ? count_values(y->g->goal + i) : UINT64_MAX;
	return INFER_OK;
}

/* -- arrays that can stay unique ------------------------------------------------------------ */

/* True if element i has a value for every choice of the elements before it. */
static int always_has_value(const struct survey *y, const struct array_shape *a, uint32_t i)
{
	const struct options *o = a->item + (i < a->n_prefix ? i : a->n_prefix);

	for (uint32_t k = 0; k < o->n; k++)
		if (y->g->goal[o->at[k].goal].values <= i)
			return 0;
	return 1;
}

static int check_array(struct survey *y, const struct unique *u)
{
	const struct array_shape *a = u->array;

	for (uint32_t i = 0; i <= a->n_prefix && i < most_of(a); i++) {
		/* of the elements after the prefix, the last that is required */
		const uint32_t at = i == a->n_prefix && a->min > i ? a->min - 1 : i;
		const struct options *o = a->item + i;

		TRY(work_steps(&y->c->w, o->n + 1));
		for (uint32_t k = 0; k < o->n && a->n_counters; k++)
			if (y->g->goal[o->at[k].goal].values != UINT64_MAX)
				return schema_fail(y->c, INFER_EUNSUP, u->v,
				                   "is not supported with contains if there "
				                   "are few values");
		if (at && at < a->min && !always_has_value(y, a, at))
			return schema_fail(y->c, INFER_EUNSUP, u->v,
			                   "is not supported if minItems requires many of few "
			                   "values");
	}
	return INFER_OK;
}

int schema_unique(struct schema *c)
{
	struct grammar *g = c->g;
	struct survey y = { .c = c, .g = g };
	uint32_t most = 0;

	TRY(ir_prune(&c->w, g));
	for (uint32_t i = 0; i < g->n_objects; i++)
		most = g->object[i]->n_slots > most ? g->object[i]->n_slots : most;
	TRY(work_alloc(&c->w, &y.in, (uint64_t)g->n_goals + 1, 1));
	TRY(work_alloc(&c->w, &y.few, (uint64_t)g->n_goals + 1, 1));
	TRY(work_alloc(&c->w, &y.todo, (uint64_t)g->n_goals + 1, sizeof *y.todo));
	TRY(work_alloc(&c->w, &y.seen, (uint64_t)most / 32 + 1, sizeof *y.seen));
	TRY(reach_all(&y));
	TRY(survey_goals(&y));
	for (uint32_t i = 0; i < c->n_unique; i++)
		TRY(check_array(&y, c->unique + i));
	return INFER_OK;
}
