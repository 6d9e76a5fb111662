/* engine/constrain.h (private) - answers under a grammar: data that all constrained requests of an engine
 * share, and the grammar state of one request.
 *
 * The shared part is allocated by the first constrained request.  If the grammar forces the next bytes, the
 * tokenizer encodes them after the last token.  The last token of the encoding is left out, since bytes that
 * follow may belong to it.  The others are drawn as usual, each as the only one allowed, so the result is
 * the same whether they are computed one by one or as rows of one step. */
#ifndef ENGINE_CONSTRAIN_H
#define ENGINE_CONSTRAIN_H
#include <pthread.h>
#include <infer/grammar.h>
#include <infer/token.h>
#include "mask/mask.h"
#include "grammar/shared.h"

enum { FORCED_TOKENS = 64, FORCED_BYTES = 128, FORCED_KEY = 192 }; /* most at a time */

/* The token masks of one grammar, shared by all its requests. */
struct shared_mask {
	struct shared_mask *next;
	infer_grammar *g;
	struct mask *mask;
	uint64_t *tokens; /* of each set of tokens of the grammar; NULL: there are none */
	uint32_t users;
};
/* A cached encoding: bytes forced after a token, and their token ids. */
struct spelling {
	uint32_t from, n_key, n_ids; /* key: bytes of that token; forced bytes from key[from] on */
	char key[FORCED_KEY];
	int32_t ids[FORCED_TOKENS];
};
struct constraints {
	pthread_mutex_t lock; /* guards all below */
	const infer_tokenizer *tok;
	int32_t n_vocab; /* of the model */
	struct vocab *vocab;
	struct shared_mask *masks;  /* most recently used first */
	struct spelling *spellings; /* [SPELLINGS], by hash */
	struct tok_run *run;
	int32_t *ends, n_ends; /* EOG tokens */
	int32_t *newlines, n_newlines;
	struct mask_worker *mask_worker; /* computes masks while the model runs a step; or NULL */
};
int constraints_new(struct constraints **out, const infer_tokenizer *tok, int32_t n_vocab,
                    infer_error *err);
void constraints_free(struct constraints *c); /* NULL is fine */
/* token_sets.c: find the tokens of each set of a grammar; the caller frees *out with mem_free.
 * INFER_EEMPTY  the model does not have a token; INFER_ENOMEM */
int token_sets_new(uint64_t **out, const struct constraints *c, const struct grammar *g,
                   infer_error *err);
/* Return the bytes of a token for the grammar; *n 0: the token is never allowed. *control 1: a control
 * token, whose bytes the grammar reads after a 0xff, which is left out here. */
void constraints_bytes(const struct constraints *c, int32_t id, const char **at, size_t *n,
                       int *control);
/* Encode forced bytes that follow token `last` into ids[FORCED_TOKENS]; returns how many, or -1 with *err.
 * cut: leave out the last token, because the text may continue within it. */
int32_t constraints_spell(struct constraints *c, int32_t last, const char *bytes, uint32_t n,
                          int cut, int32_t *ids, infer_error *err);

/* Options of a request under a grammar. */
struct grammar_state_opts {
	infer_grammar *grammar;      /* NULL: only reasoning is limited */
	struct infer_str free_until; /* the text is free up to and including it; len 0: never */
	/* tags of reasoning, which is ended after reason_most tokens; close.len 0: no reasoning */
	struct infer_str reason_open, reason_close;
	int32_t reason_most, reason_limit; /* as in reason_init */
	int keeps_reason;                  /* reasoning is never ended */
	int32_t last;                      /* last token of the prompt */
	const int32_t *stops;              /* tokens that end the answer; must outlive the state */
	int32_t n_stops;
	int ignore_ends, no_forced; /* EOG tokens do not end the answer; never force tokens */
};
struct grammar_state;
int grammar_state_new(struct grammar_state **out, struct constraints *c,
                      const struct grammar_state_opts *o, infer_error *err);
void grammar_state_free(struct grammar_state *f); /* NULL is fine */
/* Return the tokens allowed next, as n_vocab bits, valid until grammar_state_accept; NULL with *err on
 * failure. */
const uint64_t *grammar_state_allowed(struct grammar_state *f, infer_error *err);
/* Advance by a token that was drawn.  On failure, grammar_state_error returns the error. */
void grammar_state_accept(struct grammar_state *f, int32_t token);
/* Prepare the mask of this position, or of the one after the forced tokens: look_up only if it is cached,
 * compute always. Optional: grammar_state_allowed computes what is missing. */
void grammar_state_look_up(struct grammar_state *f);
void grammar_state_compute(struct grammar_state *f);
int grammar_state_ready(const struct grammar_state *f); /* true if no mask has to be prepared */
/* Store the tokens that the grammar forces next in ids[0 .. cap); returns how many. */
int32_t grammar_state_forced(const struct grammar_state *f, uint64_t *ids, int32_t cap);
/* True if the text is complete and no token can follow. */
int grammar_state_complete(const struct grammar_state *f);
/* Return the error of an earlier grammar_state_accept, or NULL. */
const infer_error *grammar_state_error(const struct grammar_state *f);
#endif
