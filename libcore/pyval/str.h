/* pyval/str.h - strings that grow, values as text, and iteration.  Confined. */
#ifndef PYVAL_STR_H
#define PYVAL_STR_H
#include "pyval/value.h"

/* A string that grows.  Failures are in r->rc; jsb_done gives them back. */
struct jsb {
	struct jrun *r;
	char *at;
	uint8_t *mask; /* where from is JFROM_MIXED */
	size_t len, cap;
	uint8_t from;
};
void jsb_put(struct jsb *b, const char *s, size_t n, enum jfrom from); /* from: not JFROM_MIXED */
void jsb_lit(struct jsb *b, const char *s);
void jsb_cp(struct jsb *b, uint32_t cp, enum jfrom from);
void jsb_fill(struct jsb *b, const struct jstr *s, size_t times);
void jsb_sub(struct jsb *b, const struct jstr *s, size_t at, size_t n);
static inline void jsb_str(struct jsb *b, const struct jstr *s) { jsb_sub(b, s, 0, s->len); }
int jsb_done(struct jsb *b, struct jv *out);
void jv_text(struct jsb *b, struct jv v); /* str(v) */
void jv_repr(struct jsb *b, struct jv v);
int jv_to_str(struct jrun *r, struct jv v, const struct jstr **s); /* str(v); a string is itself */
void jinja_float(char out[40], double f);                          /* repr(f) */
const char *jinja_int(char s[40], int64_t i);                      /* its digits, in s */
static inline enum jfrom jstr_from(const struct jstr *s, size_t at)
{
	return s->from == JFROM_MIXED ? (enum jfrom)s->mask[at] : (enum jfrom)s->from;
}

/* Python's int(); 1: not a number */
int jstr_int(struct jrun *r, const struct jstr *s, int base, int64_t *v);
int jstr_float(struct jrun *r, const struct jstr *s, double *f); /* 1: not a number */

/* Iteration, as Python's iter() and next(). */
struct jiter {
	struct jv src;
	size_t i;
};
int jiter_init(struct jrun *r, struct jiter *it, struct jv v);
/* 1: an item; 0: the end, or r->rc */
int jiter_next(struct jrun *r, struct jiter *it, struct jv *out);
int jv_to_list(struct jrun *r, struct jv *out, struct jv v);
#endif
