/* hf/vocab.h (private) - contents of tokenizer.json, read once: vocabulary, merges, added tokens,
 * and the texts of other members.  Confined. */
#ifndef HF_VOCAB_H
#define HF_VOCAB_H
#include "base/sip.h"
#include "hf/scan.h"

/* limit on tokens and ids */
enum { HF_TOKENS_MAX = 1 << 20 };

enum hf_model { HF_BPE, HF_UNIGRAM, HF_WORDPIECE };
/* Flags of an added token; the first four as in the key tokenizer.infer.added.flags. */
enum {
	HF_LSTRIP = 1 << 0,
	HF_RSTRIP = 1 << 1,
	HF_WORD = 1 << 2,
	HF_NORMALIZED = 1 << 3,
	HF_SPECIAL = 1 << 4
};
struct hf_piece {
	const char *s; /* text of the token; NULL: no token has this id */
	uint32_t n;
	int32_t added; /* index of an added token, or -1 */
};
struct hf_added {
	int32_t id;
	unsigned flags;
	struct infer_str content;
};

struct hf_vocab {
	struct hf_dir *d;
	struct hf_scan scan;
	/* JSON texts of members; .at NULL: absent or null */
	struct infer_str added_tokens, normalizer, pre_tokenizer, post_processor, decoder;
	/* JSON object: the members of "model" except vocab and merges */
	struct buf options;
	const struct json *norm, *pre, *post, *decode, *model; /* parsed trees of the texts above */
	enum hf_model kind;
	int bytes;               /* byte fallback: bytes without a token are encoded as <0x0A> */
	int64_t unk;             /* id of the unknown token ("unk_id"), or -1 */
	struct infer_str prefix; /* WordPiece: prefix of pieces that continue a word */
	struct hf_piece *piece;  /* [n] tokens by id */
	uint32_t n, cap;
	double *score; /* [n] scores, unigram only */
	/* Hash table with open addressing: text of a model's token -> id + 1 and hash bits. */
	uint32_t *slot, mask, n_model;
	struct sip_key sip;
	struct buf merges; /* encoded as strings in GGUF */
	uint64_t n_merges;
	struct hf_added *added; /* [n_added] in the order of the file */
	uint32_t n_added;
	int has_vocab, has_merges;
};

/* Read tokenizer.json of d.  v: zeroed; call hf_vocab_fini also after a failure.
 * INFER_EFORMAT, INFER_EUNSUP: the message names the member; INFER_ENOMEM */
int hf_vocab_read(struct hf_vocab *v, struct hf_dir *d, infer_error *err);
void hf_vocab_fini(struct hf_vocab *v);
/* Return the id of a token of the model, or -1. */
int32_t hf_vocab_find(const struct hf_vocab *v, const char *s, size_t n);
/* Add the token of an id.  member: for messages.  INFER_EFORMAT: the id is in use or too large;
 * INFER_ENOMEM */
int hf_vocab_piece(struct hf_vocab *v, uint64_t id, struct infer_str s, const char *member,
                   infer_error *err);
/* vocab_added.c: read the added tokens of tokenizer.json, then those of "added_tokens_decoder" in
 * tokenizer_config.json, whose flags take precedence.
 * INFER_EFORMAT; INFER_EUNSUP; INFER_ENOMEM */
int hf_vocab_added(struct hf_vocab *v, infer_error *err);
/* Like hf_fail, for tokenizer.json. */
#define hf_vocab_fail(v, code, err, ...) \
	hf_fail((v)->d, (v)->d->tokenizer.name, code, err, __VA_ARGS__)

/* form.c: return the name of a pre-tokenizer for the key tokenizer.ggml.pre.  *plain: true if a
 * reader of GGUF with this name and the keys tokenizer.ggml.* tokenizes exactly as tokenizer.json,
 * so that no tokenizer.infer.* keys are needed. */
const char *hf_form(const struct hf_vocab *v, int *plain);
#endif
