/* automata/regex_tree.h - (private) a regular expression as a tree.  Confined. */
#ifndef AUTOMATA_REGEX_TREE_H
#define AUTOMATA_REGEX_TREE_H
#include "automata/cpset.h"
#include "automata/regex.h"

enum { REGEX_DEPTH = 200 };

enum re_kind {
	RE_SET,    /* lo: a set of the pattern */
	RE_CAT,    /* kids one after the other, the last one first; none: empty */
	RE_ALT,    /* one of the kids */
	RE_REPEAT, /* the kid lo ... hi times; hi NOWHERE: any number from lo */
	RE_BEGIN,
	RE_END,
	RE_WORD_EDGE,
	RE_NO_WORD_EDGE,
	RE_AHEAD, /* lo: negated */
	RE_BEHIND
};

struct re {
	enum re_kind kind;
	uint32_t lo, hi;
	uint32_t kinds;        /* 1 << kind of this and all below it, or'ed */
	struct re *kid, *next; /* the first; a sibling */
	uint32_t look;         /* of RE_AHEAD and RE_BEHIND: their number + 1 in the automaton */
	size_t at;             /* byte in the pattern, for messages */
};

/* A pattern: its tree, and the sets in it, normal and different from each other. */
struct regex {
	struct work *w;
	const char *text, *end;
	const struct re *tree;
	struct cpset *sets;
	uint32_t n_sets, cap;
	struct htab index;
	uint32_t word; /* the set of \w, where there is one */
};

int regex_parse(struct regex *x, struct work *w, const char *text, size_t n);
int regex_set(struct regex *x, const struct cpset *s, uint32_t *set);
/* "...: character 5: " and the rest */
int regex_bad(const struct regex *x, const char *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5), cold));

/* One character, escape or class at *at; *at moves behind it. */
int regex_escape(struct regex *x, const char **at, struct cpset *s);
int regex_class(struct regex *x, const char **at, struct cpset *s);

/* The automaton of a pattern, regex_det.c. */
int regex_build(struct dfa **out, struct regex *x, enum regex_how how);
#endif
