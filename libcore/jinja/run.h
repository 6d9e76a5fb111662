/* jinja/run.h (private) - the state of one rendering: scopes, functions, generators, loops.
 * Confined.
 *
 * Functions that return int: INFER_OK or the code of the run, unless noted. */
#ifndef JINJA_RUN_H
#define JINJA_RUN_H
#include "jinja/node.h"
#include "pyval/call.h"

/* The variables of a block, by the id of their name. */
struct jscope {
	struct jscope *up;
	struct jvar {
		uint32_t id;
		struct pyval v;
	} * at;
	uint32_t n, cap;
	int kept; /* a macro refers to the scope, so it is not reused */
};
struct jmacro {
	const struct jnode *node;
	struct jscope *scope;
	struct pyval caller_of;
};

/* The state of one rendering, in addition to struct pyrun. */
struct jrender {
	const struct jinja *t;
	int64_t now;
	struct jscope *scope;
	struct pyval *ctx;  /* variables of the context, by the id of their name */
	struct pyval input; /* the input of a filter block's filters */
	struct pysb *out;
	int flow; /* JFLOW_; set by break and continue */
};
extern const struct pyhost jinja_host;

/* ---- fn.c: find a filter, a test, a global by name; NULL: there is none ---- */
const struct pyfn *jinja_find_filter(const char *name, size_t n);
const struct pyfn *jinja_find_test(const char *name, size_t n);
const struct pyfn *jinja_find_global(const char *name, size_t n);
extern const struct pyfn jinja_filters[], jinja_seq_filters[], jinja_tests[], jinja_globals[];
/* Call any callable value. */
int jinja_call(struct pyrun *r, struct pyval f, struct pycall *c, struct pyval *out);
int jinja_macro(struct pyrun *r, struct jmacro *m, struct pycall *c, struct pyval *out);
/* Set *out to a op b; op: enum jtok_kind. */
int jinja_binary(struct pyrun *r, int op, struct pyval a, struct pyval b, struct pyval *out);

/* ---- seq.c: generators ---- */
struct jgen {
	enum jgen_kind { JG_LIST, JG_MAP, JG_SELECT, JG_UNIQUE, JG_ITEMS } kind;
	int started, done, negate, attr;     /* attr: select and reject test an attribute */
	struct pyval src, key, absent, seen; /* key: the attribute, or PY_MISSING */
	struct pyiter it;
	const struct pyfn *fn; /* the function of map and select; NULL: none */
	struct pycall args;
};
/* pyiter_next of a generator */
int jgen_next(struct pyrun *r, struct jgen *g, struct pyval *out);

/* ---- loop.c: the variable `loop` ---- */
struct jloop {
	struct pyiter it;
	const struct jnode *node;
	struct jscope *scope; /* the scope that contains the loop */
	/* rest: list of items that were read ahead, because the length was requested */
	struct pyval cur, prev, next, changed, rest;
	size_t i, rest_at;
	int64_t length;       /* -1: unknown */
	int depth0, has_next; /* has_next: -1 unknown */
	int count;
};
/* The variable `loop`: pyiter_next, an attribute, a call (recursive loops) */
int jloop_next(struct pyrun *r, struct jloop *l, struct pyval *out);
int jloop_attr(struct pyrun *r, struct jloop *l, const struct pystr *name, struct pyval *out);
int jloop_call(struct pyrun *r, struct jloop *l, struct pycall *c, struct pyval *out);
/* Execute a JN_FOR over an iterable. depth0: nesting of recursive calls */
int jinja_exec_for(struct pyrun *r, const struct jnode *n, struct pyval over, int depth0);

/* ---- eval.c: expressions ---- */
int jinja_eval(struct pyrun *r, const struct jnode *n, struct pyval *out);
/* Evaluate arguments into c. */
int jinja_args(struct pyrun *r, const struct jargs *a, struct pycall *c);

/* ---- exec.c: statements and scopes ---- */
enum { JFLOW_NONE, JFLOW_BREAK, JFLOW_CONTINUE }; /* jrender.flow */
int jinja_exec(struct pyrun *r, const struct jnode *n);
/* Assign to a name, an attribute of a namespace, or a tuple of these. */
int jinja_assign(struct pyrun *r, const struct jnode *target, struct pyval v);
/* Set a variable of scope s. */
int jinja_let_name(struct pyrun *r, struct jscope *s, const char *name, struct pyval v);
/* Return the value of a name, or NULL if neither a scope nor the context has it. */
const struct pyval *jinja_var(struct pyrun *r, uint32_t id);
/* Make an empty scope inside `up`; NULL: failed. */
struct jscope *jinja_scope(struct pyrun *r, struct jscope *up);
#endif
