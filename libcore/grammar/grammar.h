/* grammar/grammar.h - constraints: what may be written, by a JSON Schema, by rules, by a regular
 * expression or by a choice of texts.
 *
 * What it is.  A struct grammar is a language of texts.  ir/match.h follows a text through
 * one, byte by byte.  It is exact in one direction: what it accepts satisfies the schema by the
 * standard, and every prefix that it admits can be completed.  What a schema allows and this leaves
 * out is named in schema/schema.h, automata/number.h and automata/format.h: some spellings of numbers.
 *
 * Budget.  As in dfa.h; what a constraint takes stays taken until ir_drop.
 * A grammar is immutable: share it freely. */
#ifndef GRAMMAR_GRAMMAR_H
#define GRAMMAR_GRAMMAR_H
#include "automata/dfa.h"
#include "gbnf/gbnf.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* The texts that the whole of a regular expression matches (automata/regex.h).
 * INFER_EINVAL  not a regular expression */
int grammar_regex(struct grammar **out, const char *pattern, size_t n, struct budget *left,
                  infer_error *err);
/* Exactly these texts.
 * INFER_EINVAL  one is not UTF-8 */
int grammar_choice(struct grammar **out, const struct dfa_word *words, size_t n,
                   struct budget *left, infer_error *err);
#endif
