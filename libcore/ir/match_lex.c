/* ir/match_lex.c - lexed grammars: terminals as a lexer reads them.
 *
 * The stacks of a state begin their terminals together.  A byte first continues terminals: those that
 * cannot continue are dropped, also those that could end.  If none can, those that may end have ended, and
 * the byte begins the terminals that follow them.  A terminal that reads the shortest text ends as soon as
 * it can, and all others with it. */
#include "ir/match_step.h"
#include "base/err.h"
#include "automata/work.h"

const struct dfa *lex_dfa(const struct grammar *g, const struct stack_item *n)
{
	return g->plain[n->kind == ITEM_SKIP ? g->skip : g->code[n->data[LEX_PC]].a];
}

static int is_lexeme(const struct stack_item *n)
{
	return n->kind == ITEM_LEX || n->kind == ITEM_SKIP;
}

/* True if the terminal or skipped text may end here, also before its first byte: then a text is skipped next
 * even at the beginning. */
static int is_complete(const struct grammar *g, const struct stack_item *n)
{
	return is_lexeme(n) && !n->data[LEX_MODE] && dfa_accepts(lex_dfa(g, n), n->data[LEX_STATE]);
}

int step_lex(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct dfa *d = lex_dfa(s->g, top);
	struct decoder dec = { top->data[LEX_MODE], top->data[LEX_ACC] };
	uint32_t state = top->data[LEX_STATE];

	if (!step_utf8(d, &state, &dec, b))
		return INFER_OK;
	return STEP_PUSH(s, (enum item_kind)top->kind, top->up, NULL, top->data[LEX_PC], state,
	                 dec.mode, dec.acc, 1);
}

/* True if ignored text may precede what the stack expects: of a terminal nothing has been read; never a value. */
static int is_fresh(const struct grammar *g, const struct stack_item *n)
{
	switch (n->kind) {
	case ITEM_DONE:
		return 1;
	case ITEM_LEX:
		return !n->data[LEX_BEGUN];
	case ITEM_RULE:
		return g->code[n->data[0]].op == OP_TOKEN;
	default:
		return 0;
	}
}

int step_add_skips(struct step *s)
{
	const uint32_t n = s->out.n;
	int some = 0;

	if (s->g->skip == NOWHERE)
		return INFER_OK;
	for (uint32_t i = 0; i < n; i++)
		some |= s->out.top[i]->kind == ITEM_LEX && is_fresh(s->g, s->out.top[i]);
	for (uint32_t i = 0; i < n && some; i++)
		if (is_fresh(s->g, s->out.top[i]))
			TRY(STEP_PUSH(s, ITEM_SKIP, s->out.top[i], NULL, 0,
			              s->g->plain[s->g->skip]->start, 0, 0, 0));
	return INFER_OK;
}

int step_end_lexemes(struct step *s, const struct match_state *at)
{
	int skipped = 0;

	for (uint32_t i = 0; i < at->n; i++)
		skipped |= at->top[i]->kind == ITEM_SKIP && is_complete(s->g, at->top[i]);
	for (uint32_t i = 0; i < at->n; i++) {
		struct stack_item *n = at->top[i];

		if (!is_complete(s->g, n) || skipped != (n->kind == ITEM_SKIP))
			continue;
		if (skipped)
			TRY(step_add(s, stack_ref(n->up)));
		else
			TRY(step_enter_rule(s, n->data[LEX_PC] + 1, n->up));
	}
	return skipped && s->g->skip_once ? INFER_OK : step_add_skips(s);
}

static int step_all(struct step *s, const struct match_state *at, uint8_t b)
{
	for (uint32_t i = 0; i < at->n; i++)
		TRY(step_stack(s, at->top[i], b));
	return INFER_OK;
}

/* End the terminals that read the shortest text, and with them all others. */
static int end_lazy(struct step *s)
{
	struct match_state was = s->out;
	int rc = INFER_OK, some = 0;

	for (uint32_t i = 0; i < was.n; i++)
		some |= was.top[i]->kind == ITEM_LEX && is_complete(s->g, was.top[i]) &&
		        s->g->code[was.top[i]->data[LEX_PC]].b;
	if (!some)
		return INFER_OK;
	s->out = (struct match_state){ 0 };
	for (uint32_t i = 0; i < was.n && !rc; i++) {
		const struct stack_item *n = was.top[i];

		if (n->kind == ITEM_LEX && is_complete(s->g, n) && s->g->code[n->data[LEX_PC]].b)
			rc = step_enter_rule(s, n->data[LEX_PC] + 1, n->up);
	}
	match_drop(s->m, &was);
	return rc;
}

