/* mask/query.h - (private) a mask being combined from entries.  Confined; errors as in inner.h, and
 * INFER_EAGAIN if q->recall. */
#ifndef MASK_QUERY_H
#define MASK_QUERY_H
#include "mask/inner.h"

struct mask_query {
	struct mask *k;
	struct match *m;
	uint64_t *bits;
	struct budget *left;
	uint32_t depth;
	int recall; /* use cached entries only */
	infer_error *err;
};

int charge_query(struct mask_query *q, uint64_t n);
int get_entry(struct mask_query *q, struct entry **out, const struct trie *t,
              const struct entry_key *key, const struct entry_source *from);
/* True if checking n texts takes too long for mask_try_fill. */
int is_costly(const struct mask_query *q, uint32_t n);
/* Check one text byte by byte; all texts of t, from one stack or from a state. */
int check_text(struct mask_query *q, const struct trie_text *x, struct stack_item *top, int *takes);
int fill_exact(struct mask_query *q, const struct trie *t, struct stack_item *top);
int fill_state_exact(struct mask_query *q, const struct trie *t, const struct match_state *at);
/* Add the tokens of the texts of t that one stack accepts. */
int fill_stack(struct mask_query *q, const struct trie *t, struct stack_item *top);
/* lexed.c: the same for all stacks of a state of a lexed grammar */
int fill_lexed_state(struct mask_query *q, const struct trie *t, const struct match_state *at);
#endif
