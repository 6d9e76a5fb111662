/* automata/regex_det.h - (private) threads and their duties in the subset construction.  Confined.
 */
#ifndef AUTOMATA_REGEX_DET_H
#define AUTOMATA_REGEX_DET_H
#include "automata/regex_nfa.h"

struct thread {
	uint32_t node, duty;
};
/* n duties from d->duty_pool + at */
struct duties {
	uint32_t at, n;
};
/* automaton nfa->looks[look / PREVS].dfa[look % PREVS] must accept the rest, from the state on */
struct duty {
	uint32_t look, state;
};
/* in d->pool from `at`: states of look-behind [n_behind], threads [n] */
struct det_state {
	uint32_t at, n;
	enum nfa_prev prev; /* 0 where nothing waits */
	int waits;
};

struct det {
	struct work *w;
	struct nfa *nfa;
	struct draft m;
	uint32_t *rep;  /* [n_classes] a character of it */
	uint8_t *word;  /* [n_classes] whether it is of \w */
	uint64_t *in;   /* [n_sets][words] classes of a set */
	uint32_t words; /* of a row of in */

	/* thread t < nfa->n is node t without duties */
	struct thread *threads;
	uint32_t n_threads, cap_threads, *stamp, cap_stamp, epoch;
	struct htab thread_index;

	struct duties *duties; /* 0: none */
	struct duty *duty_pool, *duty_new;
	uint32_t n_duties, cap_duties, n_duty_pool, cap_duty_pool, n_duty_new, cap_duty_new;
	struct htab duty_index;

	struct det_state *states;
	uint32_t *pool, cap_states, n_pool, cap_pool;
	struct htab index;

	/* of the position at hand; behind[i] belongs to look i, and stays 0 for look-ahead */
	uint32_t *behind, n_behind;
	uint32_t *list, n_list, cap_list;    /* threads that are being collected, each once */
	uint32_t *from, cap_from;            /* those of the state that is left */
	uint32_t *stack, n_stack, cap_stack; /* to be visited */
};

int det_init(struct det *d, struct nfa *a);
int det_thread(struct det *d, uint32_t node, uint32_t duty, uint32_t *thread);
int det_duty_add(struct det *d, uint32_t duty, uint32_t look, uint32_t state, uint32_t *out);
/* duties after a character; NOWHERE: one of them cannot be met any more */
int det_duty_step(struct det *d, uint32_t duty, uint32_t cp, uint32_t *out);
/* whether all of them are met where the text ends */
int det_duty_ends(const struct det *d, uint32_t duty);

static inline int det_in(const struct det *d, uint32_t set, uint32_t class)
{
	return d->in[(size_t)set * d->words + class / 64] >> class % 64 & 1;
}
#endif
