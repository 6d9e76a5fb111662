/* automata/regex_rust.h - (private) the parser of Rust's expressions.  Confined; memory and errors as in
 * work.h. */
#ifndef AUTOMATA_REGEX_RUST_H
#define AUTOMATA_REGEX_RUST_H
#include "automata/regex_tree.h"

enum { RUST_FOLD = 1, RUST_DOT_ALL = 2, RUST_VERBOSE = 4, RUST_UNICODE = 8, RUST_LINES = 16 };

struct rust {
	struct regex *x;
	const char *s, *first; /* the current position; the beginning */
	unsigned flags;
};

/* Fail as regex_bad. */
int rust_bad(const struct rust *r, const char *at, int code, const char *what);
/* Add the characters of the escape (\...) or class ([...]) at r->s to s, and move r->s after it. */
int rust_escape(struct rust *r, struct cpset *s);
int rust_class(struct rust *r, uint32_t depth, struct cpset *s);
#endif
