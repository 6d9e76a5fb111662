/* jinja/parse.h (private) - the parser: statements in parse.c, expressions in expr.c.
 *
 * Functions that return a pointer return NULL on failure; the code is in p->rc. */
#ifndef JINJA_PARSE_H
#define JINJA_PARSE_H
#include "jinja/node.h"

struct jparse {
	struct jinja *t;
	const struct jtok *tok; /* the current token */
	infer_error *err;
	int rc, depth;
	int soft;  /* > 0: an unknown filter or test fails only when it is evaluated */
	int uses;  /* JM_ bits of the macro that is parsed */
	int loops; /* nesting of loops, for break and continue */
	const struct jnode *unknown; /* an unknown filter or test with soft 0 */
};
/* Fail with INFER_EFORMAT and the line, unless parsing has failed. */
void *jparse_fail(struct jparse *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));
void *jparse_nomem(struct jparse *p) __attribute__((cold)); /* likewise with INFER_ENOMEM */
struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind);
/* Return the id of a name, which is added if it is new. */
uint32_t jparse_id(struct jparse *p, const char *s, size_t n);
const struct pystr *jparse_str(struct jparse *p, const char *s, size_t n);
int jparse_is(const struct jparse *p, const char *name); /* true if `name` is current */
/* Skip the current token if it is this name; returns 1 if it was. */
int jparse_skip(struct jparse *p, const char *name);
/* Skip a token of this kind and return 0, or fail ("expected `what`") and return 1. */
int jparse_expect(struct jparse *p, enum jtok_kind kind, const char *what);
struct jnode *jparse_expr(struct jparse *p);
enum { JTUPLE_NO_IF = 1, JTUPLE_TO_IN = 2, JTUPLE_TO_RECURSIVE = 4, JTUPLE_PARENS = 8 };
struct jnode *jparse_tuple(struct jparse *p, int how);
/* Parse a target: of a loop if to_in, otherwise of set. */
struct jnode *jparse_target(struct jparse *p, int to_in);
struct jnode *jparse_filters(struct jparse *p, struct jnode *on, int inline_);
struct jnode *jparse_primary(struct jparse *p);
/* Append x to a list in the template's arena. Returns 1 on failure. */
int jparse_push(struct jparse *p, struct jnode ***list, uint32_t *n, struct jnode *x);
#endif
