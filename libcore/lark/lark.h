/* lark/lark.h - compile Lark grammars, as llguidance's page on its syntax defines them.
 *
 * Rules are lower case and context-free, in any form: left recursion is rewritten.  Terminals are upper
 * case, texts or expressions, and are matched as a lexer does: of the terminals that may come next, all
 * are followed at once; a terminal ends only at a byte with which none of them can continue (at the first
 * end, if its rule is `lazy` or has a `suffix`); then all that may end there have ended.  A text of
 * `%ignore` may precede each terminal but the first.
 *
 * Refused by name: priorities, templates, %declare, %override, imports but those of `common`, @grammars,
 * stop, max_tokens, temperature, an %ignore within or around %lark, and what automata/terms.h refuses. */
#ifndef LARK_LARK_H
#define LARK_LARK_H
#include "ir/ir.h"

struct schema_opts;
struct buf;

/* True if the rules of text[0 .. n) are written with `:`, not with `::=`. */
int lark_is(const char *text, size_t n);
/* Compile text[0 .. n); the start rule is `start`.  The caller frees *out with ir_free or ir_drop.
 * json     options of %json
 * ignored  gets the names of attributes and options without effect, each ended by NUL; or NULL
 * INFER_EINVAL  not a grammar; the message names the line
 * INFER_EUNSUP  what is refused; the budget; INFER_ENOMEM */
int lark_compile(struct grammar **out, const char *text, size_t n, const struct schema_opts *json,
                 struct buf *ignored, struct budget *left, infer_error *err);
#endif
