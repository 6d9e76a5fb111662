/* infer/token.h - conversion between text and token ids.   floor: tok
 *
 * A tokenizer is immutable and may be shared freely.  A detokeniser holds the bytes of one stream:
 * confined.  SentencePiece BPE with byte fallback and unigram: Kudo+ 2018, arXiv:1808.06226;
 * byte-level BPE: Radford+ 2019; WordPiece: Wu+ 2016, arXiv:1609.08144. */
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
 * stay open: pieces are borrowed from it.
 * INFER_EUNSUP   an unknown tokenizer model or pre-tokenizer, by name; no vocabulary; pieces longer
 * than in any real vocabulary INFER_EFORMAT  inconsistent lengths, merges or special ids outside
 * the vocabulary, ...; names the key INFER_ENOMEM A 128k-token
 *                vocabulary takes under 10 ms. */
int infer_tokenizer_open(infer_tokenizer **out, const infer_file *file, infer_error *err);
void infer_tokenizer_close(infer_tokenizer **t);

enum {
	/* parse the text of control tokens ("<|im_start|>"); otherwise it is plain text */
	INFER_ENCODE_SPECIAL = 1 << 0,
	INFER_ENCODE_ADD = 1 << 1, /* add BOS / EOS / SEP as the model's flags say */
};

/* Encode any bytes.  Ill-formed UTF-8 becomes byte tokens; a vocabulary without byte tokens uses
 * its unknown token, or U+FFFD if it has none or one with another purpose (<|endoftext|>).  Without
 * INFER_ENCODE_SPECIAL, no text becomes a control token except that unknown token.  n < 2^29.
 * O(n log n) in the worst case, for any bytes and any vocabulary. ids   out; mem_free-compatible:
 * give
 * it to infer_ids_free; NULL where *n_ids is 0 INFER_EUNSUP  the pre-tokenizer's pattern reached
 * its match limit, at a byte offset; the vocabulary cannot represent a byte; the file's
 *               rules for characters make the text many times as long
 * INFER_EINVAL  the text is too long
 * INFER_ENOMEM */
int infer_encode(const infer_tokenizer *t, const char *text, size_t n, uint32_t flags,
                 int32_t **ids, size_t *n_ids, infer_error *err);
void infer_ids_free(int32_t *ids);
/* Two texts as one, as models that compare them are trained: BOS a EOS SEP b EOS, of these what the
 * model's flags say, and SEP where there is no EOS.  *second: where the ids of b begin.  Errors as
 * above. */
int infer_encode_pair(const infer_tokenizer *t, struct infer_str a, struct infer_str b,
                      int32_t **ids, size_t *n_ids, size_t *second, infer_error *err);

/* The bytes that a token represents in running text; borrowed from t.  Control tokens yield their
 * text with INFER_DECODE_SPECIAL, and otherwise nothing.  INFER_EINVAL: id outside the
 * vocabulary. */
enum {
	INFER_DECODE_SPECIAL = 1 << 0,
	INFER_DECODE_FIRST = 1 << 1 /* first of the text: a SentencePiece prefix space is dropped */
};
int infer_token_bytes(const infer_tokenizer *t, int32_t id, uint32_t flags, const char **bytes,
                      size_t *n, infer_error *err);

/* Convert a stream of ids to a stream of bytes that is never cut inside a UTF-8 sequence.
 * after    -1, or the id before the first one (the last of a prompt), so that spaces are correct;
 *          BOS counts as no id */
int infer_detok_new(infer_detok **out, const infer_tokenizer *t, uint32_t flags, int32_t after,
                    infer_error *err);
/* bytes: borrowed until the next call on d; may be empty while a sequence is incomplete. Ill-formed
 * bytes are returned as they are once it is clear that they cannot become UTF-8. */
int infer_detok_put(infer_detok *d, int32_t id, const char **bytes, size_t *n, infer_error *err);
/* the bytes still held back, unchanged */
int infer_detok_end(infer_detok *d, const char **bytes, size_t *n, infer_error *err);
void infer_detok_free(infer_detok *d);

struct infer_token_info {
	struct infer_str piece; /* as stored */
	float score;            /* 0 if the vocabulary has no scores */
	int kind;               /* 1 normal 2 unknown 3 control 4 user-defined 5 unused 6 byte */
	int eog;                /* 1: ends generation */
};
int32_t infer_tokenizer_count(const infer_tokenizer *t);
const char *infer_tokenizer_kind(const infer_tokenizer *t); /* "spm" "bpe" "wpm" "unigram" */
/* the name of the pre-tokenizer, "" if there is none */
const char *infer_tokenizer_pre(const infer_tokenizer *t);
int infer_token_info(const infer_tokenizer *t, int32_t id, struct infer_token_info *info,
                     infer_error *err);
int infer_token_is_eog(const infer_tokenizer *t, int32_t id);
/* the id of a piece as stored, or -1 */
int32_t infer_token_find(const infer_tokenizer *t, const char *piece, size_t n);
enum infer_special { INFER_BOS, INFER_EOS, INFER_EOT, INFER_UNK, INFER_SEP, INFER_PAD };
int32_t infer_token_special(const infer_tokenizer *t, int which); /* id, or -1 */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
