/* tok/pipe.h (private) - the pipeline of tokenizer.json that splits text into words for the model,
 * for files whose GGUF keys cannot express it.  The keys tokenizer.infer.normalizer,
 * .pre_tokenizer, .model and .decoder are JSON texts of members of tokenizer.json;
 * tokenizer.infer.added.* are its added tokens.
 *
 *	added tokens matched in the original text  ->  normaliser  ->  added tokens matched in normalised text
 *	->  pre-tokenizer  ->  words  ->  model
 *
 * Steps give the results of the library `tokenizers` for any UTF-8.  Immutable once built. */
#ifndef TOK_PIPE_H
#define TOK_PIPE_H
#include "base/arena.h"
#include "base/json.h"
#include "tok/tok.h"

enum pipe_kind {
	/* normalisers */
	PIPE_NFC, /* this and the next three: as enum unicode_form */
	PIPE_NFD,
	PIPE_NFKC,
	PIPE_NFKD,
	PIPE_LOWER,
	PIPE_ACCENTS, /* remove marks */
	PIPE_STRIP,   /* remove white space at the ends: flags PIPE_LEFT, PIPE_RIGHT */
	PIPE_PREPEND, /* insert `with` before the text, unless the text is empty */
	PIPE_REPLACE, /* replace s, or the matches of code, by `with` */
	PIPE_BERT,    /* BertNormalizer: flags PIPE_CLEAN ... */
	PIPE_CHARSMAP,
	PIPE_NMT,
	/* pre-tokenizers */
	PIPE_BYTES,     /* ByteLevel: flags PIPE_PREFIX, PIPE_REGEX */
	PIPE_SPLIT,     /* split at s, or at the matches of code */
	PIPE_DIGITS,    /* split at characters of category N */
	PIPE_PUNCT,     /* split at ASCII punctuation and category P */
	PIPE_WHITE,     /* split at white space */
	PIPE_NOT_WORDS, /* split into runs of word characters and of other non-spaces */
	PIPE_METASPACE  /* replace spaces by `with`; flags PIPE_FIRST, PIPE_ALWAYS, PIPE_CUT */
};
enum {
	PIPE_LEFT = 1 << 0,
	PIPE_RIGHT = 1 << 1,
	PIPE_CLEAN = 1 << 0,
	PIPE_CJK = 1 << 1,
	PIPE_MARKS = 1 << 2, /* remove nonspacing marks */
	PIPE_TO_LOWER = 1 << 3,
	PIPE_PREFIX = 1 << 0,
	PIPE_REGEX = 1 << 1,
	PIPE_FIRST = 1 << 0,
	PIPE_ALWAYS = 1 << 1,
	PIPE_CUT = 1 << 2
};
/* treatment of the matches of a splitting step; the text between matches is a piece */
enum pipe_how { PIPE_REMOVED, PIPE_ISOLATED, PIPE_WITH_BEFORE, PIPE_WITH_NEXT, PIPE_CONTIGUOUS };

struct pipe_step {
	enum pipe_kind kind;
	unsigned flags;
	enum pipe_how how;
	int invert; /* treat the text between matches as the matches */
	struct infer_str s, with;
	struct pretok *def; /* expression that `code` was compiled from */
	struct pretok_code *code;
};
enum { PIPE_STEPS = 16 }; /* limit on steps of norm and of pre */

struct pipe_added {
	int32_t id;
	struct infer_str content;
	int normalized;
};
struct tok_pipe {
	struct arena arena;
	struct pipe_step norm[PIPE_STEPS], pre[PIPE_STEPS];
	int n_norm, n_pre;
	int byte_fallback, fuse_unk;
	int32_t unk;              /* unknown token; -1: none, so such text is dropped */
	uint32_t word_chars;      /* WordPiece: most characters of a known word */
	const double *score;      /* [n] unigram: scores in double; NULL: floats suffice */
	struct pipe_added *added; /* [n_added] */
	uint32_t n_added;
	/* plain: added tokens matched in the original text; normal: in normalised text */
	struct tok_added plain, normal;
};

/* State of an encode call with a pipe. */
struct pipe_run {
	struct buf text[2], word[PIPE_STEPS]; /* outputs of steps */
	struct tok_ids found;
	uint32_t flags; /* flags of the encode call */
	int first;      /* the part being normalised begins the text */
	uint32_t *cut;  /* [n_cut] pairs of offsets in a text */
	size_t n_cut, cap_cut;
};

/* pipe.c: read the keys tokenizer.infer.* of f into t->pipe; without such keys it stays NULL.
 * t->model and the tokens must be set.
 * INFER_EUNSUP, INFER_EFORMAT: the message names the member.  INFER_ENOMEM */
int pipe_open(struct infer_tokenizer *t, const struct infer_file *f, infer_error *err);
/* Set *model to the model that the key tokenizer.infer.model of f names; NULL: none, or unknown. */
int pipe_model(const struct infer_file *f, const struct tok_model **model, infer_error *err);
/* Build the tables of added tokens, after the flags are set.  INFER_ENOMEM */
int pipe_settle(struct infer_tokenizer *t);
void pipe_free(struct tok_pipe *p); /* NULL is fine */
/* pipe_steps.c: compile the JSON of a normaliser and a pre-tokenizer (NULL: none) into steps.
 * name: for messages. */
int pipe_steps(struct tok_pipe *p, const struct json *norm, const struct json *pre,
               const char *name, infer_error *err);
/* pipe_run.c: tok_encode with a pipe; appends to r->ids. */
int pipe_encode(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                uint32_t flags, infer_error *err);
void pipe_run_free(struct pipe_run *q); /* NULL is fine */
/* Push the tokens of a part of a word that the model has no token for. */
void pipe_fallback(struct tok_run *r, const char *s, size_t n);
/* pipe_normal.c: append s normalised by a step. */
int pipe_normal(struct tok_run *r, const struct pipe_step *st, struct buf *b, const char *s,
                size_t n, infer_error *err);
/* Replace *s by its normalised form, after all steps, in a.  INFER_EUNSUP, INFER_ENOMEM */
int pipe_normal_all(const struct infer_tokenizer *t, struct arena *a, struct infer_str *s);
#endif
