/* automata/regex_nfa.h - (private) a regular expression as a nondeterministic automaton (Thompson
 * 1968) with conditions on its empty transitions.  Confined. */
#ifndef AUTOMATA_REGEX_NFA_H
#define AUTOMATA_REGEX_NFA_H
#include "automata/regex_tree.h"

enum nfa_kind {
	NFA_SET,       /* a character of set `arg`, then a */
	NFA_SPLIT,     /* a or b */
	NFA_BEGIN,     /* a, where nothing is before */
	NFA_EDGE,      /* a where \w is before, else b */
	NFA_END,       /* a, where nothing follows */
	NFA_WORD_NEXT, /* a, where \w follows */
	NFA_WORD_NOT_NEXT,
	NFA_AHEAD,  /* a, if look `arg` accepts what follows */
	NFA_BEHIND, /* a, if look `arg` accepts what was before */
	NFA_ACCEPT, /* the text may end here */
	NFA_ALL     /* anything may follow */
};

/* what is before a position */
enum nfa_prev { PREV_NONE, PREV_OTHER, PREV_WORD, PREVS };

struct nfa_node {
	enum nfa_kind kind;
	uint32_t arg, a, b;
};

struct nfa_look {
	const struct re *re;
	struct dfa *dfa[PREVS]; /* owned; of RE_BEHIND and where prev is all one, only the first */
};

/* how a pattern lies in the text */
struct nfa_frame {
	int open_front, open_back; /* anything may be before, behind */
	enum nfa_prev prev;        /* at the start of the text that is looked at */
	int in_ahead, in_behind;
};

struct nfa {
	struct work *w;
	struct regex *x;
	struct nfa_frame frame;
	struct nfa_node *at;
	uint32_t n, cap, start;
	struct nfa_look *looks;
	uint32_t n_looks, cap_looks;
	int edges; /* there is a \b somewhere */
};

/* On failure too, nfa_fini frees the automata of the looks. */
int nfa_init(struct nfa *a, struct work *w, struct regex *x, const struct re *tree,
             const struct nfa_frame *frame);
void nfa_fini(struct nfa *a);

/* regex_det.c: the automaton of a tree in a frame */
int regex_det(struct dfa **out, struct regex *x, const struct re *tree,
              const struct nfa_frame *frame);
/* the determinised a, whose looks are made */
int nfa_det(struct dfa **out, struct nfa *a);
#endif
