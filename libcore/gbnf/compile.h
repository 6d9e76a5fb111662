/* gbnf/compile.h - (private) a GBNF grammar while it is compiled.  Confined. */
#ifndef GBNF_COMPILE_H
#define GBNF_COMPILE_H
#include "gbnf/gbnf.h"
#include "ir/ir.h"
#include "automata/cpset.h"
#include "automata/work.h"

struct rule {
	const char *name, *used; /* pointers into the text: the name, its first use */
	uint32_t n, start; /* bytes of the name; index of its code, NOWHERE: not defined yet */
	int empty;         /* it can be the empty text */
};

struct gbnf {
	struct work w;
	const char *text, *s, *end; /* s: the current position */
	struct code *code;
	struct rule *rule;
	struct charset *set;
	struct token_set *token_set;
	uint32_t n_code, cap_code, n_rules, cap_rules, n_sets, cap_sets, n_tokens, cap_tokens, root;
};

/* Parse the text to the code of all rules; OP_CALL holds the index of a rule. */
int gbnf_parse(struct gbnf *p);
#endif
