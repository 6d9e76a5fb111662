/* infer-run/chat/command.c - the commands of -i, such as /help. */
#include "repl.h"
#include "base/nearest.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/err.h"
#include <infer/type.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int print_help(struct repl *r, const char *rest, infer_error *err);

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- the conversation ---- */

static int exit_now(struct repl *r, const char *rest, infer_error *err)
{
	(void)rest;
	(void)err;
	r->end = 1;
	return INFER_OK;
}

static int clear_conversation(struct repl *r, const char *rest, infer_error *err)
{
	int system = conversation_is(&r->conversation, 0, "system");

	(void)rest;
	(void)err;
	conversation_cut(&r->conversation, (size_t)system);
	buf_clear(&r->file); /* that file contains the previous conversation */
	screen_note(&r->screen, system ? "(a new conversation, with the same system turn)"
	                               : "(a new conversation)");
	return INFER_OK;
}

/* Print one turn, unchanged. */
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
		return err_set(err, INFER_EINVAL, "/system: with --raw there is no system turn");
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

/* Store the path of the file that contains the conversation. /save replaces that file without asking. */
static void set_file(struct repl *r, const char *path)
{
	buf_clear(&r->file);
	buf_puts(&r->file, path);
	if (r->file.bad)
		buf_clear(&r->file);
}

/* True if the file does not exist, or the user agrees to replace it. Without a terminal it is replaced. */
static int may_replace(struct repl *r, const char *path, infer_error *err)
{
	struct stat st;
	int yes = 1;

	if (!r->input.terminal || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    (r->file.len && !strcmp(r->file.at, path)))
		return 1;
	screen_note(&r->screen, "%s exists.", path);
	if (chat_input_ask(&r->input, "Replace it? (y/n)", &yes, err))
		return 0;
	if (!yes)
		screen_note(&r->screen, "(not saved)");
	return yes;
}

static int save_file(struct repl *r, const char *rest, infer_error *err)
{
	infer_error why = { 0 };
	size_t n = conversation_count(&r->conversation);

	if (!*rest)
		return err_set(err, INFER_EINVAL, "/save needs a file");
	if (!may_replace(r, rest, &why))
		return why.code ? err_set(err, why.code, "%s", why.message) : INFER_OK;
	TRY(conversation_save(&r->conversation, rest, err));
	set_file(r, rest);
	screen_note(&r->screen, "(%zu message%s saved)", n, plural((int64_t)n));
	return INFER_OK;
}

static int load_file(struct repl *r, const char *rest, infer_error *err)
{
	struct conversation t;

	if (!*rest)
		return err_set(err, INFER_EINVAL, "/load needs a file");
	TRY(conversation_load(&t, rest, err));
	int rc = chat_named(rest, repl_check(r, &t, err), err);

	if (rc) {
		conversation_fini(&t);
		return rc;
	}
	conversation_fini(&r->conversation);
	r->conversation = t;
	set_file(r, rest);
	size_t n = conversation_count(&t);

	screen_note(&r->screen, "(%zu message%s loaded%s)", n, plural((int64_t)n),
	            repl_waits(r) ? "; the last has no answer yet: /regen answers it" : "");
	return INFER_OK;
}

static int undo_turn(struct repl *r, const char *rest, infer_error *err)
{
	long at = conversation_last(&r->conversation, "user");

	(void)rest;
	if (at < 0)
		return err_set(err, INFER_EINVAL, "/undo: there is no turn to remove");
	conversation_cut(&r->conversation, (size_t)at);
	screen_note(&r->screen, "(the last turn is removed; %ld message%s left)", at, plural(at));
	return INFER_OK;
}

static int regenerate(struct repl *r, const char *rest, infer_error *err)
{
	size_t n = conversation_count(&r->conversation);
	int kept;

	(void)rest;
	if (conversation_last(&r->conversation, "user") < 0)
		return err_set(err, INFER_EINVAL, "/regen: there is no turn to answer");
	TRY(conversation_keep(&r->conversation, err));
	if (conversation_is(&r->conversation, n - 1, "assistant"))
		conversation_cut(&r->conversation, n - 1);
	int rc = repl_answer(r, &kept, err);

	if (rc || !kept)
		conversation_undo(&r->conversation);
	return rc;
}

