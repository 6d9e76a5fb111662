/* infer-run/chat/repl.c - the loop of -i: read a turn, answer it. */
#include "repl.h"
#include "common/input.h"
#include "common/say.h"
#include "common/sig.h"
#include <infer/reply.h>
#include "base/err.h"

#include <string.h>

/* ---- the model ---- */

static int take_chat(struct chat *c, const struct repl *r, const struct run *run, infer_error *err)
{
	infer_error why = { 0 };

	*c = (struct chat){ 0 };
	if (r->o.raw)
		return INFER_OK;
	int rc = chat_take(c, &r->o.chat, infer_model_file(run->model),
	                   infer_model_tokenizer(run->model), &why);

	if (!rc)
		chat_apply_budget(c);
	if (!rc && c->is_chatml)
		say_warning("the model has no chat template: the conversation is written as "
		            "ChatML; --raw continues a text");
	if (rc) {
		chat_fini(c);
		return err_set(err, rc, "%s", why.message);
	}
	return INFER_OK;
}

int repl_open_model(struct repl *r, infer_error *err)
{
	struct run_opts *o = &r->o;
	struct run run;
	struct chat chat;
	int rc = run_open(&run, o, r->rest, err);

	if (!rc) {
		rc = take_chat(&chat, r, &run, err);
		if (rc)
			run_close(&run);
	}
	if (rc)
		return rc;
	if (r->run.model) {
		run_close(&r->run);
		chat_fini(&r->chat);
		sig_mapped(o->model);
	}
	r->run = run;
	r->chat = chat;
	r->chat.c.system = NULL; /* r->conversation contains these messages */
	r->chat.c.messages = NULL;
	r->chat.c.flags = 0;
	r->special = chat.template &&
	             infer_reply_special(chat.template, infer_model_tokenizer(run.model));
	buf_clear(&r->ids); /* ids of the old vocabulary */
	return INFER_OK;
}

int repl_check(struct repl *r, const struct conversation *t, infer_error *err)
{
	struct infer_conversation c = r->chat.c;
	char *rendered = NULL;
	size_t n;
	int rc;

	if (!r->chat.template || !conversation_count(t))
		return INFER_OK;
	c.turns = t->turns;
	rc = infer_chat_render(r->chat.template, infer_model_tokenizer(r->run.model), &c, &rendered,
	                       NULL, &n, err);
	infer_chat_free(rendered);
	return rc;
}

/* ---- the conversation ---- */

static int first_messages(struct repl *r, infer_error *err)
{
	const struct chat *c = &r->chat;

	if (c->messages.len)
		TRY(conversation_parse(&r->conversation, c->messages.at, c->messages.len,
		                       r->o.chat.messages, err));
	else
		TRY(conversation_init(&r->conversation, err));
	if (r->o.chat.system && conversation_is(&r->conversation, 0, "system"))
		return err_set(err, INFER_EINVAL,
		               "--system: the messages begin with a system turn already");
	if (r->o.chat.system)
		TRY(conversation_system(&r->conversation, r->o.chat.system, err));
	int rc = chat_named(r->o.chat.messages, repl_check(r, &r->conversation, err), err);

	r->o.chat.system = r->o.chat.messages = NULL; /* r->conversation contains them now */
	return rc;
}

static int take_entry(struct repl *r, infer_error *err)
{
	struct line_parser *e = &r->input.parser;
	int editing = r->editing;
	long at = editing ? conversation_last(&r->conversation, "user") : -1;
	struct buf name, rest;

	r->editing = 0;
	if (line_parser_is_blank(e))
		return INFER_OK;
	buf_init(&name, MEM_BASE);
	buf_init(&rest, MEM_BASE);
	buf_puts(&name, "");
	buf_puts(&rest, "");
	int is_command = line_parser_command(e, &name, &rest);
	int rc = name.bad || rest.bad ? err_set(err, INFER_ENOMEM, "out of memory for a line")
	         : is_command
	                 ? repl_command(r, name.at, rest.at, err)
	                 : repl_say(r, at >= 0 ? (size_t)at : conversation_count(&r->conversation),
	                            &e->text, err);

	buf_fini(&name);
	buf_fini(&rest);
	return rc;
}

/* Print an error; without a terminal, store the exit code of the first one. */
static void report_error(struct repl *r, const infer_error *err)
{
	int code = say_fail(err);

	if (r->code == EXIT_DONE && (!r->input.terminal || r->end))
		r->code = code;
}

/* Answer the first turn, if the arguments, a file or --messages contain one. */
static void first_turn(struct repl *r)
{
	infer_error err = { 0 };
	struct buf words;
	int kept, rc = INFER_OK;

	buf_init(&words, MEM_BASE);
	if (r->rest->n_words || r->o.files.n)
		rc = input_read(&words, r->rest, &r->o.files, INPUT_NO_STDIN, &input_file, &err);
	if (!rc && words.len)
		rc = repl_say(r, conversation_count(&r->conversation), &words, &err);
	else if (!rc && repl_waits(r))
		rc = repl_answer(r, &kept, &err);
	buf_fini(&words);
	if (rc)
		report_error(r, &err);
}

/* Read and answer turns until the end of input. */
static void run_loop(struct repl *r)
{
	enum chat_input_got got = CHAT_INPUT_TEXT;

	first_turn(r);
	while (!r->end) {
		infer_error err = { 0 };
		int rc = chat_input_read(&r->input, r->editing ? r->fill.at : NULL, &got, &err);

		r->end |= rc && rc != INFER_EINVAL;
		if (!rc && got == CHAT_INPUT_END)
			break;
		if (!rc && got == CHAT_INPUT_CLEARED)
			r->editing = 0;
		else if (!rc)
			rc = take_entry(r, &err);
		if (rc)
			report_error(r, &err);
	}
}

/* Return the last part of a path without a final slash; *n: its length. */
static const char *base_name(const char *path, size_t *n)
{
	size_t from;

	*n = strlen(path);
	while (*n > 1 && path[*n - 1] == '/')
		--*n;
	for (from = *n; from && path[from - 1] != '/'; from--)
		;
	*n -= from;
	return path + from;
}

/* Print the model and the main commands, on a terminal. */
static void print_greeting(struct repl *r)
{
	size_t n;
	const char *name = base_name(r->o.model ? r->o.model : "demo", &n);

	if (r->input.terminal && r->screen.err_terminal && !r->o.start.quiet)
		screen_note(&r->screen, "%.*s: /help lists the commands, Ctrl-D ends", (int)n,
		            name);
}

static void repl_fini(struct repl *r)
{
	chat_input_close(&r->input);
	conversation_fini(&r->conversation);
	chat_fini(&r->chat);
	run_close(&r->run);
	buf_fini(&r->ids);
	buf_fini(&r->fill);
	buf_fini(&r->file);
	buf_fini(&r->model);
	screen_fini(&r->screen);
}

int repl(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct repl r = { .o = *o, .rest = rest };

	buf_init(&r.ids, MEM_BASE);
	buf_init(&r.fill, MEM_BASE);
	buf_init(&r.file, MEM_BASE);
	buf_init(&r.model, MEM_BASE);
	screen_init(&r.screen);
	int rc = repl_open_model(&r, &err);

	if (!rc)
		rc = first_messages(&r, &err);
	if (!rc) {
		rc = chat_input_open(&r.input, repl_command_name, &err);
		if (!rc) {
			print_greeting(&r);
			run_loop(&r);
		}
	}
	int code = rc ? say_fail(&err) : r.code;

	repl_fini(&r);
	return code;
}
