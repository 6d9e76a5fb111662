/* infer-run/chat/repl.h - the state of -i: a model, a conversation with it, and its input and
 * screen.  Confined. */
#ifndef INFER_RUN_CHAT_REPL_H
#define INFER_RUN_CHAT_REPL_H
#include "input.h"
#include "infer-run/run.h"
#include "screen.h"
#include "conversation.h"

/* What answers took. */
struct tally {
	int64_t answers; /* 0: of a turn that was taken back */
	int64_t prompt, cached, computed, answered;
	int64_t prefill_ns, decode_ns;
};

struct repl {
	struct run_opts o; /* .model may have been changed by /model */
	const struct opt_rest *rest;
	struct run run;
	struct chat chat; /* has no template with --raw */
	int special;      /* infer_reply_special of model and template */
	struct buf model; /* path of the model given to /model; empty: the model of the options */
	struct conversation conversation;
	struct buf ids;  /* int32_t []: the ids of the last prompt and its answer */
	struct buf fill; /* the text that /edit puts into the editor */
	struct buf file; /* that /save wrote or /load read last */
	struct chat_input input;
	struct screen screen;
	struct tally last,
		all;   /* last: zeroed before the first turn; all: of answers that stayed */
	int64_t drawn; /* answers that took random numbers */
	/* editing: the next input replaces the user's last turn */
	int editing, end;
	int code; /* the exit code of the first failure, if input is not a terminal */
};

/* Open the model of r->o, its template and an engine.  On failure r keeps those it had. */
int repl_open_model(struct repl *r, infer_error *err);
/* Check that the template accepts the conversation.  One without messages is always accepted. */
int repl_check(struct repl *r, const struct conversation *t, infer_error *err);

/* 1: the last turn is the user's. */
int repl_waits(const struct repl *r);
/* Let the model answer.  *kept is 0 if it was stopped before its first word, and then nothing was
 * added.  On failure the conversation is unchanged.   INFER_ENOMEM: the context is full, among
 * others */
int repl_answer(struct repl *r, int *kept, infer_error *err);
/* Add a turn of the user and its answer; without an answer the turn is removed again. at: the
 * message that it replaces, together with all that follow; or the number of messages */
int repl_say(struct repl *r, size_t at, const struct buf *text, infer_error *err);

/* rest: the text after the name.
 * INFER_EINVAL  unknown command, or not possible now; or the error of the command */
int repl_command(struct repl *r, const char *name, const char *rest, infer_error *err);
/* The names of commands, synonyms too: a tab_command. */
const char *repl_command_name(size_t i, int *file);
#endif
