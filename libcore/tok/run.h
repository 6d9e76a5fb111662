/* tok/run.h (private) - mutable state of one encode call.  Confined. */
#ifndef TOK_RUN_H
#define TOK_RUN_H
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct infer_tokenizer;
struct merge;
struct pipe_run;
/* A growing list of ids.  bad: set if out of memory, and never reset. */
struct tok_ids {
	int32_t *at;
	size_t n, cap;
	int bad;
};
void tok_push(struct tok_ids *ids, int32_t id);

/* Entry of the cache of short words: one cache line.  A new word replaces the one in its slot. */
struct tok_word {
	uint32_t hash;
	uint8_t len, n;
	char key[26];
	int32_t id[8];
};

struct tok_run {
	const struct infer_tokenizer *t;
	struct tok_ids ids;
	size_t unk_end;        /* ids.n after the last unknown token */
	struct tok_word *word; /* [word_mask + 1] cache of words; NULL: no cache */
	uint32_t word_mask;
	struct merge *merge; /* merge to part_cap: scratch that is reused */
	struct buf text;
	struct tok_ids added;
	void *part;
	size_t part_cap;
	const char *end; /* end of the readable bytes around a word */
	uint32_t *left;  /* spm.c: [n] bytes of an unused piece's left part; NULL: not computed */
	struct pipe_run *pipe;
	int no_end; /* text of message content must not yield tokens that end generation */
	int lost;
	unsigned lost_byte; /* the byte that no token can encode, if lost */
};
#endif
