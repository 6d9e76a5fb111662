/* ir/match_step.c - advance literals, numbers, strings and arrays by a byte. */
#include "ir/match_step.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

/* -- building ------------------------------------------------------------------------------- */

int step_charge(struct step *s, uint64_t n)
{
	if (n > s->left)
		return err_set(s->err, INFER_EUNSUP,
		               "the constraint needs more than %llu steps here",
		               (unsigned long long)s->m->steps);
	s->left -= n;
	return INFER_OK;
}

int step_add(struct step *s, struct stack_item *n)
{
	int rc = step_charge(s, s->out.n / 8 + 1);

	if (!rc)
		rc = match_reserve(s->m, &s->out, s->out.n + 1, s->err);
	for (uint32_t i = 0; i < s->out.n && !rc; i++)
		if (s->out.top[i] == n) {
			stack_drop(&s->m->stacks, n);
			return INFER_OK;
		}
	if (rc)
		stack_drop(&s->m->stacks, n);
	else
		s->out.top[s->out.n++] = n;
	return rc;
}

int step_intern(struct step *s, struct stack_item **out, enum item_kind kind, struct stack_item *up,
                struct stack_item *side, const uint32_t *data, uint32_t n)
{
	struct stack_item like = {
		.up = up, .side = side, .kind = (uint16_t)kind, .n = (uint16_t)n
	};

	TRY(step_charge(s, 1 + n / 4));
	return stack_intern(out, &s->m->stacks, &like, data, s->err);
}

int step_push(struct step *s, enum item_kind kind, struct stack_item *up, struct stack_item *side,
              const uint32_t *data, uint32_t n)
{
	struct stack_item *x;

	TRY(step_intern(s, &x, kind, up, side, data, n));
	return step_add(s, x);
}

int step_space(const struct match *m, uint8_t b, uint32_t *spaces)
{
	if (m->spaces == MATCH_ANY)
		return b == ' ' || b == '\t' || b == '\n' || b == '\r';
	if (*spaces == SPACE_ANY && (b == ' ' || b == '\n')) {
		*spaces = b == ' ' ? SPACE_NONE : NEWLINE;
		return 1;
	}
	if (*spaces >= NEWLINE && *spaces < NEWLINE + MATCH_INDENT && (b == ' ' || b == '\t')) {
		++*spaces;
		return 1;
	}
	return 0;
}

/* -- values --------------------------------------------------------------------------------- */

/* Advance a number; `shortest` is the state of alt.plain. */
static int push_number(struct step *s, struct stack_item *up, uint32_t goal, uint32_t k,
                       uint32_t state, uint32_t shortest, uint8_t b)
{
	const struct alt *a = s->g->goal[goal].alt + k;
	uint32_t d[] = { goal, k, DFA_DEAD, DFA_DEAD };

	if (b >= 0x80)
		return INFER_OK;
	d[2] = dfa_step(a->text, state, b);
	if (a->plain)
		d[3] = dfa_step(a->plain, shortest, b);
	return dfa_live(d[2]) ? step_push(s, ITEM_NUMBER, up, NULL, d, a->plain ? 4 : 3) : INFER_OK;
}

/* Begin a value of alternative k. */
static int begin_alt(struct step *s, uint32_t goal, uint32_t k, struct stack_item *up, uint8_t b)
{
	static const char first[] = { [ALT_NULL] = 'n', [ALT_FALSE] = 'f', [ALT_TRUE] = 't' };
	const struct alt *a = s->g->goal[goal].alt + k;

	switch ((enum alt_type)a->type) {
	case ALT_NUMBER:
		return push_number(s, up, goal, k, a->text->start, a->plain ? a->plain->start : 0,
		                   b);
	case ALT_STRING:
		return b == '"' ? step_push(s, ITEM_STRING, up, NULL,
		                            (const uint32_t[]){ goal, k, a->text->start, 0, 0,
		                                                a->most ? a->most : DFA_FAR,
		                                                a->fewest },
		                            a->most || a->fewest ? NEED + 1 : LEFT)
		                : INFER_OK;
	case ALT_ARRAY:
		return b == '[' ? STEP_PUSH(s, a->array->unique ? ITEM_UNIQUE_ARRAY : ITEM_ARRAY,
		                            up, NULL, a->shape, AT_FIRST, SPACE_ANY, 0, 0)
		                : INFER_OK;
	case ALT_OBJECT: {
		uint32_t *d = s->m->scratch;
		const uint32_t words = a->object->n_slots / 32 + 1;

		if (b != '{')
			return INFER_OK;
		memset(d, 0, (SEEN + words) * sizeof *d);
		d[SHAPE] = a->shape;
		d[EXTRA] = a->object->needs;
		return step_push(s, ITEM_OBJECT, up, NULL, d, SEEN + words);
	}
	case ALT_NULL:
	case ALT_FALSE:
	case ALT_TRUE:
		return b == first[a->type] ? STEP_PUSH(s, ITEM_LITERAL, up, NULL, a->type, 1)
		                           : INFER_OK;
	}
	return INFER_OK;
}

