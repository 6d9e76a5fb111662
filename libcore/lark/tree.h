/* lark/tree.h - (private) a Lark grammar while it is compiled: tokens, definitions, expressions.
 * Confined; memory and errors as in automata/work.h; INFER_EINVAL: the message names the line. */
#ifndef LARK_TREE_H
#define LARK_TREE_H
#include "automata/terms.h"
#include "ir/ir.h"
#include "lark/lark.h"

enum { LARK_DEPTH = 100, LARK_NESTING = 8 };

enum token_kind {
	T_END,
	T_NEWLINE,
	T_RULE,     /* a lower-case name, with ! ? _ before it */
	T_TERMINAL, /* an upper-case name */
	T_TEXT,     /* "text", "text"i */
	T_REGEX,    /* /expression/flags */
	T_NUMBER,
	T_SPECIAL,  /* <token> */
	T_GRAMMAR,  /* @grammar */
	T_OPERATOR, /* * + ? */
	T_ARROW,
	T_COLONS,    /* :: */
	T_DOTS,      /* .. */
	T_DIRECTIVE, /* %name */
	T_JSON,      /* the JSON value after %json, %regex, %llguidance */
	T_PUNCT      /* : , . ( ) { } [ ] ~ | & = _ */
};

struct token {
	enum token_kind kind;
	uint32_t line, n;
	const char *at; /* in the text */
};

/* a function of a rule's parameter: PARAM_... bits lo ... hi - 1; v */
enum param_op { PARAM_VALUE, PARAM_SELF, PARAM_INCR, PARAM_DECR, PARAM_AND, PARAM_OR };
struct param {
	enum param_op op;
	uint32_t lo, hi;
	uint64_t v;
};

enum cond_op {
	COND_TRUE,
	COND_EQ,
	COND_NE,
	COND_LT,
	COND_LE,
	COND_GT,
	COND_GE,
	COND_ALL, /* all bits are set */
	COND_AND,
	COND_OR,
	COND_NOT
};
struct cond {
	enum cond_op op;
	int count; /* 1: compare the number of bits that are set */
	uint32_t lo, hi;
	uint64_t v;
	const struct cond *a, *b;
};

enum node_kind {
	N_TEXT,   /* s, fold */
	N_RANGE,  /* a character of lo ... hi */
	N_REGEX,  /* s; flags */
	N_NAME,   /* s; param, if it has one */
	N_TOKEN,  /* s: what <...> contains */
	N_JSON,   /* s: a schema */
	N_CHUNKS, /* s: the value of %regex */
	N_LARK,   /* scope */
	N_SEQ,
	N_ALT,
	N_AND,
	N_REPEAT, /* the kid lo ... hi times */
	N_NOT
};

struct node {
	enum node_kind kind;
	uint32_t line, n, lo, hi;
	const char *s, *flags;
	struct node *kid, *last, *next; /* in order */
	const struct param *param;
	const struct cond *cond; /* of an alternative; NULL: true */
	struct scope *scope;
};

/* a rule or terminal */
struct def {
	const char *name;
	uint32_t n, line;
	int is_terminal, is_parametric, is_lazy, in_progress;
	struct node *body, *suffix;
	const struct re *term; /* of a terminal, once it is compiled */
};

struct scope {
	struct def *def;
	uint32_t n_defs, cap_defs, line;
	struct node *ignore;           /* N_ALT of all %ignore, or NULL */
	int ignore_once, initial_skip; /* options */
};

/* a rule with its parameter, or a group: what OP_CALL names until the code is complete */
struct instance {
	struct scope *scope;
	const struct node *body;
	uint64_t param;
	int has_param, nullable;
	uint32_t line, start, n; /* its code */
	uint32_t scc, call;      /* component of left recursion; where its final code begins */
};

struct lark {
	struct work tree, w; /* memory of the parse; of the grammar */
	const char *text, *end;
	const struct schema_opts *json;
	struct buf *ignored;
	struct token *token;
	uint32_t n_tokens, cap_tokens, at; /* at: the current token */
	struct scope *scope;               /* the one being parsed or compiled */
	uint32_t nesting;                  /* of %lark */
	struct terms terms;
	struct grammar *g;

	/* emit.c: code of all instances, each ended by OP_END */
	struct code *code;
	struct instance *instance;
	uint32_t n_code, cap_code, n_instances, cap_instances;
	struct htab index; /* of instances */
	uint32_t n_plain, cap_plain, cap_sets;
	uint64_t param; /* of the instance being emitted */
	int has_param;

	/* final.c */
	struct code *final;
	uint32_t n_final, cap_final;
	uint8_t *nullable; /* [n_code] the rest of the rule can be empty */
};

/* Fail with the line and the message. */
int lark_fail(struct lark *p, uint32_t line, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));

/* token.c: read the text to p->token, ended by T_END. */
int lark_tokens(struct lark *p);
/* Decode a T_TEXT, with or without the i that follows it; *s: owned by p->tree */
int lark_decode_text(struct lark *p, const struct token *t, const char **s, uint32_t *n, int *fold);

/* parse.c: parse definitions up to the end, or for a nested grammar to the closing }. */
int lark_parse(struct lark *p, struct scope **out, int nested);
int lark_add_def(struct lark *p, const struct def *d, struct def **out);
struct def *lark_find_def(struct lark *p, struct scope *scope, const char *s, uint32_t n);
int lark_add_node(struct lark *p, enum node_kind kind, struct node **out);
void lark_add_kid(struct node *to, struct node *kid);
int lark_value(struct lark *p, struct node **out);
int lark_alternatives(struct lark *p, struct node **out, uint32_t depth);
/* directive.c: parse a statement that begins with %. */
int lark_directive(struct lark *p);
/* Parse attributes [..] of a rule. */
int lark_attributes(struct lark *p, struct def *d);
static inline const struct token *lark_token(const struct lark *p) { return p->token + p->at; }
static inline int lark_at(const struct lark *p, char punct)
{
	return lark_token(p)->kind == T_PUNCT && *lark_token(p)->at == punct;
}
int lark_accept(struct lark *p, char punct); /* read it if it comes next; 1: it did */
int lark_expect(struct lark *p, char punct);
int lark_number(struct lark *p, uint64_t most, uint64_t *n);

/* param.c */
int lark_parse_param(struct lark *p, const struct param **out);
int lark_parse_cond(struct lark *p, const struct cond **out, uint32_t depth);
uint64_t param_apply(const struct param *x, uint64_t p);
int cond_holds(const struct cond *c, uint64_t p);

/* terminal.c: compile an expression of terminals; *number: of its automaton in g->plain, NOWHERE if it is
 * the empty text alone.  *empty: 1: it accepts the empty text */
int lark_terminal(struct lark *p, const struct node *x, const struct node *suffix, uint32_t *number,
                  int *empty);

/* token_set.c: add what <s> or !<s> contains to g->tokens. */
int lark_token_set(struct lark *p, const struct node *x, uint32_t *number);

/* emit.c: emit the code of `start` and all that it calls. */
int lark_emit(struct lark *p);
/* final.c: rewrite the code: without empty rules and left recursion. */
int lark_finish_code(struct lark *p);
#endif
