/* ir/match_rule.c - advance texts under rules, or under one automaton. */
#include "ir/match_step.h"
#include "base/err.h"
#include "automata/work.h"

/* Return the first range that does not end before cp. */
static uint32_t find_set_range(const struct charset *s, uint32_t cp)
{
	uint32_t a = 0, b = s->n;

	while (a < b) {
		const uint32_t mid = (a + b) / 2;

		if (s->at[mid].hi < cp)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

int charset_has(const struct charset *s, uint32_t lo, uint32_t hi)
{
	const uint32_t i = find_set_range(s, lo);

	return i < s->n && s->at[i].lo <= hi;
}

int charset_covers(const struct charset *s, uint32_t lo, uint32_t hi)
{
	const uint32_t i = find_set_range(s, lo);

	return i < s->n && s->at[i].lo <= lo && s->at[i].hi >= hi;
}

/* Add code[pc] to the work list e, at most once per byte, so that empty repetitions end. */
static int add_entry(struct step *s, struct match_state *e, uint32_t pc, struct stack_item *up)
{
	struct stack_item *x;

	if (pc == NOWHERE || !s->g->code_live[pc])
		return INFER_OK;
	TRY(step_intern(s, &x, ITEM_RULE, up, NULL, (const uint32_t[]){ pc, 0, 0 }, 3));
	for (uint32_t i = 0; i < e->n; i++)
		if (e->top[i] == x) {
			stack_drop(&s->m->stacks, x);
			return step_charge(s, i / 8);
		}
	int rc = match_reserve(s->m, e, e->n + 1, s->err);

	if (rc)
		stack_drop(&s->m->stacks, x);
	else
		e->top[e->n++] = x;
	return rc;
}

/* Follow one entry of the work list. */
static int follow_entry(struct step *s, struct match_state *e, struct stack_item *x)
{
	const uint32_t pc = x->data[0];
	const struct code *c = s->g->code + pc;
	struct stack_item *after;
	int rc;

	switch (c->op) {
	case OP_CHAR:
	case OP_BYTE:
	case OP_TOKEN:
		return step_add(s, stack_ref(x));
	case OP_LEX:
		return STEP_PUSH(s, ITEM_LEX, x->up, NULL, pc, s->g->plain[c->a]->start, 0, 0, 0);
	case OP_SPLIT:
		TRY(add_entry(s, e, c->a, x->up));
		return add_entry(s, e, c->b, x->up);
	case OP_JUMP:
		return add_entry(s, e, c->a, x->up);
	case OP_END:
		if (x->up->kind == ITEM_DONE || x->up->kind == ITEM_HOLE)
			return step_add(s, stack_ref(x->up));
		return add_entry(s, e, x->up->data[0], x->up->up);
	case OP_TEXT:
		TRY(step_begin_text(s, x));
		return dfa_accepts(s->g->plain[c->a], s->g->plain[c->a]->start)
		               ? add_entry(s, e, pc + 1, x->up)
		               : INFER_OK;
	case OP_CALL:
	case OP_VALUE:
		break;
	}
	/* a tail call: lists of any length need no stack */
	uint32_t next = pc + 1;

	while (s->g->code[next].op == OP_JUMP)
		next = s->g->code[next].a;
	if (s->g->code[next].op == OP_END)
		after = stack_ref(x->up);
	else
		TRY(step_intern(s, &after, ITEM_RULE, x->up, NULL, (const uint32_t[]){ next, 0, 0 },
		                3));
	rc = c->op == OP_VALUE ? STEP_PUSH(s, ITEM_VALUE, after, NULL, c->a, SPACE_NONE)
	                       : add_entry(s, e, c->a, after);
	stack_drop(&s->m->stacks, after);
	return rc;
}

int step_enter_rule(struct step *s, uint32_t pc, struct stack_item *up)
{
	struct match_state e = { 0 };
	int rc = add_entry(s, &e, pc, up);

	for (uint32_t i = 0; i < e.n && !rc; i++) {
		rc = step_charge(s, 1);
		if (!rc)
			rc = follow_entry(s, &e, e.top[i]);
	}
	match_drop(s->m, &e);
	return rc;
}

int step_rule(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct code *c = s->g->code + top->data[0];
	struct decoder dec = { top->data[1], top->data[2] };
	const struct charset *set;
	struct dfa_range r[DECODE_RANGES];
	uint32_t cp;

	if (c->op == OP_BYTE)
		return b == c->a ? step_enter_rule(s, top->data[0] + 1, top->up) : INFER_OK;
	if (c->op == OP_TOKEN)
		return INFER_OK;
	if (c->op != OP_CHAR)
		return step_after_value(s, top, b);
	set = s->g->set + c->a;
	switch (decode_utf8(&dec, b, &cp)) {
	case DECODE_CHAR:
		if (!charset_has(set, cp, cp))
			return INFER_OK;
		return step_enter_rule(s, top->data[0] + 1, top->up);
	case DECODE_MORE:
		for (int i = decode_ranges(&dec, r); i--;)
			if (charset_has(set, r[i].lo, r[i].hi))
				return STEP_PUSH(s, ITEM_RULE, top->up, NULL, top->data[0],
				                 dec.mode, dec.acc);
		return INFER_OK;
	default:
		return INFER_OK;
	}
}

int step_text(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct dfa *d = s->g->text;
	struct decoder dec = { top->data[1], top->data[2] };
	uint32_t state = top->data[0];

	if (!step_utf8(d, &state, &dec, b))
		return INFER_OK;
	return STEP_PUSH(s, ITEM_TEXT, top->up, NULL, state, dec.mode, dec.acc);
}
