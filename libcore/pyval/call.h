/* pyval/call.h - functions with Python's arguments, methods, attributes, items, slices, sorting.
 * Confined.
 *
 * All functions that return int: INFER_OK, or the code of the run. */
#ifndef PYVAL_CALL_H
#define PYVAL_CALL_H
#include "pyval/str.h"

enum { PY_ARGS_MAX = 8 };
struct pycall {
	struct pyval self; /* the value that is filtered or tested, or whose method is called */
	struct pyval *pos, *kw;    /* [n] positional, [nkw] keyword arguments */
	const struct pystr **name; /* [nkw] */
	uint32_t n, nkw;
	struct pyval a[PY_ARGS_MAX]; /* in the order of fn->args; PY_MISSING if not given */
};
struct pyfn {
	const char *name;
	int (*call)(struct pyrun *r, struct pycall *c, struct pyval *out);
	const char *args; /* names of arguments, separated by spaces; NULL: positional only */
	uint8_t need;     /* number of required arguments */
	uint8_t mutates;
};
/* Assign the arguments of c to fn->args and call fn. Fails as Python does if they do not fit. */
int pyfn_call(struct pyrun *r, const struct pyfn *fn, struct pycall *c, struct pyval *out);
/* Find a function by name in a table that ends with a row without a name; NULL: not found. */
const struct pyfn *pyfn_find(const struct pyfn *table, const char *name, size_t n);
/* Convert an argument to an integer; PY_MISSING and None give `absent`. */
int py_int_arg(struct pyrun *r, struct pyval v, int64_t absent, int64_t *i);
extern const struct pyfn py_str_methods[];

/* A value that has no such attribute or item gives an undefined value. */
int py_attr(struct pyrun *r, struct pyval v, const struct pystr *name,
            struct pyval *out);                                                    /* v.name */
int py_item(struct pyrun *r, struct pyval v, struct pyval key, struct pyval *out); /* v[key] */
/* v[at[0]:at[1]:at[2]]; missing values and None are defaults */
int py_slice(struct pyrun *r, struct pyval v, const struct pyval at[3], struct pyval *out);

int py_tojson(struct pyrun *r, struct pycall *c, struct pyval *out); /* json.dumps(c->self) */
/* s % args */
int py_percent(struct pyrun *r, const struct pystr *s, struct pyval args, struct pyval *out);

/* Append a pair in one step, without searching for its key, so that d may have equal keys. */
int pydict_add(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
/* Sort the pairs by key, stably; down: descending, also stably. */
int pydict_sort(struct pyrun *r, struct pydict *d, int down);
/* Make the sorted list of (key, value) tuples. how: PY_SORT_ bits; without KEEP_CASE case is
 * ignored. */
enum { PY_SORT_BY_VALUE = 1, PY_SORT_KEEP_CASE = 2, PY_SORT_DOWN = 4 };
int pydict_sorted(struct pyrun *r, const struct pydict *d, int how, struct pyval *out);
#endif
