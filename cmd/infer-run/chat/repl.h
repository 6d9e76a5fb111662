/* infer-run/chat/repl.h - the state of -i: the model, the conversation, the input and the screen.
 * Confined to one thread. */
#ifndef INFER_RUN_CHAT_REPL_H
#define INFER_RUN_CHAT_REPL_H
#include "input.h"
#include "infer-run/run.h"
#include "screen.h"
#include "conversation.h"

/* Tokens and times of answers. */
struct tally {
	int64_t answers; /* 0 in `last`: the turn was removed */
	int64_t prompt, cached, computed, answered;
	int64_t prefill_ns, decode_ns;
};

struct repl {
	struct run_opts o; /* /model changes o.model */
	const struct opt_rest *rest;
	struct run run;
	struct chat chat; /* with --raw: without a template */
	int special;      /* infer_reply_special of model and template */
	struct buf model; /* path of the model given to /model; empty: the model of the options */
	struct conversation conversation;
	struct buf ids;  /* int32_t []: token ids of the last prompt and its answer */
	struct buf fill; /* text that /edit puts into the editor */
	struct buf file; /* file of the last /save or /load */
	struct chat_input input;
	struct screen screen;
	struct tally last; /* the last turn */
	struct tally all;  /* all answers in the conversation */
	int64_t drawn;     /* answers sampled so far; added to the seed */
	int editing;       /* the next input replaces the user's last turn */
	int end;           /* end after this input */
	int code;          /* exit code of the first failure, if input is not a terminal */
};

/* Open the model of r->o, its template and an engine. On failure r keeps its old ones. */
int repl_open_model(struct repl *r, infer_error *err);
/* Check that the template accepts the conversation; an empty one is always accepted. Errors: those of
 * infer_chat_render. */
int repl_check(struct repl *r, const struct conversation *t, infer_error *err);

/* True if the last turn is the user's. */
int repl_waits(const struct repl *r);
/* Generate an answer, print it, and add it to the conversation. *kept: 0 if the answer was stopped before its
 * first word; then nothing is added. On failure the conversation is unchanged.
 * INFER_ENOMEM  the context is full, or out of memory; and the errors of the engine */
int repl_answer(struct repl *r, int *kept, infer_error *err);
/* Add a turn of the user and its answer; without an answer the turn is removed again. at: index of the
 * message that the turn replaces, with all that follow; to append the turn, the number of messages */
int repl_say(struct repl *r, size_t at, const struct buf *text, infer_error *err);

/* Run a command. rest: the text after its name.
 * INFER_EINVAL  the command is unknown or not possible now; and the errors of the commands */
int repl_command(struct repl *r, const char *name, const char *rest, infer_error *err);
/* tab_command: the names of commands and their synonyms. */
const char *repl_command_name(size_t i, int *file);
#endif
