/* runner/delta.c - report the new part of a sample, one piece at a time */
#include "runner/delta.h"
#include "api/api.h"

/* Set the kind of the piece and its unreported tokens.  Returns 1. */
static int set_piece(struct delta_given *g, const struct infer_choice *c, const infer_tokenizer *t,
                     struct infer_delta *d, int kind)
{
	d->kind = kind;
	d->offset = g->chars;
	d->tokens = c->n_tokens ? c->tokens + g->tokens : NULL;
	d->n_tokens = c->n_tokens - g->tokens;
	for (; g->tokens < c->n_tokens; g->tokens++)
		g->chars += part_token_chars(t, c->tokens + g->tokens, g->chars);
	return 1;
}

/* Set *piece to the bytes of *all after the first *given, and *given to the length of *all.
 * Returns 0 if *piece is empty. */
static int take_new_bytes(struct infer_str *piece, const struct infer_str *all, size_t *given)
{
	if (all->len <= *given)
		return 0;
	*piece = (struct infer_str){ all->at + *given, all->len - *given };
	*given = all->len;
	return 1;
}

/* Set *d to a new part of the calls.  Returns its kind, or -1.  A call is reported once its id is
 * settled: some models write the id after the arguments. */
static int next_call_piece(struct delta_given *g, const infer_reply *r, size_t n_calls,
                           struct infer_delta *d)
{
	struct infer_reply_call c;

	if (g->calls) {
		infer_reply_call(r, g->calls - 1, &c);
		d->call = g->calls - 1;
		if (take_new_bytes(&d->text, &c.arguments, &g->args))
			return INFER_DELTA_ARGUMENTS;
	}
	if (g->calls == n_calls)
		return -1;
	infer_reply_call(r, g->calls, &c);
	if (!c.settled)
		return -1;
	d->call = g->calls++;
	g->args = 0;
	return INFER_DELTA_CALL;
}

int delta_next(struct delta_given *g, const infer_job *j, const struct infer_choice *c, int ended,
               const infer_tokenizer *t, struct infer_delta *d)
{
	struct infer_reply_parts p = { .n_calls = 0 };
	int kind;

	*d = (struct infer_delta){ .index = d->index, .text = { "", 0 } };
	if (!g->begin && api_of(j)->flags & API_BEGINS) {
		g->begin = 1;
		d->kind = INFER_DELTA_BEGIN;
		return 1;
	}
	if (c->n_read > g->read) {
		g->read = c->n_read;
		d->kind = INFER_DELTA_READ;
		return 1;
	}
	if (c->reply)
		infer_reply_get(c->reply, &p);
	if (take_new_bytes(&d->text, &p.reasoning, &g->reasoning))
		return set_piece(g, c, t, d, INFER_DELTA_REASONING);
	if (take_new_bytes(&d->text, &c->text, &g->text))
		return set_piece(g, c, t, d, INFER_DELTA_TEXT);
	kind = c->reply ? next_call_piece(g, c->reply, p.n_calls, d) : -1;
	if (kind >= 0)
		return set_piece(g, c, t, d, kind);
	if (!ended || g->end)
		return 0;
	g->end = 1;
	return set_piece(g, c, t, d, INFER_DELTA_END);
}
