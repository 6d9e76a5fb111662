/* mask/inner.h - (private) cached mask entries, and how they are computed.
 *
 * An entry describes one stack item and one trie of token texts: the texts within the item, and,
 * for texts in which the item ends, the remaining bytes for the item below.  Entries of strings,
 * names and numbers are found by automaton and state; others by a copy of the item on an ITEM_HOLE.
 * Errors: INFER_EUNSUP (steps, bytes), INFER_ENOMEM. */
#ifndef MASK_INNER_H
#define MASK_INNER_H
#include <pthread.h>

#include "mask/mask.h"
#include "ir/match_step.h"
#include "mask/trie.h"

enum entry_kind {
	ENTRY_STACK,  /* of a stack on the hole */
	ENTRY_STRING, /* of a state of an automaton, this and the next three */
	ENTRY_NAME,   /* a name of a class */
	ENTRY_TEXT,   /* the whole text */
	ENTRY_NUMBER,
	ENTRY_SLOTS, /* names of slots */
	ENTRY_LEX    /* the terminals of a state, an ITEM_LEX_SET */
};

/* hashed and compared as bytes: no padding */
struct entry_key {
	uint64_t serial;     /* of the trie */
	const void *what;    /* the stack, the automaton, the object */
	uint32_t kind, d[5]; /* enum entry_kind; state, by kind */
};

/* the texts in which the item ends, or the name of a slot */
struct ending {
	uint32_t slot;    /* NOWHERE: none */
	uint32_t n, *id;  /* names: tokens that end exactly after the name */
	struct trie rest; /* the remaining bytes of longer tokens */
};

/* a token that is allowed if one of the slots lo ... hi - 1 are allowed */
struct slot_token {
	uint32_t id, lo, hi;
};

struct entry {
	struct entry *chain;
	struct entry_key key;
	struct stack_item *stack; /* of the key, or NULL */
	uint64_t steps, bytes;
	uint32_t n; /* allowed tokens: a list or bits, whichever is shorter */
	uint32_t *id;
	uint64_t *bits;
	int may_leave; /* the item may end before the first byte */
	uint32_t n_endings, n_slots, n_partial;
	struct ending *ending;
	struct slot_token *slot;
	uint32_t *partial; /* texts that end within a character; checked one by one */
	/* ENTRY_LEX: sets of terminals that end together: ending.slot is the number of one; the texts
	 * whose first byte continues a terminal, and the set of those that end before others */
	struct lex_set *lex_set;
	uint32_t n_lex_sets, leave;
	uint8_t *continues; /* [256] */
	uint64_t *begun;    /* [words] the tokens whose first byte continues a terminal; or NULL */
};

/* bits: terminals of an ITEM_LEX_SET */
struct lex_set {
	uint64_t *bits;
};

/* a parser state on the hole, and its successor by each byte */
struct mask_state {
	struct match_state at;
	uint32_t hash, chain, asked;
	uint8_t safe;     /* so many plain characters, whichever, can follow in the item */
	uint8_t measured; /* safe is final */
	uint8_t outside;  /* outside of strings */
	int leaves;       /* the item may have ended: the hole is, or may be, on top of a stack */
	uint32_t *next;   /* [256] 0: not computed yet; NULL: seldom used */
};

struct mask {
	const struct grammar *g;
	const struct vocab *v;
	uint32_t n_tokens, words;
	pthread_mutex_t lock; /* guards all below */
	struct slab slab;     /* its memory */
	struct match *m;      /* for stacks on the hole */
	struct stack_item *hole, *done;
	uint64_t serial;             /* of the last trie */
	uint64_t left;               /* bytes left for entries */
	struct entry **bucket, *old; /* old: evicted, but in use until mask_free_retired */
	uint32_t mask, n_entries;
	struct mask_state *state;
	uint32_t n_states, cap_states, *state_bucket;
	uint64_t *scratch; /* [words], all zero between entries */
	uint64_t *touched; /* a bit for each word of scratch that is not zero */
};
enum { STATE_BUCKETS = 4096 };

/* what an entry is computed from: a stack, or a state of an automaton */
struct entry_source {
	struct stack_item *stack; /* on the hole; NULL: none */
	const struct dfa *text;
	uint32_t state;
	struct span span; /* how many characters follow, where text does not say */
	int free;         /* not TEXT_IRREGULAR */
	int simple;       /* span leaves an end in reach of each state until `most` is used up */
};

