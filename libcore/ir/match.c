/* ir/match.c - parser states: begin, copy, advance, drop. */
#include "ir/match_step.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

/* Memory that a matcher reserves; unused pages cost nothing. */
enum { RESERVED = 1 << 20 };

int match_new_in_slab(struct match **out, const struct grammar *g, enum match_spaces spaces,
                      const struct budget *most, struct slab *slab, infer_error *err)
{
	uint32_t words = 16;
	struct match *m;
	int rc;

	*out = NULL;
	for (uint32_t i = 0; i < g->n_objects; i++)
		if (g->object[i]->n_slots / 32 + 16 > words)
			words = g->object[i]->n_slots / 32 + 16;
	m = mem_zalloc(MEM_GRAMMAR, 1, sizeof *m + words * sizeof(uint32_t));
	if (!m || (!slab && slab_init(&m->own, MEM_GRAMMAR,
	                              most->bytes < RESERVED ? most->bytes : RESERVED))) {
		mem_free(m);
		return err_nomem(err);
	}
	m->g = g;
	m->spaces = spaces;
	m->steps = most->steps;
	m->scratch = (uint32_t *)(m + 1);
	m->slab = slab ? slab : &m->own;
	rc = stacks_init(&m->stacks, most->bytes, m->slab, err);
	if (rc) {
		slab_fini(&m->own);
		mem_free(m);
	} else {
		*out = m;
	}
	return rc;
}

int match_new(struct match **out, const struct grammar *g, enum match_spaces spaces,
              const struct budget *most, infer_error *err)
{
	return match_new_in_slab(out, g, spaces, most, NULL, err);
}

void match_free(struct match *m)
{
	if (!m)
		return;
	while (m->n_spare)
		slab_free(m->slab, m->spare[--m->n_spare].top);
	stacks_fini(&m->stacks);
	slab_fini(&m->own);
	mem_free(m);
}

static void clear_state(struct match *m, struct match_state *at)
{
	while (at->n)
		stack_drop(&m->stacks, at->top[--at->n]);
}

void match_drop(struct match *m, struct match_state *at)
{
	clear_state(m, at);
	if (at->top && m->n_spare < MATCH_SPARES)
		m->spare[m->n_spare++] = *at;
	else
		slab_free(m->slab, at->top);
	*at = (struct match_state){ 0 };
}

int match_reserve(struct match *m, struct match_state *at, uint32_t n, infer_error *err)
{
	uint32_t cap;
	struct stack_item **top;

	if (!at->top && m->n_spare)
		*at = m->spare[--m->n_spare];
	if (n <= at->cap)
		return INFER_OK;
	cap = at->cap * 2 > n ? at->cap * 2 : n;
	cap = cap < 8 ? 8 : cap;
	top = slab_realloc(m->slab, at->top, cap, sizeof *top);
	if (!top)
		return err_nomem(err);
	at->top = top;
	at->cap = cap;
	return INFER_OK;
}

int match_copy(struct match *m, struct match_state *to, const struct match_state *from,
               infer_error *err)
{
	TRY(match_reserve(m, to, from->n, err));
	for (uint32_t i = 0; i < from->n; i++)
		stack_ref(from->top[i]);
	clear_state(m, to);
	if (from->n)
		memcpy(to->top, from->top, from->n * sizeof *to->top);
	to->n = from->n;
	return INFER_OK;
}

int match_same(const struct match_state *a, const struct match_state *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->top, b->top, a->n * sizeof *a->top));
}

int match_begin(struct match *m, struct match_state *at, infer_error *err)
{
	struct step s = { m, m->g, m->steps, { 0 }, err };
	struct stack_item *done;
	int rc;

	rc = step_intern(&s, &done, ITEM_DONE, NULL, NULL, NULL, 0);
	if (rc)
		return rc;
	if (ir_is_none(m->g))
		rc = INFER_OK;
	else if (m->g->text)
		rc = STEP_PUSH(&s, ITEM_TEXT, done, NULL, m->g->text->start, 0, 0);
	else if (m->g->code)
		rc = step_enter_rule(&s, m->g->root, done);
	else
		rc = STEP_PUSH(&s, ITEM_VALUE, done, NULL, m->g->root,
		               m->spaces == MATCH_ANY ? SPACE_ANY : SPACE_NONE);
	if (!rc && m->g->lexed && m->g->skip_first)
		rc = step_add_skips(&s);
	stack_drop(&m->stacks, done);
	if (rc) {
		match_drop(m, &s.out);
		return rc;
	}
	match_drop(m, at);
	*at = s.out;
	return INFER_OK;
}

int match_byte(struct match *m, struct match_state *at, uint8_t byte, infer_error *err)
{
	struct step s = { m, m->g, m->steps, { 0 }, err };

	int rc = m->g->lexed ? step_lexed_state(&s, at, byte) : INFER_OK;

	for (uint32_t i = 0; i < at->n && !m->g->lexed && !rc; i++)
		rc = step_stack(&s, at->top[i], byte);
	if (rc) {
		match_drop(m, &s.out);
		return rc;
	}
	match_drop(m, at);
	*at = s.out;
	return INFER_OK;
}

int match_may_end(const struct match *m, const struct match_state *at)
{
	if (m->g->lexed)
		return lexed_may_end(m, at);
	for (uint32_t i = 0; i < at->n; i++) {
		const struct stack_item *n = item_after_end(m->g, at->top[i]);

		if (n->kind == ITEM_DONE)
			return 1;
		if (n->kind == ITEM_TEXT && !n->data[1] && dfa_accepts(m->g->text, n->data[0]))
			return 1;
	}
	return 0;
}
