/* infer-run/chat/command.c - the commands that begin with a slash. */
#include "repl.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/err.h"
#include <infer/type.h>

#include <stdio.h>
#include <string.h>

static int help(struct repl *r, const char *rest, infer_error *err);

/* ---- the conversation ---- */

static int exit_now(struct repl *r, const char *rest, infer_error *err)
{
	(void)rest;
	(void)err;
	r->end = 1;
	return INFER_OK;
}

static int clear(struct repl *r, const char *rest, infer_error *err)
{
	int system = conversation_is(&r->conversation, 0, "system");

	(void)rest;
	(void)err;
	conversation_cut(&r->conversation, (size_t)system);
	screen_note(&r->screen, system ? "(a new conversation, with the same system turn)"
	                               : "(a new conversation)");
	return INFER_OK;
}

/* One turn, as it is. */
static int show_turn(struct repl *r, size_t i, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = conversation_content(&r->conversation, i, &text, err);

	if (!rc)
		screen_lines(&r->screen, text.at ? text.at : "", text.len);
	buf_fini(&text);
	return rc;
}

static int system_turn(struct repl *r, const char *rest, infer_error *err)
{
	int rc;

	if (!r->chat.template)
		return err_set(err, INFER_EINVAL,
		               "/system: a text that is gone on with (--raw) has no system turn");
	if (!*rest) {
		if (conversation_is(&r->conversation, 0, "system"))
			return show_turn(r, 0, err);
		screen_note(&r->screen, "(no system turn; /system TEXT makes one)");
		return INFER_OK;
	}
	TRY(conversation_keep(&r->conversation, err));
	rc = conversation_system(&r->conversation, strcmp(rest, "-") ? rest : NULL, err);
	if (!rc)
		rc = repl_check(r, &r->conversation, err);
	if (rc)
		conversation_undo(&r->conversation);
	return rc;
}

static int save(struct repl *r, const char *rest, infer_error *err)
{
	if (!*rest)
		return err_set(err, INFER_EINVAL, "/save needs a file");
	TRY(conversation_save(&r->conversation, rest, err));
	screen_note(&r->screen, "(%zu messages saved)", conversation_count(&r->conversation));
	return INFER_OK;
}

static int load(struct repl *r, const char *rest, infer_error *err)
{
	struct conversation t;

	if (!*rest)
		return err_set(err, INFER_EINVAL, "/load needs a file");
	TRY(conversation_load(&t, rest, err));
	int rc = repl_check(r, &t, err);

	if (rc) {
		conversation_fini(&t);
		return rc;
	}
	conversation_fini(&r->conversation);
	r->conversation = t;
	screen_note(
		&r->screen,
		repl_waits(r)
			? "(%zu messages loaded; the last is a question still: /regen answers it)"
			: "(%zu messages loaded)",
		conversation_count(&r->conversation));
	return INFER_OK;
}

static int regen(struct repl *r, const char *rest, infer_error *err)
{
	size_t n = conversation_count(&r->conversation);
	int kept;

	(void)rest;
	if (conversation_last(&r->conversation, "user") < 0)
		return err_set(err, INFER_EINVAL, "/regen: nothing was said that can be answered");
	TRY(conversation_keep(&r->conversation, err));
	if (conversation_is(&r->conversation, n - 1, "assistant"))
		conversation_cut(&r->conversation, n - 1);
	int rc = repl_answer(r, &kept, err);

	if (rc || !kept)
		conversation_undo(&r->conversation);
	return rc;
}

static int edit(struct repl *r, const char *rest, infer_error *err)
{
	long at = conversation_last(&r->conversation, "user");
	struct buf text;

	if (at < 0)
		return err_set(err, INFER_EINVAL, "/edit: there is no turn of yours yet");
	if (!*rest && !r->input.editor)
		return err_set(err, INFER_EINVAL,
		               "/edit needs the new text behind it, where lines are not edited");
	if (!*rest) {
		buf_clear(&r->fill);
		r->editing = 1;
		return conversation_content(&r->conversation, (size_t)at, &r->fill, err);
	}
	buf_init(&text, MEM_BASE);
	buf_puts(&text, rest);
	int rc = text.bad ? err_set(err, INFER_ENOMEM, "out of memory for a turn")
	                  : repl_say(r, (size_t)at, &text, err);

	buf_fini(&text);
	return rc;
}

/* ---- the model ---- */

static int show_model(struct repl *r)
{
	struct infer_model_info m;
	struct infer_engine_info e;

	infer_model_info(r->run.model, &m);
	infer_engine_info(r->run.engine, &e);
	screen_note(&r->screen, "%s: %.*s%s%s, %.3g billion parameters, context of %d tokens",
	            r->o.model ? r->o.model : "demo", (int)m.name.len, m.name.at ? m.name.at : "",
	            m.name.len ? ", " : "", m.arch, (double)m.n_params / 1e9, (int)e.ctx);
	return INFER_OK;
}