static int begin_value(struct step *s, uint32_t goal, struct stack_item *up, uint8_t b)
{
	for (uint32_t k = 0; k < s->g->goal[goal].n; k++) {
		TRY(step_charge(s, 1));
		TRY(begin_alt(s, goal, k, up, b));
	}
	return INFER_OK;
}

static int step_value(struct step *s, struct stack_item *top, uint8_t b)
{
	uint32_t spaces = top->data[1];

	if (step_space(s->m, b, &spaces))
		return STEP_PUSH(s, ITEM_VALUE, top->up, NULL, top->data[0], spaces);
	return begin_value(s, top->data[0], top->up, b);
}

static int step_literal(struct step *s, struct stack_item *top, uint8_t b)
{
	static const char *const text[] = { "null", "false", "true" };
	const char *t = text[top->data[0]];
	const uint32_t at = top->data[1];

	if (b != (uint8_t)t[at])
		return INFER_OK;
	if (!t[at + 1])
		return step_end_value(s, top->up);
	return STEP_PUSH(s, ITEM_LITERAL, top->up, NULL, top->data[0], at + 1);
}

int item_is_in_string(const struct stack_item *n)
{
	while (n->kind == ITEM_ELEMENT)
		n = n->side;
	return n->kind == ITEM_STRING || n->kind == ITEM_SLOT_KEY || n->kind == ITEM_CLASS_KEY;
}

const struct stack_item *item_after_end(const struct grammar *g, const struct stack_item *n)
{
	if (n->kind == ITEM_NUMBER && dfa_accepts(item_dfa(g, n), n->data[2]))
		n = n->up;
	while (n->kind == ITEM_RULE && g->code_ends && !n->data[1] && g->code_ends[n->data[0]])
		n = n->up;
	return n;
}

const struct dfa *item_dfa(const struct grammar *g, const struct stack_item *n)
{
	return g->goal[n->data[0]].alt[n->data[1]].text;
}

static int step_number(struct step *s, struct stack_item *top, uint8_t b)
{
	const uint32_t *d = top->data;

	TRY(push_number(s, top->up, d[0], d[1], d[2], top->n > 3 ? d[3] : 0, b));
	if (!dfa_accepts(item_dfa(s->g, top), d[2]))
		return INFER_OK;
	return step_stack(s, top->up, b);
}

int step_can_continue(const struct dfa *d, uint32_t state, const struct decoder *dec, struct span n)
{
	struct dfa_range r[DECODE_RANGES];

	for (int i = decode_ranges(dec, r); i--;)
		if (dfa_reaches(d, state, r[i].lo, r[i].hi, n))
			return 1;
	return 0;
}

int step_utf8(const struct dfa *d, uint32_t *state, struct decoder *dec, uint8_t b)
{
	uint32_t cp;

	switch (decode_utf8(dec, b, &cp)) {
	case DECODE_CHAR:
		*state = dfa_step(d, *state, cp);
		return dfa_live(*state);
	case DECODE_MORE:
		return step_can_continue(d, *state, dec, SPAN_ANY);
	default:
		return 0;
	}
}

static int step_string(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct dfa *d = item_dfa(s->g, top);
	struct decoder dec = { top->data[3], top->data[4] };
	struct span n = item_span(top);
	uint32_t state = top->data[2], cp;

	switch (step_decode(s->m, &dec, b, &cp)) {
	case DECODE_BAD:
		return INFER_OK;
	case DECODE_QUOTE:
		return dfa_accepts(d, state) && !n.least ? step_end_value(s, top->up) : INFER_OK;
	case DECODE_MORE:
		if (!n.most || !step_can_continue(d, state, &dec, span_after(n)))
			return INFER_OK;
		break;
	default:
		state = dfa_step(d, state, cp);
		if (!n.most || !dfa_spans(d, state, n = span_after(n)))
			return INFER_OK;
	}
	return step_push(s, ITEM_STRING, top->up, NULL,
	                 (const uint32_t[]){ top->data[0], top->data[1], state, dec.mode, dec.acc,
	                                     n.most, n.least },
	                 top->n);
}

