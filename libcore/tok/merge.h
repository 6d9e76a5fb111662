/* tok/merge.h (private) - the merges of BPE and SentencePiece BPE: repeatedly merge the best pair
 * of neighbours, the leftmost of equal ones.  O(n log n).  Sennrich+ 2016, arXiv:1508.07909,
 * algorithm 1. */
#ifndef TOK_MERGE_H
#define TOK_MERGE_H
#include <stddef.h>
#include <stdint.h>

/* at, len: offset and length in the word */
struct merge_sym {
	uint32_t at, len;
	int32_t id;
	int32_t prev, next;
};
/* key: rank << 32 | index of the left symbol */
struct merge_pair {
	uint64_t key;
	uint32_t len;
	int32_t to;
};

struct merge {
	/* the caller fills at, len and id of n symbols; afterwards, the n remaining symbols */
	struct merge_sym *sym;
	size_t n, cap;
	struct merge_pair *heap;
	size_t heap_n, heap_cap;
};

#define MERGE_NONE UINT32_MAX
/* Return the rank of merging l and r (lower ranks first), and *to: the id of the new symbol.
 * MERGE_NONE: they do not merge. */
typedef uint32_t merge_rank(void *user, const struct merge_sym *l, const struct merge_sym *r,
                            int32_t *to);

/* Reserve n symbols in *m (NULL at first).  INFER_OK or INFER_ENOMEM */
int merge_room(struct merge **m, size_t n);
int merge_heap(struct merge *m, size_t n); /* reserve n pairs of the heap */
/* Merge until no pair merges.  INFER_OK or INFER_ENOMEM */
int merge_run(struct merge *m, merge_rank *rank, void *user);
void merge_free(struct merge *m);
#endif
