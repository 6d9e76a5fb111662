/* mask/trie.h - (private) texts, by the beginnings that they share.
 *
 * Nodes and texts are in the order of the texts' bytes, a node before what begins with it, so a
 * subtree is a range of both.  Immutable. */
#ifndef MASK_TRIE_H
#define MASK_TRIE_H
#include <stdint.h>
#include <infer/status.h>
#include "base/slab.h"

/* what is left of a token, at least a byte */
struct trie_text {
	const char *at; /* borrowed */
	uint32_t n, id;
};

/* of tall, of chars: there are quotes, backslashes, controls, bytes that no text has, or too many */
enum { TRIE_ANY = 255 };

struct trie_node {
	uint32_t skip;  /* the next node that is not below it */
	uint32_t first; /* of the texts that begin so; those that end here come first */
	uint32_t depth; /* bytes; the root, node 0, has none */
	uint8_t byte;
	uint8_t tall;    /* the most characters that begin here and below; TRIE_ANY: or else */
	uint16_t groups; /* a bit for each group of characters that begin here and below */
};

/* Groups of plain characters, those that tall counts; all that are not ASCII are one. */
enum { TRIE_GROUPS = 16 };
struct trie_kind {
	uint32_t groups, first; /* of kind_id and kind_chars */
};
unsigned trie_group(uint8_t byte);

struct trie {
	struct slab *slab; /* borrowed */
	uint64_t serial;
	uint32_t n_nodes, n_texts, longest;
	struct trie_node *node; /* [n_nodes + 1] */
	struct trie_text *text; /* [n_texts] */
	uint32_t *id;           /* [n_texts] once more, in one piece */
	uint8_t *chars;         /* [n_texts] characters that begin in it; TRIE_ANY: or else */
	uint32_t n_quoted, n_escaped;
	uint32_t *quoted;  /* the texts with two quotes or more */
	uint32_t *escaped; /* those with a quote and a backslash */
	uint64_t bytes;    /* that it takes */
	int twice;         /* a token may have several texts */
	/* of trie_split: the tokens of at most so many characters, level by level, the last one
	 * without a limit, and the texts that the levels lack; NULL: there are none */
	uint64_t *plain; /* [TRIE_LEVELS][words] */
	uint32_t words;
	struct trie *odd;
	/* the plain tokens once more, by the groups of their characters, then by their number */
	uint32_t n_kinds, *kind_id;
	uint8_t *kind_chars;
	struct trie_kind *kind; /* [n_kinds + 1] */
	uint32_t begin[256];    /* the node of the texts that begin so; 0: there is none */
};
/* Strings whose length is bounded ask for the tokens of at most so many characters. */
enum { TRIE_LEVELS = 34 };

/* text: of the slab, owned from here on; also on failure */
int trie_make(struct trie *t, struct trie_text *text, uint32_t n, struct slab *slab,
              infer_error *err);
/* The node i, of depth 1, or the next such one, whose byte may come. */
uint32_t trie_begin(const struct trie *t, uint32_t i, const uint8_t may[256]);
/* words: of a mask */
int trie_split(struct trie *t, uint32_t words, infer_error *err);
void trie_fini(struct trie *t);
/* The node of the texts that begin so; 0: there is none, or n is 0. */
uint32_t trie_find(const struct trie *t, const char *bytes, uint32_t n);
/* the texts that end at a node are those from first to here */
static inline uint32_t trie_end(const struct trie *t, uint32_t node)
{
	return t->node[node + 1].first;
}
#endif
