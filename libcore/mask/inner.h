/* mask/inner.h - (private) remembered masks, and how they are computed.
 *
 * An entry says of one frame which texts of a trie may come as far as the frame itself decides, and
 * what is left of the texts behind the frame's ends.  The frame's own content is its key: entries
 * of strings, names and numbers are found by automaton and state, others by a copy of the frame
 * that stands on ITEM_HOLE. */
#ifndef MASK_INNER_H
#define MASK_INNER_H
#include <pthread.h>

#include "mask/mask.h"
#include "ir/match_step.h"
#include "mask/trie.h"

enum form { FORM_FRAME, FORM_STRING, FORM_NAME, FORM_TEXT, FORM_NUMBER, FORM_SLOTS };

/* no padding */
struct mask_key {
	uint64_t serial; /* of the trie */
	const void *what;
	uint32_t form, d[5];
};

/* The texts that end the frame, or the name of a slot. */
struct ending {
	uint32_t slot;    /* NOWHERE: none */
	uint32_t n, *id;  /* names: tokens that end with it; others are among the entry's */
	struct trie rest; /* the remaining bytes of the other tokens */
};

/* A token that may come if one of these slots may. */
struct slot_token {
	uint32_t id, lo, hi;
};

struct entry {
	struct entry *chain;
	struct mask_key key;
	struct stack_item *frame; /* of the key; NULL: none */
	uint64_t steps, bytes;
	uint32_t n; /* tokens, whichever is shorter: */
	uint32_t *id;
	uint64_t *bits;
	int may_leave; /* the frame may end before a byte */
	uint32_t n_endings, n_slots, n_odd;
	struct ending *ending;
	struct slot_token *slot;
	uint32_t *odd; /* texts about which the slots do not decide alone */
};

/* A place on the hole, and where each byte leads. */
struct mask_state {
	struct match_state place;
	uint32_t hash, chain, asked;
	uint8_t safe, measured; /* so many plain characters leave a way on and no end; found out */
	uint8_t outside;        /* of all strings */
	int leaves;             /* the hole is among its stacks, or next */
	uint32_t *next;         /* [256] 0: not known; NULL: not asked often enough */
};

struct mask {
	const struct grammar *g;
	const struct vocab *v;
	uint32_t n_tokens, words;
	pthread_mutex_t lock; /* all that follows */
	struct slab slab;     /* all of it */
	struct match *m;      /* for frames on the hole */
	struct stack_item *hole, *done;
	uint64_t serial, left; /* bytes */
	struct entry **bucket, *old;
	uint32_t mask, n_entries;
	struct mask_state *state;
	uint32_t n_states, cap_states, *state_bucket;
	uint64_t *scratch; /* [words], all zero between entries */
	uint64_t *touched; /* a bit for each word of scratch that is not */
};
enum { STATE_BUCKETS = 4096 };

/* Where an entry is found out. */
struct mask_from {
	struct stack_item *frame; /* the frame on the hole; NULL: none */
	const struct dfa *text;
	uint32_t state;
	int free; /* behind state all is alike for as long as a text of the trie */
};

/* While an entry is found out. */
struct finder {
	struct mask *k;
	const struct mask_from *from;
	const struct trie *t;
	struct entry *e;
	uint64_t steps; /* that may still be taken */
	struct mask_exit {
		uint32_t node, slot;
	} * exit;
	uint32_t n_exits, cap_exits, cap_slots, cap_odd;
	infer_error *err;
};

/* The token may come. */
static inline void finder_set(const struct finder *f, uint32_t id)
{
	f->k->scratch[id / 64] |= UINT64_C(1) << id % 64;
	f->k->touched[id / 4096] |= UINT64_C(1) << id / 64 % 64;
}
static inline int finder_charge(struct finder *f, uint64_t n)
{
	f->e->steps += n;
	return f->e->steps <= f->steps;
}
/* The next node from i on; of those of depth 1 only the ones whose byte may come. */
static inline uint32_t finder_next(const struct finder *f, uint32_t i, const uint8_t may[256])
{
	return i < f->t->n_nodes && f->t->node[i].depth == 1 ? trie_begin(f->t, i, may) : i;
}
int finder_too_long(struct finder *f); /* its error */
/* The texts a ... b - 1 may come. */
void finder_take(struct finder *f, uint32_t a, uint32_t b);
void finder_clear(struct mask *k);
int finder_exit(struct finder *f, uint32_t node, uint32_t slot);
int finder_grow(struct finder *f, void *p, uint32_t *cap, uint32_t need, size_t size);
/* What was taken and the exits become the entry; its trie's texts are in order. */
int finder_done(struct finder *f);
void entry_free(struct mask *k, struct entry *e);

/* How a frame is found out: by its stack, by its automaton, by the names of its object. */
int walk_frame(struct finder *f);
int walk_text(struct finder *f);
/* TEXT_FREE: `longest` characters, whatever they are, leave a way on, and the text may end behind
 * each of them and before, *accepts, or behind none.  TEXT_COUNTED: the same with *n characters, and
 * none may come behind them. */
enum text_kind { TEXT_OWN, TEXT_FREE, TEXT_COUNTED };
enum text_kind text_kind(const struct dfa *d, uint32_t state, uint32_t longest, uint32_t *accepts,
                         uint32_t *n);
int walk_slots(struct finder *f, const struct object_shape *o);
void mask_states_drop(struct mask *k);

/* The entry, found out where it is not remembered, until mask_settle.
 * steps: it may take so many */
int mask_entry(struct entry **out, struct mask *k, const struct trie *t, const struct mask_key *key,
               const struct mask_from *from, uint64_t steps, infer_error *err);
void mask_settle(struct mask *k);
int mask_has(const struct mask *k, const struct mask_key *key); /* the entry is remembered */

const struct trie *vocab_trie(const struct vocab *v);
/* the tokens with a quote, or with a quote or \: their texts, and a bit for each */
const struct trie *vocab_quotes(const struct vocab *v, int escapes);
const uint64_t *vocab_quoted(const struct vocab *v, int escapes);
/* As vocab_mask, for a trie; the tokens are added to bits. */
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
