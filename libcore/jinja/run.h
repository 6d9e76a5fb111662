/* jinja/run.h (private) - functions that the parts of a rendering share: functions, generators,
 * loops, statements.  Confined to one rendering. */
#ifndef JINJA_RUN_H
#define JINJA_RUN_H
#include "jinja/node.h"
#include "pyval/call.h"

/* the variables of a block, by the index of their name in the template */
struct jscope {
	struct jscope *up;
	struct jvar {
		uint32_t id;
		struct jv v;
	} * at;
	uint32_t n, cap;
	int kept; /* a macro was defined in it */
};
struct jmacro {
	const struct jnode *node;
	struct jscope *scope;
	struct jv caller_of;
};

/* The state of one rendering that values do not need. */
struct jrender {
	const struct jinja *t;
	int64_t now;
	struct jscope *scope;
	struct jv *ctx;  /* by name's number */
	struct jv input; /* the input of a filter block's filters */
	struct jsb *out;
	int flow; /* set by break and continue */
};
extern const struct jhost jinja_host;

/* functions: filters, tests, globals */
const struct jfn *jfn_filter(const char *name, size_t n);
const struct jfn *jfn_test(const char *name, size_t n);
const struct jfn *jfn_global(const char *name, size_t n);
extern const struct jfn jinja_filters[], jinja_seq_filters[], jinja_tests[], jinja_globals[];
int jinja_call(struct jrun *r, struct jv f, struct jcall *c, struct jv *out);
int jinja_macro(struct jrun *r, struct jmacro *m, struct jcall *c, struct jv *out);
int jinja_binary(struct jrun *r, int op, struct jv a, struct jv b, struct jv *out);

/* generators */
struct jgen {
	enum jgen_kind { JG_LIST, JG_MAP, JG_SELECT, JG_UNIQUE, JG_ITEMS } kind;
	int started, done, negate, attr;  /* attr: select tests an attribute */
	struct jv src, key, absent, seen; /* key: the attribute, J_MISSING for none */
	struct jiter it;
	const struct jfn *fn; /* the function of map and select; NULL: none */
	struct jcall args;
};
int jgen_new(struct jrun *r, struct jv *out, enum jgen_kind kind, struct jv src, struct jgen **g);
int jgen_next(struct jrun *r, struct jgen *g, struct jv *out);
/* an iterator over an existing list */
int jgen_of(struct jrun *r, struct jv *out, struct jv list);
/* the argument attribute= of filters */
int jattr_get(struct jrun *r, struct jv v, struct jv key, struct jv absent, struct jv *out);

/* loops */
struct jloop {
	struct jiter it;
	const struct jnode *node;
	struct jscope *scope; /* around the loop */
	/* rest: items read ahead, because the length was requested */
	struct jv cur, prev, next, changed, rest;
	size_t i, rest_at;
	int64_t length;       /* -1: not known yet */
	int depth0, has_next; /* has_next: -1 not known yet */
	int count;            /* of cycle(): no */
};
int jloop_next(struct jrun *r, struct jloop *l, struct jv *out);
int jloop_attr(struct jrun *r, struct jloop *l, const struct jstr *name, struct jv *out);
int jloop_call(struct jrun *r, struct jloop *l, struct jcall *c, struct jv *out); /* recursive */

int jinja_eval(struct jrun *r, const struct jnode *n, struct jv *out);
int jinja_exec(struct jrun *r, const struct jnode *n);
int jinja_exec_for(struct jrun *r, const struct jnode *n, struct jv over, int depth0);
int jinja_assign(struct jrun *r, const struct jnode *target, struct jv v);
/* jrender.flow */
enum { JFLOW_NONE, JFLOW_BREAK, JFLOW_CONTINUE };
int jinja_let_name(struct jrun *r, struct jscope *s, const char *name, struct jv v);
int jinja_let(struct jrun *r, struct jscope *s, uint32_t id, struct jv v);
const struct jv *jinja_var(struct jrun *r, uint32_t id);       /* NULL: neither in scope nor in the
                                                          * context */
struct jscope *jinja_scope(struct jrun *r, struct jscope *up); /* NULL: failed */
int jinja_args(struct jrun *r, const struct jargs *a, struct jcall *c);
int jinja_apply(struct jrun *r, const struct jnode *n, struct jv *out); /* a filter or a test */
/* Run a body and capture its output in *out. */
int jinja_capture(struct jrun *r, const struct jnode *body, struct jv *out);
#endif
