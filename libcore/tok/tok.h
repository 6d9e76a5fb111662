/* tok/tok.h - inside of a tokenizer.  Immutable once open; what one encode call changes is in its
 * struct tok_run.
 *
 * A kind of tokenizer is one const struct tok_model, named in model_list.h.  A reader (gguf.c)
 * fills the first half of struct infer_tokenizer and a tok_source; tok_build checks them and makes
 * the tables. */
#ifndef TOK_TOK_H
#define TOK_TOK_H
#include <stddef.h>
#include <stdint.h>
#include <infer/token.h>
#include "tok/added.h"
#include "tok/pretok.h"

enum tok_kind { TOK_NORMAL = 1, TOK_UNKNOWN, TOK_CONTROL, TOK_USER, TOK_UNUSED, TOK_BYTE };
enum {
	TOK_EOG = 1 << 0,
	TOK_SHOWN = 1 << 1 /* control, but part of the answer */,
	TOK_RSTRIP = 1 << 2,
	TOK_LSTRIP = 1 << 3
};
enum tok_id {
	TOK_BOS,
	TOK_EOS,
	TOK_EOT,
	TOK_EOM,
	TOK_UNK,
	TOK_SEP,
	TOK_PAD,
	TOK_MASK,
	TOK_CLS,
	TOK_FIM_PAD,
	TOK_FIM_REP,
	TOK_FIM_SEP,
	TOK_IDS
};

/* bytes of a piece, where each length from each place of a text is looked up */
enum { TOK_LONGEST = 512 };
#define TOK_SPACE "\xe2\x96\x81" /* U+2581 stands for a space in pieces */

struct tok_string {
	uint32_t at, len;
};
/* end: of what may be read */
struct tok_strings {
	const char *base, *end;
	struct tok_string *at;
	uint32_t n;
};
/* Open addressing; of equal keys the last index.  A slot: index + 1 in the low bits (at), the high
 * bits of the hash above; 0: empty.  Small, because opening a large vocabulary is bound by cache
 * and TLB misses. */
struct tok_map {
	uint32_t *slot, mask, at;
};
/* its index is its rank */
struct tok_merge {
	uint32_t left, right, to;
};
/* A precompiled_charsmap, see spm.h. */
struct spm_charsmap {
	const unsigned char *unit;
	uint32_t n_units;
	const char *text;
	uint32_t n_text;
};

struct infer_tokenizer {
	/* from the reader */
	const struct tok_model *model;
	struct tok_strings piece; /* as stored */
	uint8_t *kind, *flag;     /* [n] enum tok_kind; TOK_EOG ... */
	float *score;             /* [n], or NULL */
	int32_t id[TOK_IDS];      /* -1: none */
	int add_bos, add_eos, add_sep, add_space, squeeze, lower, strip;
	const struct pretok *pre; /* BPE only */
	char pre_name[64];
	/* from tok_build */
	uint64_t secret[3];   /* of the hashes, for this tokenizer alone */
	char *text;           /* what the tokens stand for, one behind the other */
	uint32_t *text_at;    /* [n + 1] */
	struct tok_map map;   /* of piece */
	int doubles;          /* some pieces are equal */
	int32_t byte_id[256]; /* -1: none */
	uint32_t max_len;     /* bytes of the longest piece */
	/* no piece holds U+2581 behind something else: words do not touch each other */
	int apart;
	struct pretok_code *pre_code; /* BPE only, and the next two */
	struct tok_merge *merge;
	struct tok_map pair;          /* (left, right) to rank */
	struct spm_charsmap charsmap; /* SentencePiece kinds */
	float unk_score, max_score;   /* unigram only, and the next */
	uint16_t *reach; /* bytes of the longest piece that begins with a code point, by its hash */
	/* from tok_settle */
	struct tok_added added; /* control, unknown and user-defined tokens */
	int32_t unk;            /* stands for text that cannot be spelled; -1: none */
	int ends_in_text;       /* some tokens that end generation are no control tokens */
};

/* What tok_build asks of the reader beside the first half of the tokenizer.  Merges are read once,
 * in order. */
struct tok_source {
	const char *name; /* for messages */
	uint32_t n_merges;
	void (*next_merge)(struct tok_source *src, struct infer_str *left_right);
	const char *merges_end; /* of the bytes that merges lie in */
	const unsigned char *charsmap;
	size_t charsmap_bytes;
	const struct infer_meta *meta; /* the reader's own: where its next merge is */
	size_t cursor;
};

