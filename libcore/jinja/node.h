/* jinja/node.h (private) - a parsed template, and what the parts of the engine call of each other.  Not for other files. */
#ifndef JINJA_NODE_H
#define JINJA_NODE_H
#include "base/map.h"
#include "jinja/value.h"

enum jtok_kind {
	JT_EOF, JT_DATA, JT_BLOCK, JT_BLOCK_END, JT_VAR, JT_VAR_END, JT_NAME, JT_STR, JT_INT, JT_FLOAT,
	JT_ADD, JT_SUB, JT_MUL, JT_DIV, JT_IDIV, JT_MOD, JT_POW, JT_CAT, JT_LBRACKET, JT_RBRACKET, JT_LPAREN, JT_RPAREN,
	JT_LBRACE, JT_RBRACE, JT_EQ, JT_NE, JT_GT, JT_GE, JT_LT, JT_LE, JT_ASSIGN, JT_DOT, JT_COLON, JT_PIPE, JT_COMMA, JT_SEMI,
	JT_IN, JT_NOT_IN   /* operators of comparisons, not tokens */
};
struct jtok { uint8_t kind; int line; const char *at; size_t len; union { int64_t i; double f; }; };

enum jnode_kind {
	JN_CONST, JN_NAME, JN_LIST, JN_TUPLE, JN_DICT, JN_ATTR, JN_ITEM, JN_SLICE, JN_CALL, JN_FILTER, JN_TEST, JN_NOT, JN_AND,
	JN_OR, JN_CMP, JN_CONCAT, JN_BIN, JN_NEG, JN_POS, JN_COND, JN_INPUT, JN_NSREF,
	JN_BODY, JN_TEXT, JN_OUT, JN_IF, JN_FOR, JN_SET, JN_SETBLOCK, JN_MACRO, JN_CALLBLOCK, JN_FILTERBLOCK, JN_WITH,
	JN_BREAK, JN_CONTINUE, JN_SCOPE
};
enum { JM_VARARGS = 1, JM_KWARGS = 2, JM_CALLER = 4 };   /* names that a macro's body uses */

struct jargs {
	struct jnode **pos, **kw;          /* kw: values */
	const struct jstr **name;          /* [nkw] */
	struct jnode *star, *star2;
	uint32_t n, nkw;
};
/* parse.c and expr.c, which make each kind, say what its children mean. */
struct jnode {
	uint8_t kind, op;                  /* op: enum jtok_kind; a macro's JM_ bits; 1: a test is negated, a loop recursive */
	int line;
	uint32_t id, n;                    /* number of a name; of list */
	struct jnode *a, *b, *c, *d, **list;
	const struct jstr *str;
	const struct jfn *fn;
	struct jargs *args;
	struct jv val;
};

struct jinja {
	struct arena arena;
	char *name;
	struct map names;                  /* to their numbers */
	struct jnode *root;
	const char *src;                   /* newlines made \n */
	size_t len;
};
const char *jinja_name(const struct jinja *t);

/* lex.c */
int jinja_lex(struct jinja *t, struct jtok **out, size_t *n, infer_error *err);

/* the parser */
struct jparse {
	struct jinja *t;
	const struct jtok *tok;            /* the current one */
	infer_error *err;
	int rc, depth, soft, uses;         /* soft: unknown filters fail when they are reached; uses: JM_ */
	int loops;                         /* that are open, for break and continue */
	const struct jnode *unknown;       /* a filter or test that must be known and is not */
};
void *jparse_fail(struct jparse *p, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));   /* NULL */
void *jparse_nomem(struct jparse *p) __attribute__((cold));          /* NULL; keeps an earlier failure */
struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind);
uint32_t jparse_id(struct jparse *p, const char *s, size_t n);
const struct jstr *jparse_str(struct jparse *p, const char *s, size_t n);
int jparse_is(const struct jparse *p, const char *name);            /* is the current token this name? */
int jparse_skip(struct jparse *p, const char *name);
int jparse_expect(struct jparse *p, enum jtok_kind kind, const char *what);   /* 0 and past it, or nonzero */
struct jnode *jparse_expr(struct jparse *p);
enum { JTUPLE_NO_IF = 1, JTUPLE_TO_IN = 2, JTUPLE_TO_RECURSIVE = 4, JTUPLE_PARENS = 8 };
struct jnode *jparse_tuple(struct jparse *p, int how);
struct jnode *jparse_target(struct jparse *p, int to_in);           /* to_in: for a loop; else for set */
struct jnode *jparse_filters(struct jparse *p, struct jnode *on, int inline_);
struct jnode *jparse_primary(struct jparse *p);
/* A list that grows by doubling in the template's arena; nonzero: failed. */
int jparse_push(struct jparse *p, struct jnode ***list, uint32_t *n, struct jnode *x);

