/* jinja/parse.h (private) - the parser: statements in parse.c, expressions in expr.c. */
#ifndef JINJA_PARSE_H
#define JINJA_PARSE_H
#include "jinja/node.h"

struct jparse {
	struct jinja *t;
	const struct jtok *tok; /* the current one */
	infer_error *err;
	int rc, depth, soft, uses; /* soft: unknown filters fail when they are reached; uses: JM_ */
	int loops;                 /* nesting of loops, for break and continue */
	const struct jnode *unknown; /* an unknown filter or test that must be known */
};
/* NULL */
void *jparse_fail(struct jparse *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));
void *jparse_nomem(struct jparse *p) __attribute__((cold)); /* NULL; keeps an earlier failure */
struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind);
uint32_t jparse_id(struct jparse *p, const char *s, size_t n);
const struct pystr *jparse_str(struct jparse *p, const char *s, size_t n);
int jparse_is(const struct jparse *p, const char *name); /* whether the current token is this
                                                          * name */
int jparse_skip(struct jparse *p, const char *name);
/* 0 and skip it, or nonzero */
int jparse_expect(struct jparse *p, enum jtok_kind kind, const char *what);
struct jnode *jparse_expr(struct jparse *p);
enum { JTUPLE_NO_IF = 1, JTUPLE_TO_IN = 2, JTUPLE_TO_RECURSIVE = 4, JTUPLE_PARENS = 8 };
struct jnode *jparse_tuple(struct jparse *p, int how);
struct jnode *jparse_target(struct jparse *p, int to_in); /* to_in: the target of a loop; else of
                                                           * set */
struct jnode *jparse_filters(struct jparse *p, struct jnode *on, int inline_);
struct jnode *jparse_primary(struct jparse *p);
/* A list that grows by doubling in the template's arena; nonzero: failed. */
int jparse_push(struct jparse *p, struct jnode ***list, uint32_t *n, struct jnode *x);
#endif
