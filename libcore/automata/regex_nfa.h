/* automata/regex_nfa.h - (private) a regular expression as a nondeterministic automaton (Thompson
 * 1968) whose empty transitions have conditions.  Confined; memory and errors as in work.h. */
#ifndef AUTOMATA_REGEX_NFA_H
#define AUTOMATA_REGEX_NFA_H
#include "automata/regex_tree.h"

enum nfa_kind {
	NFA_SET,           /* read a character of set `arg`, go to a */
	NFA_SPLIT,         /* go to a and b */
	NFA_BEGIN,         /* go to a if no character precedes */
	NFA_EDGE,          /* go to a if a \w precedes, else to b */
	NFA_END,           /* go to a if no character follows */
	NFA_WORD_NEXT,     /* go to a if a \w follows */
	NFA_WORD_NOT_NEXT, /* go to a if no \w follows */
	NFA_AHEAD,         /* go to a if look `arg` accepts the rest of the text */
	NFA_BEHIND,        /* go to a if look `arg` accepts the text before */
	NFA_ACCEPT,        /* the text may end here */
	NFA_ALL            /* accept whatever follows */
};

/* the character before a position: none, no \w, a \w */
enum nfa_prev { PREV_NONE, PREV_OTHER, PREV_WORD, PREVS };

struct nfa_node {
	enum nfa_kind kind;
	uint32_t arg, a, b;
};

struct nfa_look {
	const struct re *re;
	struct dfa *dfa
		[PREVS]; /* owned; by the previous character; only dfa[0] if that does not matter */
};

/* the surroundings of a pattern */
struct nfa_context {
	int open_front, open_back; /* 1: any text may precede, may follow */
	enum nfa_prev prev;        /* the character before the pattern */
	int in_ahead, in_behind;   /* within a look-ahead, a look-behind */
};

struct nfa {
	struct work *w;
	struct regex *x;
	struct nfa_context context;
	struct nfa_node *at;
	uint32_t n, cap, start;
	struct nfa_look *looks;
	uint32_t n_looks, cap_looks;
	int edges; /* the pattern has a \b or \B */
};

/* Compile the tree.  Call nfa_fini, which frees the automata of the looks, on failure too. */
int nfa_init(struct nfa *a, struct work *w, struct regex *x, const struct re *tree,
             const struct nfa_context *context);
void nfa_fini(struct nfa *a);

/* regex_det.c: set *out to the automaton of a tree in a context. */
int regex_det(struct dfa **out, struct regex *x, const struct re *tree,
              const struct nfa_context *context);
/* Determinise a. */
int nfa_det(struct dfa **out, struct nfa *a);
#endif
