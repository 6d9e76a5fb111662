/* tok/added.h (private) - added tokens in a text, found by one automaton (Aho and Corasick, 1975):
 * all of them in one pass, whatever their number.  Immutable once made. */
#ifndef TOK_ADDED_H
#define TOK_ADDED_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

struct infer_tokenizer;
struct tok_ids;

/* An added token: the text that becomes it. */
struct tok_entry {
	const char *s;
	uint32_t n;
	int32_t id;
};

/* any, user: the longest entry that begins with the string of a node, or -1; of all tokens, and of
 * user-defined ones. */
struct tok_node {
	uint32_t parent, fail;
	int32_t any, user;
	unsigned char c;
};
struct tok_added {
	struct tok_entry *entry; /* [n_entries] owned; their texts are borrowed */
	uint32_t n_entries;
	struct tok_node *node; /* [n] */
	/* [n] like user, without tokens that end generation; NULL: no user-defined token ends
	 * generation */
	int32_t *content;
	uint32_t *slot, mask, n; /* (node, c) to node, by hash */
	uint32_t last[256];      /* and from node 0 */
};

/* Of the tokens of t that are added by their kind. */
int tok_added_new(struct tok_added *a,
                  const struct infer_tokenizer *t); /* INFER_OK or INFER_ENOMEM */
/* Of entry[0 .. n), which *a owns from here on; of equal texts the last one counts. */
int tok_added_of(struct tok_added *a, const struct infer_tokenizer *t, struct tok_entry *entry,
                 uint32_t n);
void tok_added_free(struct tok_added *a);
/* The places where added tokens may begin, from the end of s to its start: to out the index,
 * then that of the longest entry. flags, content: as in tok_encode.  O(n). */
void tok_added_find(const struct tok_added *a, const struct infer_tokenizer *t, const char *s,
                    size_t n, const unsigned char *content, uint32_t flags, struct tok_ids *out);

struct tok_run;
/* A text between added tokens; first: it begins the text. */
typedef int tok_part(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                     int first, infer_error *err);
/* Alternate between the text up to the next added token, which is given to fn, and that token, which is
 * appended to the ids.  found: scratch */
int tok_added_split(struct tok_run *r, const struct tok_added *a, struct tok_ids *found,
                    const char *s, size_t n, const unsigned char *content, uint32_t flags,
                    tok_part *fn, infer_error *err);
#endif
