/* tok/pipe.h (private) - how text becomes the words of a model, step by step: what a tokenizer.json says
 * and the keys of GGUF cannot.  The keys tokenizer.infer.normalizer, .pre_tokenizer, .model and
 * .decoder are the JSON texts of its members, tokenizer.infer.added.* its added tokens.
 *
 *	added tokens that are matched in the text as it is  ->  normaliser  ->  added tokens that are
 *	matched in normalised text  ->  pre-tokenizer  ->  words  ->  model
 *
 * Every step does what the library `tokenizers` does, for any UTF-8.  Immutable once made. */
#ifndef TOK_PIPE_H
#define TOK_PIPE_H
#include "base/arena.h"
#include "base/json.h"
#include "tok/tok.h"

enum pipe_kind {
	/* normalisers */
	PIPE_NFC, /* the next three in the order of enum unicode_form */
	PIPE_NFD,
	PIPE_NFKC,
	PIPE_NFKD,
	PIPE_LOWER,
	PIPE_ACCENTS, /* remove marks */
	PIPE_STRIP,   /* white space: flags PIPE_LEFT, PIPE_RIGHT */
	PIPE_PREPEND, /* with, unless the text is empty */
	PIPE_REPLACE, /* s, or the matches of code, by `with` */
	PIPE_BERT,    /* flags PIPE_CLEAN ... */
	PIPE_CHARSMAP,
	PIPE_NMT,
	/* pre-tokenizers */
	PIPE_BYTES,     /* flags PIPE_PREFIX, PIPE_REGEX */
	PIPE_SPLIT,     /* at s, or at the matches of code */
	PIPE_DIGITS,    /* at characters of category N */
	PIPE_PUNCT,     /* at ASCII punctuation and category P */
	PIPE_WHITE,     /* at white space */
	PIPE_NOT_WORDS, /* at all but runs of word characters, and runs of others that are no space */
	PIPE_METASPACE /* with: for a space; flags PIPE_FIRST, PIPE_ALWAYS, PIPE_CUT */
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
/* what becomes of the matches of a step that splits; the rest is pieces */
enum pipe_how { PIPE_REMOVED, PIPE_ISOLATED, PIPE_WITH_BEFORE, PIPE_WITH_NEXT, PIPE_CONTIGUOUS };

struct pipe_step {
	enum pipe_kind kind;
	unsigned flags;
	enum pipe_how how;
	int invert; /* matches are what lies between them */
	struct infer_str s, with;
	struct pretok *def; /* of code */
	struct pretok_code *code;
};
enum { PIPE_STEPS = 16 }; /* more are refused */

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
	int32_t unk;              /* -1: none, and what cannot be encoded is left out */
	uint32_t word_chars;      /* WordPiece: a longer word is unknown */
	const double *score;      /* [n] unigram: if floats are not exact; else NULL */
	struct pipe_added *added; /* [n_added] */
	uint32_t n_added;
	/* matched in the text as it is, and in normalised text */
	struct tok_added plain, normal;
};

/* The part of a run that a tokenizer with a pipe needs. */
struct pipe_run {
	struct buf text[2], word[PIPE_STEPS]; /* a step writes to one what the next one reads */
	struct tok_ids found;
	uint32_t flags; /* of the call */
	int first;      /* the part that is normalised begins the text */
	uint32_t *cut;  /* [n_cut] pairs of places in a text */
	size_t n_cut, cap_cut;
};

/* pipe.c: read the keys of f into t->pipe, which stays NULL if there are none: the model must be known
 * (t->model), and the tokens.  INFER_EUNSUP, INFER_EFORMAT: names the member; INFER_ENOMEM */
int pipe_open(struct infer_tokenizer *t, const struct infer_file *f, infer_error *err);
/* The model that the keys of f name; NULL if there is no such key, or if it is not known. */
int pipe_model(const struct infer_file *f, const struct tok_model **model, infer_error *err);
/* Make the tables of added tokens: after the flags are known.  INFER_ENOMEM */
int pipe_settle(struct infer_tokenizer *t);
void pipe_free(struct tok_pipe *p); /* NULL is fine */
/* pipe_steps.c: the steps of the trees of a normaliser and of a pre-tokenizer (NULL: none).
 * name: for messages */
int pipe_steps(struct tok_pipe *p, const struct json *norm, const struct json *pre,
               const char *name, infer_error *err);
/* pipe_run.c */
int pipe_encode(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                uint32_t flags, infer_error *err);
void pipe_run_free(struct pipe_run *q); /* NULL is fine */
/* Tokens for a part of a word that the model has no token for. */
void pipe_fallback(struct tok_run *r, const char *s, size_t n);
/* pipe_normal.c: append s normalised by a step. */
int pipe_normal(struct tok_run *r, const struct pipe_step *st, struct buf *b, const char *s,
                size_t n, infer_error *err);
/* Replace *s by itself normalised by all steps, in a.  INFER_EUNSUP, INFER_ENOMEM */
int pipe_normal_all(const struct infer_tokenizer *t, struct arena *a, struct infer_str *s);
#endif
