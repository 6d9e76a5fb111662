/* tests/unit/automata/sound.h - what holds for every automaton, from its definition. */
#ifndef TESTS_SOUND_H
#define TESTS_SOUND_H
#include "automata/dfa.h"
#include "equal.h"
#include "base/err.h"
#include <string.h>

#define PLENTY \
	(struct budget) { BUDGET_STEPS, BUDGET_BYTES }

/* Numbers of states and classes are canonical, distances and flags are what they say.  No two
 * states are equivalent: for small automata, by comparing all pairs. */
static void sound_order(const struct dfa *d)
{
	uint32_t classes = 0, states = d->start + 1;

	assert_int_equal(d->start, d->n_states > 1 ? DFA_START : DFA_DEAD);
	assert_int_equal(d->from[0], 0);
	for (uint32_t i = 0; i < d->n_ranges; i++) {
		assert_true(d->range_class[i] <= classes);
		classes += d->range_class[i] == classes;
		assert_true(!i || (d->from[i] > d->from[i - 1] &&
		                   d->range_class[i] != d->range_class[i - 1]));
		assert_true(d->from[i] < 0xd800 || d->from[i] >= 0xe000);
	}
	assert_int_equal(classes, d->n_classes);
	for (uint32_t s = 1; s < d->n_states; s++)
		for (uint32_t c = 0; c < d->n_classes; c++) {
			uint32_t to = d->next[(size_t)s * d->n_classes + c];

			assert_true(to <= states && to < d->n_states);
			states += to == states;
		}
	assert_int_equal(states, d->n_states);
	for (uint32_t cp = 0; cp < 300; cp++)
		assert_int_equal(dfa_class(d, cp), dfa_class_beyond(d, cp));
}

static void sound_distance(const struct dfa *d)
{
	for (uint32_t s = 0; s < d->n_states; s++) {
		const uint32_t *row = d->next + (size_t)s * d->n_classes;
		uint32_t least = DFA_FOREVER, most = 0, same = 0;

		for (uint32_t c = 0; c < d->n_classes; c++) {
			uint32_t to = row[c];

			if (d->least[to] != DFA_FOREVER && d->least[to] + 1 < least)
				least = d->least[to] + 1;
			if (to && d->greatest[to] == DFA_FOREVER)
				most = DFA_FOREVER;
			else if (to && d->greatest[to] + 1 > most)
				most = d->greatest[to] + 1;
			same += to == s;
		}
		if (dfa_accepts(d, s))
			least = 0;
		assert_int_equal(d->least[s], least);
		assert_int_equal(d->greatest[s], most);
		assert_int_equal(dfa_live(s), least != DFA_FOREVER);
		assert_int_equal((d->flags[s] & DFA_ALL) != 0,
		                 dfa_accepts(d, s) && same == d->n_classes);
	}
}

/* differ[a][b] by the definition: one accepts, or a character leads to two that differ. */
static void sound_minimal(const struct dfa *d)
{
	static uint8_t differ[64][64];
	int more = 1;

	if (d->n_states > 64)
		return;
	for (uint32_t a = 0; a < d->n_states; a++)
		for (uint32_t b = 0; b < d->n_states; b++)
			differ[a][b] = dfa_accepts(d, a) != dfa_accepts(d, b);
	while (more) {
		more = 0;
		for (uint32_t a = 0; a < d->n_states; a++)
			for (uint32_t b = 0; b < a; b++)
				for (uint32_t c = 0; c < d->n_classes && !differ[a][b]; c++)
					if (differ[d->next[a * d->n_classes + c]]
					          [d->next[b * d->n_classes + c]])
						differ[a][b] = differ[b][a] = (uint8_t)(more = 1);
	}
	for (uint32_t a = 0; a < d->n_states; a++)
		for (uint32_t b = 0; b < a; b++)
			assert_true(differ[a][b]);
	for (uint32_t a = 0; a < d->n_classes; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t s = 0;

			while (s < d->n_states &&
			       d->next[s * d->n_classes + a] == d->next[s * d->n_classes + b])
				s++;
			assert_true(s < d->n_states);
		}
}

__attribute__((unused)) static void sound(const struct dfa *d)
{
	sound_order(d);
	sound_distance(d);
	sound_minimal(d);
}
#endif
