/* schema/limit.c - limits on the length of strings: counted, or made part of the automaton. */
#include "schema/compile.h"
#include "base/err.h"

/* Set a->deep and a->high. */
static int measure_states(struct schema *c, struct alt *a)
{
	const struct dfa *d = a->text;

	for (uint32_t s = 1; s < d->n_states; s++) {
		const uint32_t far = d->greatest[s];

		a->deep = d->least[s] > a->deep ? d->least[s] : a->deep;
		if (far != DFA_FOREVER && far >= a->high)
			a->high = far + 1;
	}
	return work_steps(&c->w, d->n_states / 8);
}

/* Return the most characters of a text that has n characters after the first one; or 0 if the state
 * `to` does not lead to it. */
static uint64_t reach_through(const struct dfa *d, uint32_t to, uint64_t n)
{
	const uint32_t far = d->greatest[to];

	if (!dfa_live(to) || d->least[to] > n || (far != DFA_FOREVER && far < n))
		return 0;
	return far == DFA_FOREVER ? UINT64_MAX : (uint64_t)far + 1;
}

/* True if words of every length between the shortest and the longest lead from the state to an end, if
 * that is so of the states that follow it. */
static int has_no_gap(const struct dfa *d, uint32_t state)
{
	const uint32_t *next = d->next + (size_t)state * d->n_classes;
	const uint64_t far = d->greatest[state] == DFA_FOREVER ? UINT64_MAX : d->greatest[state];
	/* all lengths up to n are found */
	uint64_t n = d->least[state] ? d->least[state] - 1 : 0;

	while (n < far) {
		uint64_t best = 0;

		for (uint32_t i = 0; i < d->n_classes && best < far; i++) {
			const uint64_t to = reach_through(d, next[i], n);

			best = to > best ? to : best;
		}
		if (best <= n)
			return 0;
		n = best;
	}
	return 1;
}

/* Set *yes if from each state, words have all lengths between the shortest and the longest: then two
 * limits can be counted apart. */
static int has_all_lengths(struct schema *c, const struct dfa *d, int *yes)
{
	TRY(work_steps(&c->w, (uint64_t)d->n_states * d->n_classes / 8));
	*yes = 1;
	for (uint32_t s = 1; s < d->n_states && *yes; s++)
		*yes = has_no_gap(d, s);
	return INFER_OK;
}

/* Make a limit, of the keyword v, part of the automaton. NULL: no string is left. */
static int narrow_text(struct schema *c, struct alt *a, const struct json *v,
                       enum string_bound kind, int neg)
{
	const struct dfa *lengths;

	TRY(schema_string(c, v, kind, neg, &lengths));
	TRY(schema_intersect(c, a->text, lengths, &a->text));
	if (dfa_is_none(a->text))
		a->text = NULL;
	return INFER_OK;
}

/* True if the automaton of strings of at most n characters is too large to be worth it. */
static int is_large(const struct dfa *d, uint32_t n)
{
	/* states of the automaton that is worth it, and for limits of few tokens */
	enum { SMALL = 1 << 11, MEDIUM = 1 << 15, FEW = 256 };

	return (uint64_t)d->n_states * n > (n <= FEW ? MEDIUM : SMALL);
}

int schema_limit_text(struct schema *c, const struct branch *b, struct alt *a)
{
	const struct dfa *d = a->text;
	const int can_count = !c->collect && !c->plain && !c->opts.strings;
	uint32_t far = d->greatest[d->start];
	const int above = b->shortest > d->least[d->start], below = b->longest < far;
	int apart = can_count;

	if (d->least[d->start] > b->longest || far < b->shortest || b->shortest > b->longest) {
		a->text = NULL;
		return INFER_OK;
	}
	if (above && below && can_count)
		TRY(has_all_lengths(c, d, &apart));
	if (above && apart)
		a->fewest = b->shortest;
	else if (above)
		TRY(narrow_text(c, a, b->floor,
		                b->floor_neg ? STRING_MAX_LENGTH : STRING_MIN_LENGTH,
		                b->floor_neg));
	if (a->text && a->text->least[a->text->start] > b->longest)
		a->text = NULL;
	if (!a->text || !below)
		return a->fewest ? measure_states(c, a) : INFER_OK;
	if (can_count && (a->fewest || is_large(a->text, b->longest))) {
		a->most = b->longest;
		return measure_states(c, a);
	}
	if (c->collect && c->clip && b->longest > SCHEMA_NAME_MOST &&
	    a->text->least[a->text->start] <= SCHEMA_NAME_MOST) {
		const struct dfa *lengths;

		TRY(schema_short_strings(c, b->limit, SCHEMA_NAME_MOST, &lengths));
		return schema_intersect(c, a->text, lengths, &a->text);
	}
	return narrow_text(c, a, b->limit, b->limit_neg ? STRING_MIN_LENGTH : STRING_MAX_LENGTH,
	                   b->limit_neg);
}
