/* gbnf/gbnf.h - rules in GBNF, the form of llama.cpp, as a grammar. */
#ifndef GBNF_GBNF_H
#define GBNF_GBNF_H
#include "ir/ir.h"

/* The rules of llama.cpp's GBNF, of which `root` is the text.  Rules end with their line, unless it
 * is inside parentheses or ends with ::= or |.
 * INFER_EINVAL  not a grammar, with its line; a rule that begins with itself
 * INFER_EUNSUP  rules about tokens; the budget */
int gbnf_compile(struct grammar **out, const char *text, size_t n, struct budget *left,
                 infer_error *err);
#endif