int step_lexed_state(struct step *s, const struct match_state *at, uint8_t b)
{
	TRY(step_all(s, at, b));
	if (!s->out.n) {
		struct step ended = { s->m, s->g, s->left, { 0 }, s->err };
		int rc = step_end_lexemes(&ended, at);

		s->left = ended.left;
		if (!rc)
			rc = step_all(s, &ended.out, b);
		match_drop(s->m, &ended.out);
		TRY(rc);
	}
	TRY(end_lazy(s));
	return step_add_skips(s);
}

/* True if the stack has read its text, or needs nothing more after the terminal on top. */
static int ends_here(const struct grammar *g, const struct stack_item *n)
{
	if (n->kind == ITEM_LEX) {
		if (!is_complete(g, n) || !g->code_ends[n->data[LEX_PC] + 1])
			return 0;
		n = n->up;
	}
	return item_after_end(g, n)->kind == ITEM_DONE;
}

int lexed_may_end(const struct match *m, const struct match_state *at)
{
	int skipped = 0;

	for (uint32_t i = 0; i < at->n; i++)
		skipped |= at->top[i]->kind == ITEM_SKIP && is_complete(m->g, at->top[i]);
	for (uint32_t i = 0; i < at->n; i++) {
		const struct stack_item *n = at->top[i];

		if (n->kind == ITEM_SKIP ? is_complete(m->g, n) && n->up->kind == ITEM_DONE
		                         : !skipped && ends_here(m->g, n))
			return 1;
	}
	return 0;
}

/* -- tokens --------------------------------------------------------------------------------- */

void match_set_tokens(struct match *m, const uint64_t *bits, uint32_t words)
{
	m->tokens = bits;
	m->token_words = words;
}

static const uint64_t *wanted_set(const struct match *m, const struct stack_item *n)
{
	const struct code *c = n->kind == ITEM_RULE ? m->g->code + n->data[0] : NULL;

	return m->tokens && c && c->op == OP_TOKEN ? m->tokens + (size_t)c->a * m->token_words
	                                           : NULL;
}

/* Set s->out to the stacks that OP_TOKEN may be on top of. */
static int find_waiting(struct step *s, const struct match_state *at)
{
	if (s->g->lexed)
		TRY(step_end_lexemes(s, at));
	for (uint32_t i = 0; i < at->n; i++)
		if (wanted_set(s->m, at->top[i]))
			TRY(step_add(s, stack_ref(at->top[i])));
	return INFER_OK;
}

int match_wants(struct match *m, const struct match_state *at, uint64_t *wants, int *some,
                infer_error *err)
{
	struct step s = { m, m->g, m->steps, { 0 }, err };
	int rc = INFER_OK;

	*some = 0;
	if (!m->tokens)
		return INFER_OK;
	rc = find_waiting(&s, at);
	for (uint32_t i = 0; i < s.out.n && !rc; i++) {
		const uint64_t *set = wanted_set(m, s.out.top[i]);

		for (uint32_t w = 0; set && wants && w < m->token_words; w++)
			wants[w] |= set[w];
		*some |= set != NULL;
	}
	match_drop(m, &s.out);
	return rc;
}

/* Add the stacks after a token that a set has. */
static int step_token(struct step *s, const struct match_state *at, uint32_t id)
{
	struct step waiting = { s->m, s->g, s->left, { 0 }, s->err };
	int rc = find_waiting(&waiting, at);

	s->left = waiting.left;
	for (uint32_t i = 0; i < waiting.out.n && !rc; i++) {
		const struct stack_item *n = waiting.out.top[i];
		const uint64_t *set = wanted_set(s->m, n);

		if (set && id / 64 < s->m->token_words && (set[id / 64] >> id % 64 & 1))
			rc = step_enter_rule(s, n->data[0] + 1, n->up);
	}
	match_drop(s->m, &waiting.out);
	return rc || !s->g->lexed ? rc : step_add_skips(s);
}

int match_token(struct match *m, struct match_state *at, uint32_t id, int control,
                const char *bytes, size_t n, infer_error *err)
{
	struct step s = { m, m->g, m->steps, { 0 }, err };
	int rc = m->tokens ? step_token(&s, at, id) : INFER_OK;

	if (!rc && control)
		rc = match_byte(m, at, 0xff, err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = match_byte(m, at, (uint8_t)bytes[i], err);
	if (!s.out.n || rc) {
		match_drop(m, &s.out);
		return rc;
	}
	for (uint32_t i = 0; i < at->n && n && !rc; i++)
		rc = step_add(&s, stack_ref(at->top[i]));
	if (rc) {
		match_drop(m, &s.out);
		return rc;
	}
	match_drop(m, at);
	*at = s.out;
	return INFER_OK;
}
