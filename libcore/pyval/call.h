/* pyval/call.h - functions with Python's arguments, the methods of values, and other access to
 * values: attributes, items, slices, order.  Confined. */
#ifndef PYVAL_CALL_H
#define PYVAL_CALL_H
#include "pyval/str.h"

enum { PY_ARGS_MAX = 8 };
struct pycall {
	struct pyval self; /* the value that is filtered or tested, or has the method */
	struct pyval *pos, *kw;
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
int pyfn_call(struct pyrun *r, const struct pyfn *fn, struct pycall *c, struct pyval *out);
/* NULL at a row without a name */
const struct pyfn *pyfn_find(const struct pyfn *table, const char *name, size_t n);
/* the result for missing and none is `absent` */
int py_int_arg(struct pyrun *r, struct pyval v, int64_t absent, int64_t *i);
extern const struct pyfn py_str_methods[];

int py_attr(struct pyrun *r, struct pyval v, const struct pystr *name,
            struct pyval *out);                                                    /* v.name */
int py_item(struct pyrun *r, struct pyval v, struct pyval key, struct pyval *out); /* v[key] */
int py_slice(struct pyrun *r, struct pyval v, const struct pyval at[3], struct pyval *out);

int py_tojson(struct pyrun *r, struct pycall *c, struct pyval *out); /* json.dumps */
/* s % args */
int py_percent(struct pyrun *r, const struct pystr *s, struct pyval args, struct pyval *out);

/* Pairs in the order of their keys.  add: pydict_push, which takes a step.
 * sorted: a new list of tuples */
int pydict_add(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v);
int pydict_sort(struct pyrun *r, struct pydict *d, int down);
enum { PY_SORT_BY_VALUE = 1, PY_SORT_KEEP_CASE = 2, PY_SORT_DOWN = 4 };
int pydict_sorted(struct pyrun *r, const struct pydict *d, int how, struct pyval *out);
#endif