/* functions: filters, tests, globals, methods */
enum { JCALL_ARGS = 8 };
struct jcall {
	struct jv self;                    /* what is filtered, tested or has the method */
	struct jv *pos, *kw;
	const struct jstr **name;          /* [nkw] */
	uint32_t n, nkw;
	struct jv a[JCALL_ARGS];           /* by the names of fn->args; J_MISSING where not given */
};
struct jfn {
	const char *name;
	int (*call)(struct jrun *r, struct jcall *c, struct jv *out);
	const char *args;                  /* names of arguments, a space between; NULL: takes them as they come */
	uint8_t need;                      /* how many must be given */
	uint8_t mutates;
};
int jfn_call(struct jrun *r, const struct jfn *fn, struct jcall *c, struct jv *out);
const struct jfn *jfn_filter(const char *name, size_t n);
const struct jfn *jfn_test(const char *name, size_t n);
const struct jfn *jfn_global(const char *name, size_t n);
const struct jfn *jfn_find(const struct jfn *table, const char *name, size_t n);   /* NULL at a row without a name */
extern const struct jfn jinja_filters[], jinja_seq_filters[], jinja_tests[], jinja_globals[], jinja_str_methods[],
	jinja_list_methods[], jinja_dict_methods[];
int jinja_attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out);   /* v.name */
int jinja_item(struct jrun *r, struct jv v, struct jv key, struct jv *out);             /* v[key] */
int jinja_slice(struct jrun *r, struct jv v, const struct jv at[3], struct jv *out);
int jinja_call(struct jrun *r, struct jv f, struct jcall *c, struct jv *out);
int jinja_macro(struct jrun *r, struct jmacro *m, struct jcall *c, struct jv *out);
int jinja_binary(struct jrun *r, int op, struct jv a, struct jv b, struct jv *out);
int jinja_tojson(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_percent(struct jrun *r, const struct jstr *s, struct jv args, struct jv *out);   /* s % args */
int jinja_format(struct jrun *r, struct jcall *c, struct jv *out);                         /* str.format */
int jstr_int(struct jrun *r, const struct jstr *s, int base, int64_t *v);    /* Python's int(); 1: not a number */
int jstr_float(struct jrun *r, const struct jstr *s, double *f);             /* 1: not a number */
int jint_arg(struct jrun *r, struct jv v, int64_t absent, int64_t *i);       /* missing and none give absent */

/* generators */
struct jgen {
	enum jgen_kind { JG_LIST, JG_MAP, JG_SELECT, JG_UNIQUE, JG_ITEMS } kind;
	int started, done, negate, attr;   /* attr: select looks at an attribute */
	struct jv src, key, absent, seen;  /* key: the attribute, J_MISSING for none */
	struct jiter it;
	const struct jfn *fn;              /* of map and select; NULL: none */
	struct jcall args;
};
int jgen_new(struct jrun *r, struct jv *out, enum jgen_kind kind, struct jv src, struct jgen **g);
int jgen_next(struct jrun *r, struct jgen *g, struct jv *out);
int jgen_of(struct jrun *r, struct jv *out, struct jv list);                  /* an iterator over a list made already */
int jattr_get(struct jrun *r, struct jv v, struct jv key, struct jv absent, struct jv *out);   /* filters' attribute= */

/* loops */
struct jloop {
	struct jiter it;
	const struct jnode *node;
	struct jscope *scope;              /* around the loop */
	struct jv cur, prev, next, changed, rest;   /* rest: items taken ahead of time, when the length was asked for */
	size_t i, rest_at;
	int64_t length;                    /* -1: not known yet */
	int depth0, has_next;              /* has_next: -1 not looked yet */
	int count;                         /* of cycle(): no */
};
int jloop_next(struct jrun *r, struct jloop *l, struct jv *out);
int jloop_attr(struct jrun *r, struct jloop *l, const struct jstr *name, struct jv *out);
int jloop_call(struct jrun *r, struct jloop *l, struct jcall *c, struct jv *out);             /* recursive */

int jinja_eval(struct jrun *r, const struct jnode *n, struct jv *out);
int jinja_exec(struct jrun *r, const struct jnode *n);
int jinja_exec_for(struct jrun *r, const struct jnode *n, struct jv over, int depth0);
int jinja_assign(struct jrun *r, const struct jnode *target, struct jv v);
enum { JFLOW_NONE, JFLOW_BREAK, JFLOW_CONTINUE };                              /* jrun.flow */
int jinja_let_name(struct jrun *r, struct jscope *s, const char *name, struct jv v);
int jinja_let(struct jrun *r, struct jscope *s, uint32_t id, struct jv v);
const struct jv *jinja_var(struct jrun *r, uint32_t id);                /* NULL: nowhere in scope or context */
struct jscope *jinja_scope(struct jrun *r, struct jscope *up);                /* NULL: failed */
int jinja_args(struct jrun *r, const struct jargs *a, struct jcall *c);
int jinja_apply(struct jrun *r, const struct jnode *n, struct jv *out);       /* a filter or a test */
/* Run a body with its output caught in *out. */
int jinja_capture(struct jrun *r, const struct jnode *body, struct jv *out);
#endif
