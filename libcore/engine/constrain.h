/* engine/constrain.h (private) - answers under constraints: what an engine shares among them, and
 * how far each is.
 *
 * What is shared is made when the first constraint comes, and not at all without one.  Where the
 * bytes that follow are forced, the tokenizer encodes them behind the last token.  The last of these
 * tokens is left out, since the bytes behind it may belong to it too.  The others are drawn as usual,
 * each as the only one allowed; so the result is the same whether they are computed one by one or
 * as rows of one step. */
#ifndef ENGINE_CONSTRAIN_H
#define ENGINE_CONSTRAIN_H
#include <pthread.h>
#include <infer/grammar.h>
#include <infer/token.h>
#include "mask/mask.h"
#include "grammar/shared.h"

enum { AHEAD = 64, AHEAD_BYTES = 128, AHEAD_KEY = 192 };

/* The mask of one constraint, for all that have it. */
struct shared_mask {
	struct shared_mask *next;
	infer_grammar *g;
	struct mask *mask;
	uint32_t users;
};
/* Forced bytes behind a token, and their ids. */
struct spelling {
	uint32_t from, n_key, n_ids; /* from: the bytes of the token before them */
	char key[AHEAD_KEY];
	int32_t ids[AHEAD];
};
struct constraints {
	pthread_mutex_t lock; /* of all below */
	const infer_tokenizer *tok;
	int32_t n_vocab; /* of the model */
	struct vocab *vocab;
	struct shared_mask *masks;  /* the one used last comes first */
	struct spelling *spellings; /* a table by hash */
	struct tok_run *run;
	int32_t *ends, n_ends; /* tokens that end generation */
	int32_t *newlines, n_newlines;
	struct beside *beside; /* finds masks while the model computes */
};
int constraints_new(struct constraints **out, const infer_tokenizer *tok, int32_t n_vocab,
                    infer_error *err);
void constraints_free(struct constraints *c); /* NULL is fine */
/* The bytes of a token for a matcher, without the 0xff that precedes those of a control token
 * (*control); n 0: never admitted. */
void constraints_bytes(const struct constraints *c, int32_t id, const char **at, size_t *n,
                       int *control);
/* Tokens of bytes behind a token `last`: ids [AHEAD]; returns how many.  cut: the text may go on
 * within the last of them, which is left out. */
int32_t constraints_spell(struct constraints *c, int32_t last, const char *bytes, uint32_t n,
                          int cut, int32_t *ids, infer_error *err);

/* A request under its constraint. */
struct follow_opts {
	infer_grammar *grammar;
	struct infer_str free_until; /* len 0: constrained from the start */
	/* reasoning that is ended behind reason_most tokens; close.len 0: there is none */
	struct infer_str reason_open, reason_close;
	int32_t reason_most;
	int32_t last;         /* token of the prompt */
	const int32_t *stops; /* tokens that end it; must outlive the follow */
	int32_t n_stops;
	int ignore_ends, no_ahead;
};
struct follow;
int follow_new(struct follow **out, struct constraints *c, const struct follow_opts *o,
               infer_error *err);
void follow_free(struct follow *f); /* NULL is fine */
/* The tokens that may come next: bits of n_vocab; valid until follow_take.  NULL: *err says why. */
const uint64_t *follow_allowed(struct follow *f, infer_error *err);
/* A token was drawn.  A failure is kept. */
void follow_take(struct follow *f, int32_t token);
/* Find out beforehand what follow_allowed will say here, or behind the tokens that are sure to come:
 * if that can be looked up; or whatever it takes.  Nothing is said otherwise for it. */
void follow_recall(struct follow *f);
void follow_find(struct follow *f);
int follow_ready(const struct follow *f); /* there is nothing to find out */
/* Tokens that are sure to come next, at most cap; returns how many. */
int32_t follow_ahead(const struct follow *f, uint64_t *ids, int32_t cap);
/* The text is complete, and nothing can follow. */
int follow_done(const struct follow *f);
/* What a follow_take met, or NULL. */
const infer_error *follow_error(const struct follow *f);
#endif
