/* pyval/call.h - functions with Python's arguments, the methods of values, and other access to
 * values: attributes, items, slices, order.  Confined. */
#ifndef PYVAL_CALL_H
#define PYVAL_CALL_H
#include "pyval/str.h"

enum { JCALL_ARGS = 8 };
struct jcall {
	struct jv self; /* the value that is filtered or tested, or has the method */
	struct jv *pos, *kw;
	const struct jstr **name; /* [nkw] */
	uint32_t n, nkw;
	struct jv a[JCALL_ARGS]; /* in the order of fn->args; J_MISSING if not given */
};
struct jfn {
	const char *name;
	int (*call)(struct jrun *r, struct jcall *c, struct jv *out);
	const char *args; /* names of arguments, separated by spaces; NULL: positional only */
	uint8_t need;     /* number of required arguments */
	uint8_t mutates;
};
int jfn_call(struct jrun *r, const struct jfn *fn, struct jcall *c, struct jv *out);
/* NULL at a row without a name */
const struct jfn *jfn_find(const struct jfn *table, const char *name, size_t n);
/* the result for missing and none is `absent` */
int jint_arg(struct jrun *r, struct jv v, int64_t absent, int64_t *i);
extern const struct jfn jinja_str_methods[];

int jinja_attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out); /* v.name */
int jinja_item(struct jrun *r, struct jv v, struct jv key, struct jv *out);           /* v[key] */
int jinja_slice(struct jrun *r, struct jv v, const struct jv at[3], struct jv *out);

int jinja_tojson(struct jrun *r, struct jcall *c, struct jv *out); /* json.dumps */
/* s % args */
int jinja_percent(struct jrun *r, const struct jstr *s, struct jv args, struct jv *out);

/* Pairs in the order of their keys.  add: jdict_push, which takes a step.
 * sorted: a new list of tuples */
int jdict_add(struct jrun *r, struct jdict *d, struct jv key, struct jv v);
int jdict_sort(struct jrun *r, struct jdict *d, int down);
enum { JSORT_BY_VALUE = 1, JSORT_KEEP_CASE = 2, JSORT_DOWN = 4 };
int jdict_sorted(struct jrun *r, const struct jdict *d, int how, struct jv *out);
#endif