/* an entry under construction */
struct entry_builder {
	struct mask *k;
	const struct entry_source *from;
	const struct trie *t;
	struct entry *e;
	uint64_t steps; /* limit of e->steps */
	struct entry_exit {
		uint32_t node, slot;
		int before; /* the item ends before the last byte of the node, not after it */
	} * exit;
	uint32_t n_exits, cap_exits, cap_slots, cap_partial, cap_lex_sets;
	infer_error *err;
};

/* Allow a token. */
static inline void builder_allow_token(const struct entry_builder *f, uint32_t id)
{
	f->k->scratch[id / 64] |= UINT64_C(1) << id % 64;
	f->k->touched[id / 4096] |= UINT64_C(1) << id / 64 % 64;
}
/* Count n steps.  Returns 0 if there are too many. */
static inline int builder_charge(struct entry_builder *f, uint64_t n)
{
	f->e->steps += n;
	return f->e->steps <= f->steps;
}
/* Return the node i, or if it has depth 1 the next of depth 1 whose byte is in `may`. */
static inline uint32_t builder_next(const struct entry_builder *f, uint32_t i,
                                    const uint8_t may[256])
{
	return i < f->t->n_nodes && f->t->node[i].depth == 1 ? trie_begin(f->t, i, may) : i;
}
int builder_too_long(struct entry_builder *f); /* set the error; returns INFER_EUNSUP */
/* Allow the tokens of the texts a ... b - 1. */
void builder_allow(struct entry_builder *f, uint32_t a, uint32_t b);
void builder_clear(struct mask *k); /* clear k->scratch */
/* Record that the item, or the name of `slot`, ends at this node. */
int builder_add_exit(struct entry_builder *f, uint32_t node, uint32_t slot);
/* Grow the array *p of *cap elements to hold `need`. */
int builder_grow(struct entry_builder *f, void *p, uint32_t *cap, uint32_t need, size_t size);
/* Complete the entry from the allowed tokens and the exits. */
int builder_finish(struct entry_builder *f);
void entry_free(struct mask *k, struct entry *e);

/* Compute an entry: of a stack; of a state of an automaton; of slot names. */
int build_stack_entry(struct entry_builder *f);
int build_text_entry(struct entry_builder *f);
/* TEXT_FREE: any `longest` characters can follow, and the text may end after each of them (*accepts), or
 * after none.  TEXT_COUNTED: the same for *n characters, and no more can follow. */
enum text_kind { TEXT_IRREGULAR, TEXT_FREE, TEXT_COUNTED };
/* Return the groups of plain characters that lead from the state to itself, each with all its characters. */
uint16_t text_loops(const struct dfa *d, uint32_t state);
enum text_kind text_kind(const struct dfa *d, uint32_t state, uint32_t longest, uint32_t *accepts,
                         uint32_t *n);
int build_slots_entry(struct entry_builder *f, const struct object_shape *o);
int build_lex_entry(struct entry_builder *f);
/* ITEM_LEX_SET: the decoder; then for each terminal its automaton, its flags (enum lex_flag), its state,
 * ascending */
enum { SET_MODE, SET_ACC, SET_FIRST, SET_WORDS = 3 };
enum lex_flag { LEX_IS_SKIP = 1, LEX_IS_LAZY = 2 };
static inline uint32_t lex_set_size(const struct stack_item *set)
{
	return (set->n - (uint32_t)SET_FIRST) / SET_WORDS;
}
void mask_states_drop(struct mask *k); /* free the cached parser states */

/* Get or compute an entry, valid until mask_free_retired.  steps: the most it may cost */
int mask_get_entry(struct entry **out, struct mask *k, const struct trie *t,
                   const struct entry_key *key, const struct entry_source *from, uint64_t steps,
                   infer_error *err);
void mask_free_retired(struct mask *k);
int mask_has(const struct mask *k, const struct entry_key *key); /* 1: the entry is cached */

const struct trie *vocab_trie(const struct vocab *v);
/* Tokens with a quote, or with `escapes` a quote or \: the trie of their texts; a bit for each. */
const struct trie *vocab_quotes(const struct vocab *v, int escapes);
const uint64_t *vocab_quoted(const struct vocab *v, int escapes);
/* As vocab_mask, for the texts of a trie; the tokens are added to bits. */
int vocab_walk(const struct trie *t, struct match *m, const struct match_state *at, uint64_t *bits,
               struct budget *left, infer_error *err);
static inline void bit_set(uint64_t *bits, uint32_t id) { bits[id / 64] |= UINT64_C(1) << id % 64; }
static inline void bit_clear(uint64_t *bits, uint32_t id)
{
	bits[id / 64] &= ~(UINT64_C(1) << id % 64);
}
static inline int bit_get(const uint64_t *bits, uint32_t id)
{
	return bits[id / 64] >> id % 64 & 1;
}
#endif