/* -- arrays --------------------------------------------------------------------------------- */

/* Add a stack for each option of the next element; b >= 0: the element begins with this byte. */
static int begin_item(struct step *s, struct stack_item *top, int b)
{
	const struct array_shape *a = s->g->array[top->data[SHAPE]];
	const uint32_t n = top->data[COUNT], next = n < a->steady ? n + 1 : n;
	const struct options *o = a->item + (n < a->n_prefix ? n : a->n_prefix);

	if (n >= a->max)
		return INFER_OK;
	for (uint32_t i = 0; i < o->n; i++) {
		const uint32_t c = array_count(a, top->data[EXTRA], o->at[i].adds);
		struct stack_item *after;
		int rc;

		TRY(step_charge(s, 1));
		if (c == NOWHERE || !array_can_complete(a, next, c))
			continue;
		TRY(step_intern(
			s, &after, top->kind, top->up, top->side,
			(const uint32_t[]){ top->data[SHAPE], AT_AFTER, SPACE_NONE, next, c }, 5));
		if (top->kind == ITEM_UNIQUE_ARRAY)
			rc = step_begin_element(s, after, o->at[i].goal, b);
		else
			rc = b < 0 ? STEP_PUSH(s, ITEM_VALUE, after, NULL, o->at[i].goal, SPACE_ANY)
			           : begin_value(s, o->at[i].goal, after, (uint8_t)b);
		stack_drop(&s->m->stacks, after);
		TRY(rc);
	}
	return INFER_OK;
}

static int step_array(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct array_shape *a = s->g->array[top->data[SHAPE]];
	uint32_t spaces = top->data[SPACES];

	if (step_space(s->m, b, &spaces))
		return STEP_PUSH(s, top->kind, top->up, top->side, top->data[SHAPE],
		                 top->data[WHERE], spaces, top->data[COUNT], top->data[EXTRA]);
	if (b == ']')
		return array_may_end(a, top->data[COUNT], top->data[EXTRA])
		               ? step_end_value(s, top->up)
		               : INFER_OK;
	if (top->data[WHERE] == AT_FIRST)
		return begin_item(s, top, b);
	return b == ',' ? begin_item(s, top, -1) : INFER_OK;
}

/* -- all ------------------------------------------------------------------------------------ */

int step_stack(struct step *s, struct stack_item *top, uint8_t b)
{
	uint32_t spaces = SPACE_NONE;

	TRY(step_charge(s, 1));
	switch ((enum item_kind)top->kind) {
	case ITEM_DONE:
		if (s->g->code || !step_space(s->m, b, &spaces))
			return INFER_OK;
		return step_add(s, stack_ref(top));
	case ITEM_HOLE:
		return INFER_OK;
	case ITEM_RULE:
		return step_rule(s, top, b);
	case ITEM_TEXT:
		return step_text(s, top, b);
	case ITEM_PART_TEXT:
		return step_part_text(s, top, b);
	case ITEM_LEX:
	case ITEM_SKIP:
		return step_lex(s, top, b);
	case ITEM_VALUE:
		return step_value(s, top, b);
	case ITEM_LITERAL:
		return step_literal(s, top, b);
	case ITEM_NUMBER:
		return step_number(s, top, b);
	case ITEM_STRING:
		return step_string(s, top, b);
	case ITEM_SLOT_KEY:
		return step_slot_key(s, top, b);
	case ITEM_CLASS_KEY:
		return step_class_key(s, top, b);
	case ITEM_COLON:
		return step_colon(s, top, b);
	case ITEM_ARRAY:
	case ITEM_UNIQUE_ARRAY:
		return step_array(s, top, b);
	case ITEM_ELEMENT:
		return step_element(s, top, b);
	case ITEM_OBJECT:
		return step_object(s, top, b);
	case ITEM_CHAR: /* never on top of a stack */
	case ITEM_NAME:
	case ITEM_ELEMENT_TEXT:
	case ITEM_BYTES:
	case ITEM_LEX_SET:
	case ITEM_SEEN:
		break;
	}
	return INFER_OK;
}
