/* ir/match_part.c - advance texts within constraints of parts. */
#include "ir/match_step.h"
#include "base/err.h"
#include "automata/work.h"

/* decoder mode: after a \ that escapes the next " */
enum { ESCAPED = 0x100 };

int step_end_value(struct step *s, struct stack_item *up)
{
	return up->kind == ITEM_RULE ? step_enter_rule(s, up->data[0], up->up)
	                             : step_add(s, stack_ref(up));
}

int step_after_value(struct step *s, struct stack_item *up, uint8_t b)
{
	struct step in = { s->m, s->g, s->left, { 0 }, s->err };
	int rc = step_enter_rule(&in, up->data[0], up->up);

	if (!rc && s->g->lexed)
		rc = step_add_skips(&in);
	s->left = in.left;
	for (uint32_t i = 0; i < in.out.n && !rc; i++)
		rc = step_stack(s, in.out.top[i], b);
	match_drop(s->m, &in.out);
	return rc;
}

int step_begin_text(struct step *s, const struct stack_item *x)
{
	const struct dfa *d = s->g->plain[s->g->code[x->data[0]].a];

	return d->greatest[d->start]
	               ? STEP_PUSH(s, ITEM_PART_TEXT, x->up, NULL, x->data[0], d->start, 0, 0)
	               : INFER_OK;
}

/* After a complete character: continue the text, and if it may end, enter the code after it. */
static int push_text_state(struct step *s, struct stack_item *top, uint32_t state)
{
	const struct dfa *d = s->g->plain[s->g->code[top->data[0]].a];

	if (!dfa_live(state))
		return INFER_OK;
	if (d->greatest[state])
		TRY(STEP_PUSH(s, ITEM_PART_TEXT, top->up, NULL, top->data[0], state, 0, 0));
	return dfa_accepts(d, state) ? step_enter_rule(s, top->data[0] + 1, top->up) : INFER_OK;
}

int step_part_text(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct code *c = s->g->code + top->data[0];
	const struct dfa *d = s->g->plain[c->a];
	struct decoder dec = { top->data[2], top->data[3] };
	const uint32_t state = top->data[1];
	uint32_t cp;

	if (c->b && dec.mode == ESCAPED)
		return b == '"' ? push_text_state(s, top, dfa_step(d, state, b)) : INFER_OK;
	if (c->b && !dec.mode && b == '"')
		return INFER_OK;
	if (c->b && !dec.mode && b == '\\')
		return dfa_live(dfa_step(d, state, '"'))
		               ? STEP_PUSH(s, ITEM_PART_TEXT, top->up, NULL, top->data[0], state,
		                           ESCAPED, 0)
		               : INFER_OK;
	switch (decode_utf8(&dec, b, &cp)) {
	case DECODE_CHAR:
		return push_text_state(s, top, dfa_step(d, state, cp));
	case DECODE_MORE:
		return step_can_continue(d, state, &dec, SPAN_ANY)
		               ? STEP_PUSH(s, ITEM_PART_TEXT, top->up, NULL, top->data[0], state,
		                           dec.mode, dec.acc)
		               : INFER_OK;
	default:
		return INFER_OK;
	}
}
