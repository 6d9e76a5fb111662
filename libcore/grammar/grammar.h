/* grammar/grammar.h - compile constraints: a JSON Schema (schema/schema.h), GBNF (gbnf/gbnf.h), a
 * regular expression or a choice of texts.
 *
 * A struct grammar is a set of texts; ir/match.h follows a text through it.  Every accepted text
 * satisfies the constraint, and every accepted prefix can be completed.  Not every satisfying text is
 * accepted: see schema/schema.h, automata/number.h and automata/format.h.
 *
 * Budget: automata/budget.h.  The bytes of a grammar stay taken until ir_drop.
 * A grammar is immutable: share it freely.  Errors of all: INFER_EUNSUP (the budget, or as named),
 * INFER_ENOMEM. */
#ifndef GRAMMAR_GRAMMAR_H
#define GRAMMAR_GRAMMAR_H
#include "automata/dfa.h"
#include "gbnf/gbnf.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* Accept the texts that a regular expression matches as a whole (automata/regex.h).
 * INFER_EINVAL  not a regular expression */
int grammar_regex(struct grammar **out, const char *pattern, size_t n, struct budget *left,
                  infer_error *err);
/* Accept exactly these texts.
 * INFER_EINVAL  one is not UTF-8 */
int grammar_choice(struct grammar **out, const struct dfa_word *words, size_t n,
                   struct budget *left, infer_error *err);
#endif
