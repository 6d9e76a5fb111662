/* mask/trie.h - (private) token texts as a trie.
 *
 * Nodes and texts are sorted by the bytes of the texts, prefixes first, so a subtree is a range of both.
 * A plain character is any but quotes, backslashes and control characters.  Immutable. */
#ifndef MASK_TRIE_H
#define MASK_TRIE_H
#include <stdint.h>
#include <infer/status.h>
#include "base/slab.h"

/* a token, or the rest of one; at least a byte */
struct trie_text {
	const char *at; /* borrowed */
	uint32_t n, id;
};

enum { TRIE_ANY = 255 }; /* as a number of characters: not all are plain, or more than 254 */

struct trie_node {
	uint32_t skip;   /* the next node that is not below it */
	uint32_t first;  /* the first text with this prefix; texts that end here come first */
	uint32_t depth;  /* bytes of the prefix; 0 for the root, node 0 */
	uint8_t byte;    /* last byte of the prefix */
	uint8_t height;  /* most characters of a text that begin here or below; or TRIE_ANY */
	uint16_t groups; /* bits: groups of the characters that begin at this node or below */
};

/* Plain characters are in 16 groups; all that are not ASCII are one. */
enum { TRIE_GROUPS = 16 };
struct trie_kind {              /* plain tokens whose characters have these groups */
	uint32_t groups, first; /* first: index into kind_id and kind_chars */
};
unsigned trie_group(uint8_t byte);

struct trie {
	struct slab *slab; /* borrowed */
	uint64_t serial;   /* differs between all tries of a mask */
	uint32_t n_nodes, n_texts, longest;
	struct trie_node *node; /* [n_nodes + 1] */
	struct trie_text *text; /* [n_texts] */
	uint32_t *id;           /* [n_texts] ids of the texts */
	uint8_t *chars;         /* [n_texts] characters that begin in each text; or TRIE_ANY */
	uint32_t n_quoted, n_escaped;
	uint32_t *quoted;  /* the texts with two quotes or more */
	uint32_t *escaped; /* the texts with a quote and a backslash */
	uint64_t bytes;    /* memory of the trie */
	int twice;         /* a token may have several texts */
	/* After trie_split, else NULL.  plain[l]: the plain tokens of at most l characters; the last level
	 * has no limit.  special: the other texts. */
	uint64_t *plain; /* [TRIE_LEVELS][words] */
	uint32_t words;
	struct trie *special;
	/* the plain tokens, sorted by the groups of their characters, then by length */
	uint32_t n_kinds, *kind_id;
	uint8_t *kind_chars;
	struct trie_kind *kind; /* [n_kinds + 1] */
	uint32_t begin[256];    /* the node of depth 1 with this byte; 0: none */
};
/* number of levels of trie.plain: for strings of bounded length */
enum { TRIE_LEVELS = 34 };

/* Build a trie.  text: from the slab; the trie takes it, on failure too.  INFER_EUNSUP: too large;
 * INFER_ENOMEM */
int trie_make(struct trie *t, struct trie_text *text, uint32_t n, struct slab *slab,
              infer_error *err);
/* Return the node i of depth 1, or the next of depth 1, whose byte is in `may`; n_nodes: none. */
uint32_t trie_begin(const struct trie *t, uint32_t i, const uint8_t may[256]);
/* Make plain, special and kind.  words: length of a mask.  INFER_ENOMEM */
int trie_split(struct trie *t, uint32_t words, infer_error *err);
void trie_fini(struct trie *t);
/* Return the node of this prefix; 0: there is none, or n is 0. */
uint32_t trie_find(const struct trie *t, const char *bytes, uint32_t n);
/* Return the index after the texts that end at a node; the first has index node[node].first. */
static inline uint32_t trie_end(const struct trie *t, uint32_t node)
{
	return t->node[node + 1].first;
}
#endif
