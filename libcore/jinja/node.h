/* jinja/node.h (private) - a parsed template: tokens and nodes. */
#ifndef JINJA_NODE_H
#define JINJA_NODE_H
#include "base/map.h"
#include "jinja/jinja.h"
#include "pyval/value.h"

enum jtok_kind {
	JT_EOF,
	JT_DATA,
	JT_BLOCK,
	JT_BLOCK_END,
	JT_VAR,
	JT_VAR_END,
	JT_NAME,
	JT_STR,
	JT_INT,
	JT_FLOAT,
	JT_ADD,
	JT_SUB,
	JT_MUL,
	JT_DIV,
	JT_IDIV,
	JT_MOD,
	JT_POW,
	JT_CAT,
	JT_LBRACKET,
	JT_RBRACKET,
	JT_LPAREN,
	JT_RPAREN,
	JT_LBRACE,
	JT_RBRACE,
	JT_EQ,
	JT_NE,
	JT_GT,
	JT_GE,
	JT_LT,
	JT_LE,
	JT_ASSIGN,
	JT_DOT,
	JT_COLON,
	JT_PIPE,
	JT_COMMA,
	JT_SEMI,
	JT_IN,
	JT_NOT_IN /* JT_IN, JT_NOT_IN: comparison operators, not tokens */
};
struct jtok {
	uint8_t kind;
	int line;
	const char *at;
	size_t len;
	union {
		int64_t i;
		double f;
	};
};

enum jnode_kind {
	JN_CONST,
	JN_NAME,
	JN_LIST,
	JN_TUPLE,
	JN_DICT,
	JN_ATTR,
	JN_ITEM,
	JN_SLICE,
	JN_CALL,
	JN_FILTER,
	JN_TEST,
	JN_NOT,
	JN_AND,
	JN_OR,
	JN_CMP,
	JN_CONCAT,
	JN_BIN,
	JN_NEG,
	JN_POS,
	JN_COND,
	JN_INPUT,
	JN_NSREF,
	JN_BODY,
	JN_TEXT,
	JN_OUT,
	JN_IF,
	JN_FOR,
	JN_SET,
	JN_SETBLOCK,
	JN_MACRO,
	JN_CALLBLOCK,
	JN_FILTERBLOCK,
	JN_WITH,
	JN_BREAK,
	JN_CONTINUE,
	JN_SCOPE
};
/* special names that the body of a macro uses */
enum { JM_VARARGS = 1, JM_KWARGS = 2, JM_CALLER = 4 };

struct jargs {
	struct jnode **pos, **kw;  /* arguments: positional; values of keywords */
	const struct pystr **name; /* [nkw] keywords */
	struct jnode *star, *star2;
	uint32_t n, nkw;
};
/* A node. The functions in parse.c and expr.c that create a kind document its children. */
struct jnode {
	uint8_t kind;
	union {
		uint8_t op;        /* JN_BIN, JN_CMP: enum jtok_kind */
		uint8_t uses;      /* JN_MACRO, JN_CALLBLOCK: JM_ bits */
		uint8_t negated;   /* JN_TEST: "is not" */
		uint8_t recursive; /* JN_FOR */
	};
	int line;
	uint32_t id, n; /* index of a name; length of list */
	struct jnode *a, *b, *c, *d, **list;
	const struct pystr *str;
	const struct pyfn *fn;
	struct jargs *args;
	struct pyval val;
	/* the body of a block: ids of names that are undefined at its beginning; [0]: their
	 * number */
	uint32_t *unset;
};

struct jinja {
	struct arena arena;
	char *name;
	struct map names; /* name to id */
	struct jnode *root;
	const char *src; /* [len] with newlines \n */
	size_t len;
	int has_self; /* the template uses `self` */
};

/* lex.c: split the template into tokens, in its arena.   INFER_EFORMAT, INFER_ENOMEM */
int jinja_lex(struct jinja *t, struct jtok **out, size_t *n, infer_error *err);

/* names.c: find the block that owns each name; sets unset and has_self.   INFER_ENOMEM */
int jinja_names(struct jinja *t);
#endif
