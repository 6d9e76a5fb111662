/* tok/tok.h - internals of a tokenizer.  Immutable once open, usable by any thread.  The mutable
 * state of an encode call is struct tok_run, confined to its caller.  Tokens are pushed to r->ids:
 * if out of memory, ids.bad is set, and the encode call returns INFER_ENOMEM at its end.
 *
 * A kind of tokenizer is one const struct tok_model, named in model_list.h.  A reader (gguf.c)
 * fills the members of struct infer_tokenizer marked "set by the reader" and a tok_source;
 * tok_build checks them and builds the tables. */
#ifndef TOK_TOK_H
#define TOK_TOK_H
#include <stddef.h>
#include <stdint.h>
#include <infer/token.h>
#include "base/buf.h"
#include "tok/added.h"
#include "tok/pretok.h"
#include "tok/run.h"
enum tok_kind { TOK_NORMAL = 1, TOK_UNKNOWN, TOK_CONTROL, TOK_USER, TOK_UNUSED, TOK_BYTE };
enum {
	TOK_EOG = 1 << 0,
	TOK_SHOWN = 1 << 1 /* a control token that is shown in answers */,
	TOK_RSTRIP = 1 << 2,
	TOK_LSTRIP = 1 << 3,
	TOK_WORD = 1 << 4,   /* an added token that must be a whole word */
	TOK_OUTSIDE = 1 << 5 /* an added token that is not in the vocabulary of the model */
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

/* limit on the bytes of a piece, for kinds that look up every length at every position of a text */
enum { TOK_LONGEST = 512 };
#define TOK_SPACE "\xe2\x96\x81" /* U+2581, a space in pieces */

struct tok_string {
	uint32_t at, len;
};
/* end: end of the readable bytes from base on */
struct tok_strings {
	const char *base, *end;
	struct tok_string *at;
	uint32_t n;
};
/* Hash table with open addressing; of equal keys, the last index counts.  A slot is 0 (empty), or
 * index + 1 in the bits of mask `at` and hash bits above.  Small slots, because opening a tokenizer
 * is limited by cache and TLB misses. */
struct tok_map {
	uint32_t *slot, mask, at;
};
/* A merge; its index is its rank. */
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
	/* set by the reader */
	const struct tok_model *model;
	const struct tok_model *base; /* defaults; differs from model if there is a pipe */
	struct tok_strings piece;     /* pieces as stored in the file */
	uint8_t *kind, *flag;         /* [n] enum tok_kind; bits TOK_EOG ... */
	float *score;                 /* [n] scores of pieces; NULL: none */
	int32_t id[TOK_IDS];          /* ids of special tokens; -1: none */
	/* tokens before and after a text; NULL: given by the flags below */
	int32_t *around;
	uint32_t n_before, n_after;
	int add_bos, add_eos, add_sep, add_space, squeeze, lower, strip;
	const struct pretok *pre; /* pre-tokenizer, BPE only */
	int raw; /* BPE: no byte alphabet: U+2581 is a space in pieces, symbols are code points */
	int letters; /* BPE: words are in the byte alphabet already; symbols are code points */
	int whole;   /* BPE: a word that is a token is not split */
	struct tok_pipe *pipe; /* splits text into words; NULL: the members above say how */
	char pre_name[64];
	/* set by tok_build */
	uint64_t secret[3];   /* secret of the hashes, random for each tokenizer */
	char *text;           /* texts of all tokens, concatenated */
	uint32_t *text_at;    /* [n + 1] offset of each text */
	struct tok_map map;   /* piece to id */
	int duplicates;       /* some pieces are equal */
	int32_t byte_id[256]; /* token of each byte; -1: none */
	uint32_t max_len;     /* bytes of the longest piece */
	/* true if words can be encoded separately: no piece has U+2581 after another character */
	int words_separate;
	struct pretok_code *pre_code; /* this and the next two: BPE only */
	struct tok_merge *merge;
	struct tok_map pair;          /* (left, right) to rank of merge */
	struct spm_charsmap charsmap; /* SentencePiece kinds only */
	double unk_score;             /* this and the next two: unigram only */
	float max_score;
	uint16_t *reach; /* bytes of the longest piece, by the hash of its first code point */
	/* set by tok_settle */
	struct tok_added added; /* control, unknown and user-defined tokens */
	int32_t unk;            /* id for text that cannot be encoded; -1: none */
	int ends_in_text;       /* some tokens that end generation are not control tokens */
};

struct tok_pipe;
/* Input of tok_build in addition to the members set by the reader.  Borrowed for the call.  Merges
 * are read once, in order. */
