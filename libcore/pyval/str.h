/* pyval/str.h - strings that grow, values as text, and iteration.  Confined. */
#ifndef PYVAL_STR_H
#define PYVAL_STR_H
#include "pyval/value.h"

/* A string that grows.  Failures are in r->rc; pysb_done gives them back. */
struct pysb {
	struct pyrun *r;
	char *at;
	uint8_t *mask; /* where from is PY_FROM_MIXED */
	size_t len, cap;
	uint8_t from;
};
void pysb_put(struct pysb *b, const char *s, size_t n,
              enum py_origin from); /* from: not PY_FROM_MIXED */
void pysb_lit(struct pysb *b, const char *s);
void pysb_cp(struct pysb *b, uint32_t cp, enum py_origin from);
void pysb_fill(struct pysb *b, const struct pystr *s, size_t times);
void pysb_sub(struct pysb *b, const struct pystr *s, size_t at, size_t n);
static inline void pysb_str(struct pysb *b, const struct pystr *s) { pysb_sub(b, s, 0, s->len); }
int pysb_done(struct pysb *b, struct pyval *out);
void py_text(struct pysb *b, struct pyval v); /* str(v) */
void py_repr(struct pysb *b, struct pyval v);
int py_to_str(struct pyrun *r, struct pyval v,
              const struct pystr **s);          /* str(v); a string is itself */
void py_float_repr(char out[40], double f);     /* repr(f) */
const char *py_int_repr(char s[40], int64_t i); /* its digits, in s */
static inline enum py_origin pystr_origin(const struct pystr *s, size_t at)
{
	return s->from == PY_FROM_MIXED ? (enum py_origin)s->mask[at] : (enum py_origin)s->from;
}

/* Python's int(); 1: not a number */
int pystr_int(struct pyrun *r, const struct pystr *s, int base, int64_t *v);
int pystr_float(struct pyrun *r, const struct pystr *s, double *f); /* 1: not a number */

/* Iteration, as Python's iter() and next(). */
struct pyiter {
	struct pyval src;
	size_t i;
};
int pyiter_init(struct pyrun *r, struct pyiter *it, struct pyval v);
/* 1: an item; 0: the end, or r->rc */
int pyiter_next(struct pyrun *r, struct pyiter *it, struct pyval *out);
int py_to_list(struct pyrun *r, struct pyval *out, struct pyval v);
#endif
