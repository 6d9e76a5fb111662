/* infer/token.h - conversion between text and token ids.   floor: tok
 *
 * A tokenizer is Immutable, a detokenizer (of one stream) Confined.  SentencePiece BPE with byte
 * fallback and unigram: Kudo+ 2018, arXiv:1808.06226; byte-level BPE: Radford+ 2019; WordPiece:
 * Wu+ 2016, arXiv:1609.08144. */
#ifndef INFER_TOKEN_H
#define INFER_TOKEN_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_tokenizer infer_tokenizer;
typedef struct infer_detok infer_detok;

/* Build a tokenizer from the tokenizer.* keys of a model file of any architecture.  The file must
 * stay open, because pieces are borrowed from it.  A vocabulary of 128k tokens takes less than 10
 * ms.
 * INFER_EUNSUP: no vocabulary; an unknown tokenizer model or pre-tokenizer, by name; a piece is
 *               longer than supported.
 * INFER_EFORMAT: a key has a wrong length or an id outside the vocabulary; names the key.
 * INFER_ENOMEM */
int infer_tokenizer_open(infer_tokenizer **out, const infer_file *file, infer_error *err);
void infer_tokenizer_close(infer_tokenizer **t);

enum {
	/* convert the text of control tokens ("<|im_start|>") to their ids; otherwise it is plain
	 * text */
	INFER_ENCODE_SPECIAL = 1 << 0,
	INFER_ENCODE_ADD = 1 << 1, /* add BOS, EOS and SEP as the model's flags say */
};

/* Encode n < 2^29 bytes.  Ill-formed UTF-8 becomes byte tokens; a vocabulary without byte tokens
 * uses its unknown token, or U+FFFD if that is missing or has another purpose (<|endoftext|>).
 * Without INFER_ENCODE_SPECIAL, no text becomes a control token except the unknown token.  O(n log
 * n) at worst.
 * ids: out, [*n_ids], owned by the caller: free it with infer_ids_free.  NULL if *n_ids is 0.
 * INFER_EUNSUP: the pre-tokenizer's pattern reached its match limit, with the byte offset; the
 *               vocabulary cannot represent a byte; the file's character rules expand the text many
 *               times.
 * INFER_EINVAL: the text is too long.
 * INFER_ENOMEM */
int infer_encode(const infer_tokenizer *t, const char *text, size_t n, uint32_t flags,
                 int32_t **ids, size_t *n_ids, infer_error *err);
void infer_ids_free(int32_t *ids); /* NULL is fine */
/* Encode two texts as one, in the form that rankers are trained on: BOS a EOS SEP b EOS, as far as
 * the model's flags say so; SEP if there is no EOS.  *second: index of the first id of b.
 * Ownership and errors as infer_encode. */
int infer_encode_pair(const infer_tokenizer *t, struct infer_str a, struct infer_str b,
                      int32_t **ids, size_t *n_ids, size_t *second, infer_error *err);

/* Return the bytes of a token in running text, borrowed from t.  A control token has its text with
 * INFER_DECODE_SPECIAL, and no bytes otherwise.  INFER_EINVAL: id outside the vocabulary. */
enum {
	INFER_DECODE_SPECIAL = 1 << 0,
	INFER_DECODE_FIRST = 1 << 1 /* first of the text: drop the space that SentencePiece adds */
};
int infer_token_bytes(const infer_tokenizer *t, int32_t id, uint32_t flags, const char **bytes,
                      size_t *n, infer_error *err);

/* Create a detokenizer: it converts a stream of ids to bytes that are never cut inside a UTF-8
 * sequence.
 * after: the id before the first one (the last of a prompt), so that spaces are correct; -1 or BOS:
 * none.
 * INFER_EINVAL: `after` is outside the vocabulary.  INFER_ENOMEM */
int infer_detok_new(infer_detok **out, const infer_tokenizer *t, uint32_t flags, int32_t after,
                    infer_error *err);
/* Add an id.  *bytes: text that is complete, possibly empty, borrowed until the next call on d.
 * Bytes that cannot become UTF-8 any more are returned as they are.  INFER_EINVAL: id outside the
 * vocabulary.  INFER_ENOMEM; d stays usable after both. */
int infer_detok_put(infer_detok *d, int32_t id, const char **bytes, size_t *n, infer_error *err);
/* Return the bytes still held back, unchanged; borrowed until the next call on d, which may go on
 * with the text.  Always INFER_OK. */
int infer_detok_end(infer_detok *d, const char **bytes, size_t *n, infer_error *err);
void infer_detok_free(infer_detok *d); /* NULL is fine */

struct infer_token_info {
	struct infer_str piece; /* as stored; borrowed */
	float score;            /* 0 if the vocabulary has no scores */
	int kind;               /* 1 normal 2 unknown 3 control 4 user-defined 5 unused 6 byte */
	int eog;                /* 1: ends generation */
};
int32_t infer_tokenizer_count(const infer_tokenizer *t); /* tokens of the vocabulary */
/* Return the kind: "spm", "bpe", "wpm" or "unigram".  Static. */
const char *infer_tokenizer_kind(const infer_tokenizer *t);
/* Return the name of the pre-tokenizer, "" if there is none.  Borrowed. */
const char *infer_tokenizer_pre(const infer_tokenizer *t);
/* Fill *info.  INFER_EINVAL: id outside the vocabulary. */
int infer_token_info(const infer_tokenizer *t, int32_t id, struct infer_token_info *info,
                     infer_error *err);
/* True if the token ends generation; false for an id outside the vocabulary. */
int infer_token_is_eog(const infer_tokenizer *t, int32_t id);
/* Return the id of a piece as stored, or -1. */
int32_t infer_token_find(const infer_tokenizer *t, const char *piece, size_t n);
enum infer_special { INFER_BOS, INFER_EOS, INFER_EOT, INFER_UNK, INFER_SEP, INFER_PAD };
int32_t infer_token_special(const infer_tokenizer *t,
                            int which); /* enum infer_special; id, or -1 */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
