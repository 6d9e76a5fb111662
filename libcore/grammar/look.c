/* grammar/look.c - inspect a constraint: its size, checking a text, sampling texts. */
#include "base/err.h"
#include "ir/ir.h"
#include "ir/sample.h"
#include "grammar/shared.h"

void infer_grammar_size(const infer_grammar *g, struct infer_grammar_size *out)
{
	const struct grammar *c = g->g;

	*out = (struct infer_grammar_size){ .bytes = g->bytes,
		                            .steps = g->steps,
		                            .goals = c->n_goals,
		                            .rule_codes = c->n_code,
		                            .automata = c->n_dfas };
	for (uint32_t i = 0; i < c->n_dfas; i++)
		out->states += c->dfa[i]->n_states;
}

/* Convert the error of an exhausted budget to INFER_EEMPTY. */
static int map_budget(int rc, infer_error *err)
{
	if (rc != INFER_EUNSUP)
		return rc;
	if (err)
		err->code = INFER_EEMPTY;
	return INFER_EEMPTY;
}

int infer_grammar_check(const infer_grammar *g, const char *text, size_t n, int *accepted,
                        size_t *at, infer_error *err)
{
	struct match_state state = { 0 };
	struct match *m;
	int rc;

	*accepted = 0;
	*at = 0;
	rc = match_new(&m, g->g, MATCH_ANY, &g->budget, err);
	if (rc)
		return map_budget(rc, err);
	rc = match_begin(m, &state, err);
	while (!rc && *at < n) {
		/* a file of one line ends with a newline that is not part of the line */
		const int last = *at + 1 == n && text[*at] == '\n' && match_may_end(m, &state);

		rc = match_byte(m, &state, (uint8_t)text[*at], err);
		*accepted = !rc && last;
		if (rc || !match_live(&state))
			break;
		++*at;
	}
	if (!rc && *at == n)
		*accepted |= match_may_end(m, &state);
	*at = *accepted ? n : *at;
	match_drop(m, &state);
	match_free(m);
	return map_budget(rc, err);
}

int infer_grammar_sample(const infer_grammar *g, uint64_t seed, uint64_t draw, uint32_t length,
                         struct buf *out, infer_error *err)
{
	struct match *m;
	int rc;

	rc = match_new(&m, g->g, MATCH_TIDY, &g->budget, err);
	if (!rc)
		rc = match_sample(m, seed, draw, length, out, err);
	match_free(m);
	return map_budget(rc, err);
}