/* Growing list of ids; failing is sticky. */
struct tok_ids {
	int32_t *at;
	size_t n, cap;
	int bad;
};
void tok_push(struct tok_ids *ids, int32_t id);

/* Short words met before in this call, with their ids: one cache line each, a newer word takes an
 * older one's place. */
struct tok_word {
	uint32_t hash;
	uint8_t len, n;
	char key[26];
	int32_t id[8];
};

struct merge;
struct tok_run {
	const struct infer_tokenizer *t;
	struct tok_ids ids;
	size_t unk_end;        /* ids.n behind an unknown token that stands for text */
	struct tok_word *word; /* [word_mask + 1]; NULL: none */
	uint32_t word_mask;
	struct merge *merge; /* scratch of merge.c */
	const char *end; /* of the bytes that words lie in, set by the kind: reading stops there */
	/* [n] spm.c: bytes of the left part of an unused piece; NULL until one is met */
	uint32_t *left;
	int no_end; /* somebody said this: no token that ends generation comes of it */
	/* a byte that neither a byte token nor an unknown token stands for */
	int lost;
	unsigned lost_byte;
};

struct tok_model {
	const char *gguf;    /* value of tokenizer.ggml.model */
	const char *kind;    /* infer_tokenizer_kind */
	const char *pre;     /* pre-tokenizer where the file names none; NULL: the kind has none */
	int32_t id[TOK_IDS]; /* where the file names none; -1: none */
	int add_bos, add_eos, add_sep, add_space, squeeze;
	int scored;       /* the file must have scores */
	uint32_t longest; /* bytes of a piece: more is refused; 0: any */
	/* Build what the kind needs beyond the common tables; close frees it. */
	int (*open)(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
	void (*close)(struct infer_tokenizer *t);
	/* What a normal piece stands for, put to out (room for n + 8 bytes); returns its bytes. */
	size_t (*text)(const struct infer_tokenizer *t, const char *piece, size_t n, char *out);
	/* Tokens of text between added tokens. */
	int (*encode)(struct tok_run *r, const char *s, size_t n, infer_error *err);
};
const struct tok_model *tok_model_find(const char *name, size_t n); /* NULL: not known */

/* tok.c */
/* infer_encode, where said (NULL, or [n]) marks what a conversation says: no control token and none
 * that ends generation comes of these bytes. */
int tok_encode(const infer_tokenizer *t, const char *text, size_t n, const unsigned char *said,
               uint32_t flags, int32_t **ids, size_t *n_ids, infer_error *err);
int tok_build(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
/* What follows from flags, which the reader finds by looking tokens up.  INFER_OK or
 * INFER_ENOMEM. */
int tok_settle(struct infer_tokenizer *t);
/* Whether text may become the token as far as its end goes. */
static inline int tok_may(const struct tok_run *r, int32_t id)
{
	return !(r->no_end && r->t->flag[id] & TOK_EOG);
}
static inline int32_t tok_byte(const struct tok_run *r, unsigned char b) /* its token, or -1 */
{
	int32_t id = r->t->byte_id[b];
	return id >= 0 && tok_may(r, id) ? id : -1;
}
int tok_byte_of(const char *s, size_t n); /* the byte of "<0x0A>", or -1 */
/* byte tokens, or the unknown token */
void tok_fallback(struct tok_run *r, const char *s, size_t n);
/* The ids of a short word from the cache, pushed: 1; 0: not there, and *slot is where tok_word_put
 * shall put it (or NULL). */
int tok_word_get(struct tok_run *r, const char *s, size_t n, struct tok_word **slot);
/* ids from ... on */
void tok_word_put(struct tok_run *r, struct tok_word *slot, const char *s, size_t n, size_t from);

/* map.c, and tok/key.h for what is inline */
int tok_map_new(struct tok_map *m, uint32_t n); /* room for n; INFER_OK or INFER_ENOMEM */
/* nonzero: some strings are equal */
int tok_map_fill(struct tok_map *m, const struct tok_strings *s, const uint64_t secret[3]);
/* The id of a piece, or -1.  No byte from end on is read: giving more than s + n is faster. */
int32_t tok_find(const struct infer_tokenizer *t, const char *s, size_t n, const char *end);
#endif