static int edit_turn(struct repl *r, const char *rest, infer_error *err)
{
	long at = conversation_last(&r->conversation, "user");
	struct buf text;

	if (at < 0)
		return err_set(err, INFER_EINVAL, "/edit: there is no turn to change");
	if (!*rest && !r->input.editor)
		return err_set(
			err, INFER_EINVAL,
			"/edit must be followed by the new text, since there is no line editor");
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

static int show_or_change_model(struct repl *r, const char *rest, infer_error *err)
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

static void put_tally(struct buf *b, const char *what, const struct tally *t)
{
	buf_printf(b, "%-14sprompt %lld token%s: %lld cached, %lld computed at %.1f tokens/s\n%14s",
	           what, (long long)t->prompt, plural(t->prompt), (long long)t->cached,
	           (long long)t->computed, per_s(t->computed, t->prefill_ns), "");
	if (t->answers || t->answered)
		buf_printf(b, "%lld answered at %.1f tokens/s", (long long)t->answered,
		           per_s(t->answered - (t->answers ? t->answers : 1), t->decode_ns));
	buf_puts(b, t->answers    ? "\n"
	            : t->answered ? ", and removed\n"
	                          : "stopped before the first word, and removed\n");
}

static void put_memory(struct buf *b, const struct repl *r)
{
	struct infer_engine_stats s;
	struct infer_engine_info e;

	infer_engine_stats(r->run.engine, &s);
	infer_engine_info(r->run.engine, &e);
	size_t used = r->ids.len / sizeof(int32_t), n = conversation_count(&r->conversation);

	buf_printf(b, "%-14s%zu of %d tokens in the last prompt and its answer; %zu message%s\n",
	           "context", used, (int)e.ctx, n, plural((int64_t)n));
	buf_printf(b, "%-14s%.1f MiB: %llu of %llu pages of 32 positions, %s keys and %s values\n",
	           "KV cache", (double)(s.kv_pages_used * s.kv_page_bytes) / (1 << 20),
	           (unsigned long long)s.kv_pages_used, (unsigned long long)s.kv_pages,
	           infer_kv_name(e.k_type), infer_kv_name(e.v_type));
}

static int print_stats(struct repl *r, const char *rest, infer_error *err)
{
	struct buf b;
	char what[40];

	(void)rest;
	buf_init(&b, MEM_BASE);
	if (r->last.prompt)
		put_tally(&b, r->last.answers ? "last answer" : "last turn", &r->last);
	if (r->all.answers) {
		snprintf(what, sizeof what, "%lld answer%s", (long long)r->all.answers,
		         plural(r->all.answers));
		put_tally(&b, what, &r->all);
	}
	put_memory(&b, r);
	buf_printf(&b, "%-14s%llu for the first answer, then one more each", "seed",
	           (unsigned long long)r->run.sampling.o.seed);
	int rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for /stats") : INFER_OK;

	if (!rc)
		screen_lines(&r->screen, b.at, b.len);
	buf_fini(&b);
	return rc;
}

/* ---- the table ---- */

enum { TAKES_REST = 1, TAKES_FILE = 2 };
static const struct command {
	const char *name, *arg, *help;
	int (*run)(struct repl *r, const char *rest, infer_error *err);
	unsigned flags;
} commands[] = {
	{ "help", "", "this list", print_help, 0 },
	{ "system", "[TEXT|-]", "show the system turn, or set it to TEXT; - removes it",
	  system_turn, TAKES_REST },
	{ "save", "FILE", "save the conversation, in the form of --messages", save_file,
	  TAKES_FILE },
	{ "load", "FILE", "continue a saved conversation", load_file, TAKES_FILE },
	{ "regen", "", "answer the last turn again", regenerate, 0 },
	{ "edit", "[TEXT]", "change your last turn, and answer it again", edit_turn, TAKES_REST },
	{ "undo", "", "remove your last turn and its answer", undo_turn, 0 },
	{ "stats", "", "tokens, speed, context and cache", print_stats, 0 },
	{ "model", "[MODEL]", "show the model, or continue with another", show_or_change_model,
	  TAKES_FILE },
	{ "clear", "", "begin a new conversation", clear_conversation, 0 },
	{ "exit", "", "end, like the end of input", exit_now, 0 },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Names that other programs give to the commands. */
static const struct synonym {
	const char *name, *of;
} synonyms[] = {
	{ "?", "help" },
	{ "retry", "regen" },
	{ "quit", "exit" },
	{ "bye", "exit" },
};
enum { N_SYNONYMS = sizeof synonyms / sizeof *synonyms };

/* Append the synonyms of a command: "; also /quit, /bye". */
static void put_synonyms(struct buf *b, const char *of)
{
	const char *before = "; also ";

	for (size_t i = 0; i < N_SYNONYMS; i++)
		if (!strcmp(synonyms[i].of, of)) {
			buf_printf(b, "%s/%s", before, synonyms[i].name);
			before = ", ";
		}
}

static int print_help(struct repl *r, const char *rest, infer_error *err)
{
	struct buf b;

	(void)rest;
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < N_COMMANDS; i++) {
		buf_printf(&b, "/%-7s%-10s%s", commands[i].name, commands[i].arg, commands[i].help);
		put_synonyms(&b, commands[i].name);
		buf_putc(&b, '\n');
	}
	buf_puts(
		&b,
		"A line that ends with \\ continues; \"\"\" begins and ends a text of many lines.");
	int rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for /help") : INFER_OK;

	if (!rc)
		screen_lines(&r->screen, b.at, b.len);
	buf_fini(&b);
	return rc;
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < N_SYNONYMS; i++)
		if (!strcmp(name, synonyms[i].name))
			name = synonyms[i].of;
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

const char *repl_command_name(size_t i, int *file)
{
	const char *name = i < N_COMMANDS                ? commands[i].name
	                   : i < N_COMMANDS + N_SYNONYMS ? synonyms[i - N_COMMANDS].name
	                                                 : NULL;

	if (name) {
		unsigned flags = find_command(name)->flags;

		*file = flags & TAKES_FILE ? 1 : flags ? 0 : -1;
	}
	return name;
}

static int refuse_unknown(const char *name, infer_error *err)
{
	struct nearest n;
	const char *other;
	int file;

	nearest_begin(&n, name);
	for (size_t i = 0; (other = repl_command_name(i, &file)); i++)
		nearest_try(&n, other);
	if (n.best)
		return err_set(err, INFER_EINVAL, "unknown command /%.40s; did you mean /%s?", name,
		               n.best);
	return err_set(err, INFER_EINVAL, "unknown command /%.40s; /help lists them all", name);
}

int repl_command(struct repl *r, const char *name, const char *rest, infer_error *err)
{
	const struct command *c = find_command(name);

	if (!c)
		return refuse_unknown(name, err);
	if (*rest && !c->flags)
		return err_set(err, INFER_EINVAL, "/%s takes no argument", name);
	return c->run(r, rest, err);
}
