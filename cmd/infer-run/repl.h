/* infer-run/repl.h - what the files of -i share: a model, a conversation with it, and who leads it.
 * Confined. */
#ifndef INFER_RUN_REPL_H
#define INFER_RUN_REPL_H
#include "front.h"
#include "run.h"
#include "screen.h"
#include "talk.h"

struct repl {
	struct run_opts o; /* .model is what /model made it */
	const struct opt_rest *rest;
	struct run run;
	struct chat chat; /* without a template: --raw */
	int special;      /* infer_reply_special of the two */
	struct buf model; /* path of a model that /model took; empty: that of the options */
	struct talk talk;
	struct buf ids;  /* int32_t []: the last prompt and its answer */
	struct buf fill; /* what /edit wants changed */
	struct front front;
	struct screen screen;
	struct infer_usage last, all; /* all: sums of counts and times */
	int64_t answers;
	/* editing: what is read next takes the place of the last turn of the user */
	int editing, end;
	int code; /* of the first failure, where nobody sits there */
};

/* The model of r->o, its template and engine.  What r had before stays where this fails. */
int repl_open_model(struct repl *r, infer_error *err);
/* Is it a conversation that the template takes?  One without messages always is. */
int repl_check(struct repl *r, const struct talk *t, infer_error *err);

/* The last turn is the user's. */
int repl_waits(const struct repl *r);
/* Let the model answer.  *kept: 0 where it was stopped before its first word, and nothing was
 * added.  On failure the conversation is as it was, too.   INFER_ENOMEM: the context is full, among
 * others */
int repl_answer(struct repl *r, int *kept, infer_error *err);
/* A turn of the user, and its answer; where there is none the turn is taken back.
 * at: the message that it takes the place of, with all behind it; or as many as there are */
int repl_say(struct repl *r, size_t at, const struct buf *text, infer_error *err);

/* rest: what follows the name.
 * INFER_EINVAL  no such command, or not now, with a sentence; and what the command meets */
int repl_command(struct repl *r, const char *name, const char *rest, infer_error *err);
#endif
