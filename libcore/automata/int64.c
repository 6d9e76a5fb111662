/* automata/int64.c - the integers of 64 bits in their shortest notation. */
#include "automata/number.h"
#include "automata/work.h"

enum { DIGITS = 19 };
/* classes of characters: 0 are all others, then the minus sign and the digits */
enum { MINUS = 1, ZERO };

static void add_transition(struct draft *m, uint32_t from, uint32_t class, uint32_t to)
{
	m->next[(size_t)from * m->classes.n_classes + class] = to;
}

/* Add the transitions of the digits lo ... hi. */
static void add_digits(struct draft *m, uint32_t from, int lo, int hi, uint32_t to)
{
	for (int i = lo; i <= hi; i++)
		add_transition(m, from, ZERO + (uint32_t)i, to);
}

/* Add the numbers 1 ... most after state `from`. any[n]: the state before up to n digits. */
static int add_up_to(struct work *w, struct draft *m, const char *most, const uint32_t *any,
                     uint32_t from)
{
	for (int i = 0; i < DIGITS; i++) {
		const int digit = most[i] - '0';
		uint32_t equal;

		TRY(draft_state(w, m, 1, &equal));
		/* after a smaller digit the number may have DIGITS digits, after a greater one less */
		add_digits(m, from, i == 0, digit - 1, any[DIGITS - 1 - i]);
		add_digits(m, from, digit, digit, equal);
		if (i < DIGITS - 1)
			add_digits(m, from, digit + 1, 9, any[DIGITS - 2 - i]);
		from = equal;
	}
	return INFER_OK;
}

static int build_int64(struct dfa **out, struct work *w)
{
	static const uint32_t characters[] = {
		'-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'
	};
	uint32_t any[DIGITS], sign;
	struct draft m = { 0 };

	TRY(classes_each(w, &m.classes, characters, sizeof characters / sizeof *characters));
	for (int i = 0; i < DIGITS; i++) {
		TRY(draft_state(w, &m, 1, any + i));
		if (i)
			add_digits(&m, any[i], 0, 9, any[i - 1]);
	}
	TRY(draft_state(w, &m, 0, &m.start));
	TRY(draft_state(w, &m, 0, &sign));
	add_transition(&m, m.start, MINUS, sign);
	add_transition(&m, m.start, ZERO, any[0]);
	TRY(add_up_to(w, &m, "9223372036854775807", any, m.start));
	TRY(add_up_to(w, &m, "9223372036854775808", any, sign));
	return draft_finish(out, w, &m);
}

int number_int64(struct dfa **out, struct budget *left, infer_error *err)
{
	struct work w;
	int rc;

	*out = NULL;
	work_begin(&w, "an integer", left, err);
	rc = build_int64(out, &w);
	work_end(&w);
	return rc;
}