static int model(struct repl *r, const char *rest, infer_error *err)
{
	const char *before = r->o.model;
	struct buf path;

	if (!*rest)
		return show_model(r);
	buf_init(&path, MEM_BASE);
	buf_puts(&path, rest);
	r->o.model = path.at;
	int rc = path.bad ? err_set(err, INFER_ENOMEM, "out of memory for a path")
	                  : repl_open_model(r, err);

	if (rc) {
		r->o.model = before;
		sig_mapped(before ? before : "demo");
		buf_fini(&path);
		return rc;
	}
	buf_fini(&r->model);
	r->model = path;
	return show_model(r);
}

static double per_s(int64_t n, int64_t ns)
{
	return ns > 0 && n > 0 ? (double)n * 1e9 / (double)ns : 0;
}

static void put_usage(struct buf *b, const char *what, const struct infer_usage *u, int64_t answers)
{
	int64_t computed = u->prompt_tokens - u->cached_tokens;

	buf_printf(b,
	           "%-14sprompt %lld tokens: %lld cached, %lld computed at %.1f tokens/s; %lld "
	           "answered at %.1f tokens/s\n",
	           what, (long long)u->prompt_tokens, (long long)u->cached_tokens,
	           (long long)computed, per_s(computed, u->prefill_ns),
	           (long long)u->completion_tokens,
	           per_s(u->completion_tokens - answers, u->decode_ns));
}

static int stats(struct repl *r, const char *rest, infer_error *err)
{
	struct infer_engine_stats s;
	struct infer_engine_info e;
	struct buf b;
	char what[40];

	(void)rest;
	infer_engine_stats(r->run.engine, &s);
	infer_engine_info(r->run.engine, &e);
	buf_init(&b, MEM_BASE);
	if (r->answers) {
		put_usage(&b, "last answer", &r->last, 1);
		snprintf(what, sizeof what, "%lld answers", (long long)r->answers);
		put_usage(&b, what, &r->all, r->answers);
	}
	buf_printf(&b, "%-14s%zu of %d tokens in the last prompt and its answer; %zu messages\n",
	           "context", r->ids.len / sizeof(int32_t), (int)e.ctx,
	           conversation_count(&r->conversation));
	buf_printf(&b, "%-14s%llu bytes: %llu of %llu pages of 32 positions, %s keys and %s values",
	           "KV cache", (unsigned long long)(s.kv_pages_used * s.kv_page_bytes),
	           (unsigned long long)s.kv_pages_used, (unsigned long long)s.kv_pages,
	           infer_type_info(e.k_type)->name, infer_type_info(e.v_type)->name);
	buf_printf(&b, "\n%-14s%llu for the first answer, one more for each that follows", "seed",
	           (unsigned long long)r->run.sampling.o.seed);
	int rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for /stats") : INFER_OK;

	if (!rc)
		screen_lines(&r->screen, b.at, b.len);
	buf_fini(&b);
	return rc;
}

/* ---- the table ---- */

enum { TAKES_REST = 1 };
static const struct command {
	const char *name, *arg, *help;
	int (*run)(struct repl *r, const char *rest, infer_error *err);
	unsigned flags;
} commands[] = {
	{ "help", "", "this list", help, 0 },
	{ "system", "[TEXT|-]", "show the system turn, or make TEXT it; - takes it away",
	  system_turn, TAKES_REST },
	{ "save", "FILE", "the conversation, as --messages takes it", save, TAKES_REST },
	{ "load", "FILE", "go on with a conversation", load, TAKES_REST },
	{ "regen", "", "answer the last turn anew", regen, 0 },
	{ "edit", "[TEXT]", "change your last turn, and have it answered", edit, TAKES_REST },
	{ "stats", "", "tokens, speed, context and cache", stats, 0 },
	{ "model", "[MODEL]", "show the model, or go on with another", model, TAKES_REST },
	{ "clear", "", "begin a new conversation", clear, 0 },
	{ "exit", "", "end, as the end of input does", exit_now, 0 },
};

static int help(struct repl *r, const char *rest, infer_error *err)
{
	struct buf b;

	(void)rest;
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		buf_printf(&b, "/%-7s%-10s%s\n", commands[i].name, commands[i].arg,
		           commands[i].help);
	buf_puts(&b, "A line that ends with \\ goes on with the next; \"\"\" begins and ends a "
	             "text of many lines.");
	int rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for /help") : INFER_OK;

	if (!rc)
		screen_lines(&r->screen, b.at, b.len);
	buf_fini(&b);
	return rc;
}

int repl_command(struct repl *r, const char *name, const char *rest, infer_error *err)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		if (strcmp(name, commands[i].name))
			continue;
		if (*rest && !(commands[i].flags & TAKES_REST))
			return err_set(err, INFER_EINVAL, "/%s takes nothing behind it", name);
		return commands[i].run(r, rest, err);
	}
	return err_set(err, INFER_EINVAL, "unknown command /%.40s; /help lists them all", name);
}
