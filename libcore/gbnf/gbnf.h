/* gbnf/gbnf.h - compile GBNF, the grammar notation of llama.cpp. */
#ifndef GBNF_GBNF_H
#define GBNF_GBNF_H
#include "ir/ir.h"

/* Compile text[0 .. n); the start rule is `root`.  A rule ends with its line, unless the line is inside
 * parentheses or ends with ::= or |.  The caller frees *out with ir_free or ir_drop.
 * INFER_EINVAL  not a grammar (the message names the line), left recursion
 * INFER_EUNSUP  the budget; INFER_ENOMEM */
int gbnf_compile(struct grammar **out, const char *text, size_t n, struct budget *left,
                 infer_error *err);
#endif
