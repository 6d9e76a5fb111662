/* automata/regex_det.h - (private) the subset construction, whose threads carry pending look-aheads.
 * Confined; memory and errors as in work.h. */
#ifndef AUTOMATA_REGEX_DET_H
#define AUTOMATA_REGEX_DET_H
#include "automata/regex_nfa.h"

/* a node of the nondeterministic automaton, and a set of look-aheads (det.ahead_sets; 0: none) that
 * must accept the rest of the text */
struct thread {
	uint32_t node, aheads;
};
/* the look-aheads d->ahead_pool[at .. at + n) */
struct ahead_set {
	uint32_t at, n;
};
/* nfa->looks[look / PREVS].dfa[look % PREVS] must accept the rest of the text from this state */
struct ahead {
	uint32_t look, state;
};
/* a state of the result; d->pool[at ...]: states of the look-behinds [n_behind], threads [n] */
struct det_state {
	uint32_t at, n;
	enum nfa_prev prev; /* the previous character; PREV_NONE if !waits */
	int waits;          /* a thread needs the next character: $, \b, \B */
};

struct det {
	struct work *w;
	struct nfa *nfa;
	struct draft m;
	uint32_t *rep;  /* [n_classes] a character of the class */
	uint8_t *word;  /* [n_classes] 1: the class is within \w */
	uint64_t *in;   /* [n_sets][words] bits: the classes of a set */
	uint32_t words; /* words of a row of `in` */

	/* threads t < nfa->n are node t without look-aheads; stamp[t] == epoch: t is in the list */
	struct thread *threads;
	uint32_t n_threads, cap_threads, *stamp, cap_stamp, epoch;
	struct htab thread_index;

	struct ahead_set *ahead_sets; /* ahead_sets[0]: none */
	struct ahead *ahead_pool, *ahead_new;
	uint32_t n_ahead_sets, cap_ahead_sets, n_ahead_pool, cap_ahead_pool, n_ahead_new,
		cap_ahead_new;
	struct htab ahead_index;

	struct det_state *states;
	uint32_t *pool, cap_states, n_pool, cap_pool;
	struct htab index;

	/* of the current position; behind[i]: the state of look i, 0 for a look-ahead */
	uint32_t *behind, n_behind;
	uint32_t *list, n_list, cap_list;    /* threads of the state being made, each once */
	uint32_t *from, cap_from;            /* threads of the state being left */
	uint32_t *stack, n_stack, cap_stack; /* threads to visit */
};

/* regex_threads.c */
int det_init(struct det *d, struct nfa *a);
/* Find or make a thread. */
int det_thread(struct det *d, uint32_t node, uint32_t aheads, uint32_t *thread);
/* Find or make the set `aheads` plus one look-ahead. */
int det_add_ahead(struct det *d, uint32_t aheads, uint32_t look, uint32_t state, uint32_t *out);
/* Advance all look-aheads of a set by a character; *out NOWHERE: one has failed. */
int det_step_aheads(struct det *d, uint32_t aheads, uint32_t cp, uint32_t *out);
/* True if all look-aheads of the set accept the end of the text. */
int det_aheads_end(const struct det *d, uint32_t aheads);

/* True if the class is in the set. */
static inline int det_in(const struct det *d, uint32_t set, uint32_t class)
{
	return d->in[(size_t)set * d->words + class / 64] >> class % 64 & 1;
}
#endif
