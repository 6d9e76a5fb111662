/* jinja/run.h (private) - what the parts of a rendering call of each other: functions, generators,
 * loops, statements.  Confined to one rendering. */
#ifndef JINJA_RUN_H
#define JINJA_RUN_H
#include "jinja/node.h"
#include "jinja/str.h"

/* functions: filters, tests, globals, methods */
enum { JCALL_ARGS = 8 };
struct jcall {
	struct jv self; /* what is filtered, tested or has the method */
	struct jv *pos, *kw;
	const struct jstr **name; /* [nkw] */
	uint32_t n, nkw;
	struct jv a[JCALL_ARGS]; /* by the names of fn->args; J_MISSING where not given */
};
struct jfn {
	const char *name;
	int (*call)(struct jrun *r, struct jcall *c, struct jv *out);
	const char *args; /* names of arguments, a space between; NULL: takes them as they come */
	uint8_t need;     /* how many must be given */
	uint8_t mutates;
};
int jfn_call(struct jrun *r, const struct jfn *fn, struct jcall *c, struct jv *out);
const struct jfn *jfn_filter(const char *name, size_t n);
const struct jfn *jfn_test(const char *name, size_t n);
const struct jfn *jfn_global(const char *name, size_t n);
/* NULL at a row without a name */
const struct jfn *jfn_find(const struct jfn *table, const char *name, size_t n);
extern const struct jfn jinja_filters[], jinja_seq_filters[], jinja_tests[], jinja_globals[],
	jinja_str_methods[], jinja_list_methods[], jinja_dict_methods[];
/* split.c: methods of strings, and what method.c shares with them */
int jinja_split(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_rsplit(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_splitlines(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_partition(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_rpartition(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_is_space(uint32_t cp); /* by str.isspace */
/* the string given as an argument, escaped where self is safe; fails where it is none */
int jinja_str_arg(struct jrun *r, struct jv self, struct jv v, const struct jstr **s);
int jinja_attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out); /* v.name */
int jinja_item(struct jrun *r, struct jv v, struct jv key, struct jv *out);           /* v[key] */
int jinja_slice(struct jrun *r, struct jv v, const struct jv at[3], struct jv *out);
int jinja_call(struct jrun *r, struct jv f, struct jcall *c, struct jv *out);
int jinja_macro(struct jrun *r, struct jmacro *m, struct jcall *c, struct jv *out);
int jinja_binary(struct jrun *r, int op, struct jv a, struct jv b, struct jv *out);
int jinja_tojson(struct jrun *r, struct jcall *c, struct jv *out);
/* s % args */
int jinja_percent(struct jrun *r, const struct jstr *s, struct jv args, struct jv *out);
int jinja_format(struct jrun *r, struct jcall *c, struct jv *out); /* str.format */
/* Python's int(); 1: not a number */
int jstr_int(struct jrun *r, const struct jstr *s, int base, int64_t *v);
int jstr_float(struct jrun *r, const struct jstr *s, double *f); /* 1: not a number */
/* missing and none give absent */
int jint_arg(struct jrun *r, struct jv v, int64_t absent, int64_t *i);

/* generators */
struct jgen {
	enum jgen_kind { JG_LIST, JG_MAP, JG_SELECT, JG_UNIQUE, JG_ITEMS } kind;
	int started, done, negate, attr;  /* attr: select looks at an attribute */
	struct jv src, key, absent, seen; /* key: the attribute, J_MISSING for none */
	struct jiter it;
	const struct jfn *fn; /* of map and select; NULL: none */
	struct jcall args;
};
int jgen_new(struct jrun *r, struct jv *out, enum jgen_kind kind, struct jv src, struct jgen **g);
int jgen_next(struct jrun *r, struct jgen *g, struct jv *out);
/* an iterator over a list made already */
int jgen_of(struct jrun *r, struct jv *out, struct jv list);
/* filters' attribute= */
int jattr_get(struct jrun *r, struct jv v, struct jv key, struct jv absent, struct jv *out);

/* loops */
struct jloop {
	struct jiter it;
	const struct jnode *node;
	struct jscope *scope; /* around the loop */
	/* rest: items taken ahead of time, when the length was asked for */
	struct jv cur, prev, next, changed, rest;
	size_t i, rest_at;
	int64_t length;       /* -1: not known yet */
	int depth0, has_next; /* has_next: -1 not looked yet */
	int count;            /* of cycle(): no */
};
int jloop_next(struct jrun *r, struct jloop *l, struct jv *out);
int jloop_attr(struct jrun *r, struct jloop *l, const struct jstr *name, struct jv *out);
int jloop_call(struct jrun *r, struct jloop *l, struct jcall *c, struct jv *out); /* recursive */

int jinja_eval(struct jrun *r, const struct jnode *n, struct jv *out);
int jinja_exec(struct jrun *r, const struct jnode *n);
int jinja_exec_for(struct jrun *r, const struct jnode *n, struct jv over, int depth0);
int jinja_assign(struct jrun *r, const struct jnode *target, struct jv v);
/* jrun.flow */
enum { JFLOW_NONE, JFLOW_BREAK, JFLOW_CONTINUE };
int jinja_let_name(struct jrun *r, struct jscope *s, const char *name, struct jv v);
int jinja_let(struct jrun *r, struct jscope *s, uint32_t id, struct jv v);
const struct jv *jinja_var(struct jrun *r, uint32_t id); /* NULL: nowhere in scope or context */
struct jscope *jinja_scope(struct jrun *r, struct jscope *up); /* NULL: failed */
int jinja_args(struct jrun *r, const struct jargs *a, struct jcall *c);
int jinja_apply(struct jrun *r, const struct jnode *n, struct jv *out); /* a filter or a test */
/* Run a body with its output caught in *out. */
int jinja_capture(struct jrun *r, const struct jnode *body, struct jv *out);
#endif
