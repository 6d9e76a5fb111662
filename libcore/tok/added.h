/* tok/added.h (private) - find added tokens in a text with one automaton (Aho and Corasick, 1975):
 * all in one pass.  Immutable once built. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

struct infer_tokenizer;
struct tok_ids;

/* An added token: its text and its id. */
struct tok_entry {
	const char *s;
	uint32_t n;
	int32_t id;
};

/* any, user: index of the longest entry, and of the longest user-defined one, that is a prefix of
 * the node's string; -1: none. */
struct tok_node {
	uint32_t parent, fail;
	int32_t any, user;
	unsigned char c;
};
struct tok_added {
	struct tok_entry *entry; /* [n_entries] owned; the texts are borrowed */
	uint32_t n_entries;
	struct tok_node *node; /* [n] */
	/* [n] tok_node.user without tokens that end generation; NULL: equal to tok_node.user */
	int32_t *content;
	uint32_t *slot, mask, n; /* hash table: (node, c) -> node */
	uint32_t last[256];      /* children of node 0, by c */
};

/* Build the automaton from the tokens of t whose kind makes them added tokens. */
int tok_added_new(struct tok_added *a,
                  const struct infer_tokenizer *t); /* INFER_OK or INFER_ENOMEM */
/* Build the automaton from entry[0 .. n), which *a then owns.  The last of equal texts counts. */
int tok_added_of(struct tok_added *a, const struct infer_tokenizer *t, struct tok_entry *entry,
                 uint32_t n);
void tok_added_free(struct tok_added *a);
/* Append to out, for each byte of s at which an added token begins, from the last to the first: the
 * index of the byte, then the longest entry.  flags, content: as in tok_encode.  O(n) */
void tok_added_find(const struct tok_added *a, const struct infer_tokenizer *t, const char *s,
                    size_t n, const unsigned char *content, uint32_t flags, struct tok_ids *out);

struct tok_run;
/* Called with a text between added tokens; first: 1 if it begins the whole text. */
typedef int tok_part(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                     int first, infer_error *err);
/* Split s at added tokens: call fn with the text before each, and append the token's id.  found:
 * scratch. */
int tok_added_split(struct tok_run *r, const struct tok_added *a, struct tok_ids *found,
                    const char *s, size_t n, const unsigned char *content, uint32_t flags,
                    tok_part *fn, infer_error *err);
#endif
