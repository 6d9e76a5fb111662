/* gbnf/compile.h - (private) a grammar of rules while it is compiled.  Confined. */
#ifndef GBNF_COMPILE_H
#define GBNF_COMPILE_H
#include "gbnf/gbnf.h"
#include "ir/ir.h"
#include "automata/cpset.h"
#include "automata/work.h"

struct rule {
	const char *name, *used; /* where it is first used */
	uint32_t n, start;
	int empty; /* it can be the empty text */
};

struct gbnf {
	struct work w;
	const char *text, *s, *end;
	struct code *code;
	struct rule *rule;
	struct charset *set;
	uint32_t n_code, cap_code, n_rules, cap_rules, n_sets, cap_sets, root;
};

/* The code of all rules. */
int gbnf_parse(struct gbnf *p);
#endif
