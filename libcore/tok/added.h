/* tok/added.h (private) - added tokens in a text, found by one automaton (Aho and Corasick, 1975):
 * all of them in one pass, whatever their number.  Immutable once made. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H
#include <stddef.h>
#include <stdint.h>

struct infer_tokenizer;
struct tok_ids;

/* any, user: the longest added token that begins with the string of a node, or -1; of all tokens,
 * and of user-defined ones. */
struct tok_node {
	uint32_t parent, fail;
	int32_t any, user;
	unsigned char c;
};
struct tok_added {
	struct tok_node *node; /* [n] */
	/* [n] like user, without tokens that end generation; NULL: no user-defined token ends
	 * generation */
	int32_t *content;
	uint32_t *slot, mask, n; /* (node, c) to node, by hash */
	uint32_t last[256];      /* and from node 0 */
};

int tok_added_new(struct infer_tokenizer *t); /* INFER_OK or INFER_ENOMEM */
void tok_added_free(struct tok_added *a);
/* The places where added tokens may begin, from the end of s to its start: to out the index,
 * then the id of the longest. flags, content: as in tok_encode.  O(n). */
void tok_added_find(const struct infer_tokenizer *t, const char *s, size_t n,
                    const unsigned char *content, uint32_t flags, struct tok_ids *out);
#endif
