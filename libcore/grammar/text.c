/* grammar/text.c - constraints of one automaton: a regular expression, a choice of texts. */
#include "base/err.h"
#include "grammar/grammar.h"
#include "ir/ir.h"
#include "automata/regex.h"
#include "automata/work.h"

/* Make a grammar that owns the automaton; frees it on failure. */
static int wrap_dfa(struct grammar **out, struct dfa *d, struct budget *left, infer_error *err)
{
	struct grammar *g;
	struct work w;
	int rc;

	work_begin(&w, "the constraint", left, err);
	w.mem.who = MEM_GRAMMAR;
	rc = work_alloc(&w, &g, 1, sizeof *g);
	if (!rc)
		rc = work_grow(&w, &g->dfa, &g->cap_dfas, 1, sizeof *g->dfa);
	if (rc) {
		work_end(&w);
		dfa_drop(d, left);
		return rc;
	}
	g->dfa[g->n_dfas++] = g->text = d;
	g->mem = w.mem;
	g->bytes = w.taken;
	*out = g;
	return INFER_OK;
}

int grammar_regex(struct grammar **out, const char *pattern, size_t n, struct budget *left,
                  infer_error *err)
{
	struct dfa *d;

	*out = NULL;
	TRY(regex_dfa(&d, pattern, n, REGEX_WHOLE, left, err));
	return wrap_dfa(out, d, left, err);
}

int grammar_choice(struct grammar **out, const struct dfa_word *words, size_t n,
                   struct budget *left, infer_error *err)
{
	struct dfa *d;

	*out = NULL;
	TRY(dfa_words(&d, words, n, left, err));
	return wrap_dfa(out, d, left, err);
}
