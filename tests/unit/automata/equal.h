/* tests/unit/automata/equal.h - whether two automata accept the same language. */
#ifndef TESTS_EQUAL_H
#define TESTS_EQUAL_H
#include <string.h>
#include "automata/dfa.h"

/* They are minimal and canonical, so their tables are equal. */
static inline int dfa_equal(const struct dfa *a, const struct dfa *b)
{
	const size_t table = (size_t)a->n_states * a->n_classes;

	return a->n_states == b->n_states && a->n_classes == b->n_classes &&
	       a->n_ranges == b->n_ranges &&
	       !memcmp(a->from, b->from, a->n_ranges * sizeof *a->from) &&
	       !memcmp(a->range_class, b->range_class, a->n_ranges * sizeof *a->range_class) &&
	       !memcmp(a->next, b->next, table * sizeof *a->next) &&
	       !memcmp(a->flags, b->flags, a->n_states);
}
#endif