struct tok_source {
	const char *name; /* for messages */
	uint32_t n_merges;
	void (*next_merge)(struct tok_source *src, struct infer_str *left_right);
	const char *merges_end; /* end of the bytes of the merges */
	const unsigned char *charsmap;
	size_t charsmap_bytes;
	const struct infer_meta *meta; /* private to the reader: position of its next merge */
	size_t cursor;
};

struct tok_model {
	const char *gguf;    /* its value of tokenizer.ggml.model */
	const char *kind;    /* result of infer_tokenizer_kind */
	const char *pre;     /* default pre-tokenizer; NULL: the kind has none */
	int32_t id[TOK_IDS]; /* default ids of special tokens; -1: none */
	/* tokens before and after a text; NULL: given by the flags below */
	int32_t *around;
	uint32_t n_before, n_after;
	int add_bos, add_eos, add_sep, add_space, squeeze;
	int scored;       /* the file must have scores */
	uint32_t longest; /* most bytes of a piece: longer ones are refused; 0: no limit */
	/* Build the tables of this kind, in addition to the common ones.  close frees them, after a
	 * failure too.  INFER_EFORMAT INFER_EUNSUP INFER_ENOMEM */
	int (*open)(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
	void (*close)(struct infer_tokenizer *t);
	/* Write the string of a normal piece to out (space for n + 8 bytes); returns its bytes. */
	size_t (*text)(const struct infer_tokenizer *t, const char *piece, size_t n, char *out);
	/* Push the tokens of a word, if the tokenizer has a pipe; NULL: the kind has no pipes.
	 * INFER_ENOMEM */
	int (*word)(struct tok_run *r, const char *s, size_t n, infer_error *err);
	/* Push the tokens of text between added tokens.  INFER_ENOMEM; INFER_EUNSUP: see
	 * spm_normal */
	int (*encode)(struct tok_run *r, const char *s, size_t n, infer_error *err);
};
const struct tok_model *tok_model_find(const char *name, size_t n); /* NULL: unknown name */

/* tok.c */
/* Like infer_encode; content (NULL, or [n]) marks bytes of messages, which must not become control
 * tokens or tokens that end generation.  Fails as infer_encode. */
int tok_encode(const infer_tokenizer *t, const char *text, size_t n, const unsigned char *content,
               uint32_t flags, int32_t **ids, size_t *n_ids, infer_error *err);
/* Check what the reader set, and build the tables.  INFER_EFORMAT INFER_EUNSUP INFER_ENOMEM.  After
 * a failure, call infer_tokenizer_close. */
int tok_build(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
/* Set the members that depend on the flags.  Call it after tok_build and the flags are set.
 * INFER_OK or INFER_ENOMEM */
int tok_settle(struct infer_tokenizer *t);
/* False if the token ends generation and the text must not yield such tokens. */
static inline int tok_may(const struct tok_run *r, int32_t id)
{
	return !(r->no_end && r->t->flag[id] & TOK_EOG);
}
static inline int32_t tok_byte(const struct tok_run *r, unsigned char b) /* its token, or -1 */
{
	int32_t id = r->t->byte_id[b];
	return id >= 0 && tok_may(r, id) ? id : -1;
}
/* Return the code point of a byte in the alphabet of byte-level BPE. */
uint32_t tok_letter(unsigned char b);
int tok_byte_of(const char *s, size_t n); /* return 10 for "<0x0A>"; -1: not a byte */
/* Push the byte tokens of s, or the unknown token, or the byte tokens of U+FFFD.  Sets r->lost if there
 * are none of them; with a pipe it pushes nothing then. */
void tok_fallback(struct tok_run *r, const char *s, size_t n);
/* Push the ids of a short word from the cache and return 1.  Returns 0 if it is not cached; *slot
 * is then the slot for tok_word_put, or NULL if the word cannot be cached. */
int tok_word_get(struct tok_run *r, const char *s, size_t n, struct tok_word **slot);
/* Store the word with the ids pushed from index `from` on; nothing if slot is NULL. */
void tok_word_put(struct tok_run *r, struct tok_word *slot, const char *s, size_t n, size_t from);

/* map.c; the inline part is in tok/key.h */
/* Make a table for n entries; free m->slot with mem_free.  INFER_OK or INFER_ENOMEM */
int tok_map_new(struct tok_map *m, uint32_t n);
/* Fill the table; nonzero if some strings are equal. */
int tok_map_fill(struct tok_map *m, const struct tok_strings *s, const uint64_t secret[3]);
/* Return the id of a piece, or -1.  Reads no byte at or after `end`; faster if end >= s + 16. */
int32_t tok_find(const struct infer_tokenizer *t, const char *s, size_t n, const char *end);
#endif
