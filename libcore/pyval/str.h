/* pyval/str.h - string builders, conversion to and from text, iteration.  Confined. */
#ifndef PYVAL_STR_H
#define PYVAL_STR_H
#include "pyval/value.h"

/* A string builder. Initialise it with { .r = r }. Failures are recorded in r->rc. */
struct pysb {
	struct pyrun *r;
	char *at;
	uint8_t *mask; /* [len] if from is PY_FROM_MIXED */
	size_t len, cap;
	uint8_t from;
};
/* Append bytes; from: not PY_FROM_MIXED. */
void pysb_put(struct pysb *b, const char *s, size_t n, enum py_origin from);
void pysb_lit(struct pysb *b, const char *s); /* text of this program */
void pysb_cp(struct pysb *b, uint32_t cp, enum py_origin from);
/* Append s `times` times. */
void pysb_fill(struct pysb *b, const struct pystr *s, size_t times);
/* Append the bytes s[at .. at + n) with their origin. */
void pysb_sub(struct pysb *b, const struct pystr *s, size_t at, size_t n);
static inline void pysb_str(struct pysb *b, const struct pystr *s) { pysb_sub(b, s, 0, s->len); }
/* Make a value of the string, without a copy. Returns r->rc. */
int pysb_done(struct pysb *b, struct pyval *out);
void py_text(struct pysb *b, struct pyval v); /* append str(v) */
void py_repr(struct pysb *b, struct pyval v); /* append repr(v) */
/* Return str(v) in *s; a string is not copied. */
int py_to_str(struct pyrun *r, struct pyval v, const struct pystr **s);
void py_float_repr(char out[40], double f);     /* repr(f) */
const char *py_int_repr(char s[40], int64_t i); /* repr(i), somewhere in s */
/* Return the origin of byte `at`. */
static inline enum py_origin pystr_origin(const struct pystr *s, size_t at)
{
	return s->from == PY_FROM_MIXED ? (enum py_origin)s->mask[at] : (enum py_origin)s->from;
}

/* int(s, base). Returns 0; 1 if s is not an integer; or the code of the run. */
int pystr_int(struct pyrun *r, const struct pystr *s, int base, int64_t *v);
int pystr_float(struct pyrun *r, const struct pystr *s, double *f); /* float(s), returns likewise */

/* Iteration, as Python's iter() and next(). */
struct pyiter {
	struct pyval src;
	size_t i;
};
/* Begin to iterate; fails if v is not iterable. An undefined value is empty. */
int pyiter_init(struct pyrun *r, struct pyiter *it, struct pyval v);
/* Return 1 and the next item, or 0 at the end or on failure (r->rc). */
int pyiter_next(struct pyrun *r, struct pyiter *it, struct pyval *out);
/* list(v) */
int py_to_list(struct pyrun *r, struct pyval *out, struct pyval v);
#endif
