/* automata/regex_tree.h - (private) the syntax tree of a regular expression.  Confined. */
#ifndef AUTOMATA_REGEX_TREE_H
#define AUTOMATA_REGEX_TREE_H
#include "automata/cpset.h"
#include "automata/regex.h"

enum { REGEX_DEPTH = 200 };

enum re_kind {
	RE_SET,    /* lo: index of a set of the pattern */
	RE_CAT,    /* all kids in sequence, linked from last to first; none: the empty text */
	RE_ALT,    /* one of the kids */
	RE_REPEAT, /* the kid lo ... hi times; hi NOWHERE: no upper bound */
	RE_BEGIN,
	RE_END,
	RE_WORD_EDGE,
	RE_NO_WORD_EDGE,
	RE_AHEAD,  /* look-ahead; lo: 1 if negated */
	RE_BEHIND, /* look-behind; lo: 1 if negated */
	RE_DFA     /* lo: index of an automaton of the pattern; its words */
};

struct re {
	enum re_kind kind;
	uint32_t lo, hi;
	uint32_t kinds;        /* 1 << kind of this node and all below it, or'ed */
	struct re *kid, *next; /* the first kid; the next sibling */
	size_t at;             /* byte in the pattern, for messages */
};

/* a parsed pattern: its tree, and its distinct sets, all normal */
struct regex {
	struct work *w;
	const char *text, *end;
	const struct re *tree;
	struct cpset *sets;
	uint32_t n_sets, cap;
	struct htab index; /* of sets */
	struct dfa **dfas; /* of RE_DFA; owned by terms.c */
	uint32_t n_dfas, cap_dfas;
};

/* Parse text[0 .. n), which is borrowed.
 * INFER_EINVAL  not a regular expression; INFER_EUNSUP, INFER_ENOMEM */
int regex_parse(struct regex *x, struct work *w, const char *text, size_t n);
/* Find or add a normal set; *set: its number. */
int regex_set(struct regex *x, const struct cpset *s, uint32_t *set);
/* Add a node; at: its position in the pattern.  regex_set_node: of the characters of a normal set. */
int regex_node(struct regex *x, enum re_kind kind, const char *at, struct re **out);
int regex_set_node(struct regex *x, const char *at, const struct cpset *s, struct re **out);
/* Parse an expression of Rust's crate regex (terms.h); x->text is set. */
int regex_parse_rust(struct regex *x, const char *text, size_t n, const char *flags,
                     struct re **out);
/* Add all characters that differ from those of s in case alone; s becomes normal. */
int regex_fold(struct work *w, struct cpset *s);
/* Fail with "...: character 5: " and the message; at: position in the pattern.  Returns code. */
int regex_bad(const struct regex *x, const char *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));

/* Add the characters of the escape (\...) or class ([...]) at *at to s, and move *at after it. */
int regex_escape(struct regex *x, const char **at, struct cpset *s);
int regex_class(struct regex *x, const char **at, struct cpset *s);
#endif
