/* infer-run/chat/input.c - read turns from a terminal, a file or a pipe. */
#include "input.h"
#include "common/env.h"
#include "common/say.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>
#include <unistd.h>

enum { LOOK_MS = 100 };
static const int while_busy[] = { SIGINT, 0 };

/* The history is optional: if it cannot be opened, the conversation runs without it. */
static void open_history(struct chat_input *in)
{
	infer_error why = { 0 };
	struct buf path;

	buf_init(&path, MEM_BASE);
	int rc = env_state_dir(&path, &why);

	if (!rc) {
		buf_puts(&path, "/infer-run.history");
		rc = path.bad ? err_set(&why, INFER_ENOMEM, "out of memory for a path")
		              : chat_history_open(&in->history, path.at, &why);
	}
	if (rc)
		say_warning("the history is not saved: %s", why.message);
	buf_fini(&path);
}

int chat_input_open(struct chat_input *in, tab_command *commands, infer_error *err)
{
	infer_error why = { 0 };
	unsigned terminal = env_terminal(STDERR_FILENO);

	*in = (struct chat_input){ .is_open = 1,
		                   .terminal = isatty(STDIN_FILENO),
		                   .signals = { .wake = { -1, -1 }, .in = -1 } };
	lines_init(&in->lines, STDIN_FILENO, "standard input");
	line_parser_init(&in->parser);
	chat_history_init(&in->history);
	buf_init(&in->quoted, MEM_BASE);
	if (!in->terminal)
		return INFER_OK;
	int rc = signals_open(&in->signals, err);

	in->lines.fd = signals_in(&in->signals);
	if (!rc && terminal & ENV_ESCAPES) {
		open_history(in);
		if (editor_open(&in->editor, &in->history, &in->signals, terminal, commands, &why))
			say_warning("there is no line editor: %s", why.message);
	}
	if (rc)
		chat_input_close(in);
	return rc;
}

void chat_input_close(struct chat_input *in)
{
	if (!in->is_open)
		return;
	editor_close(&in->editor);
	signals_close(&in->signals);
	lines_fini(&in->lines);
	line_parser_fini(&in->parser);
	chat_history_fini(&in->history);
	buf_fini(&in->quoted);
	in->is_open = 0;
}

/* ---- one line ---- */

/* Read a line without the editor: the terminal is in line mode. */
static int read_plain_line(struct chat_input *in, const char *mark, enum editor_got *got,
                           const char **at, size_t *n, infer_error *err)
{
	enum lines_got l = LINES_NONE;
	int rc = INFER_OK;

	if (in->terminal) {
		char text[48];
		int len = snprintf(text, sizeof text, "%s ", mark);

		if (write(STDERR_FILENO, text, (size_t)len) < 0) {
			/* stderr is closed */
		}
		signals_begin(&in->signals, while_busy);
	}
	*got = EDITOR_LINE;
	while (!rc && l == LINES_NONE && *got == EDITOR_LINE) {
		rc = lines_next(&in->lines, in->terminal ? LOOK_MS : -1, &l, at, n, err);
		if (in->terminal && signals_took(&in->signals, SIGINT))
			*got = EDITOR_CLEARED;
	}
	if (in->terminal) {
		signals_end(&in->signals);
		if (*got == EDITOR_CLEARED || l == LINES_END)
			if (write(STDERR_FILENO, "\n", 1) < 0) {
				/* stderr is closed */
			}
	}
	if (!rc && l == LINES_LONG)
		rc = err_set(err, INFER_EINVAL, "standard input, line %lld: longer than %d bytes",
		             (long long)in->lines.number, LINES_LONGEST);
	if (l == LINES_END)
		*got = EDITOR_END;
	return rc;
}

/* Add the input to the history as one entry, also if it has several lines. */
static void add_to_history(struct chat_input *in)
{
	infer_error why = { 0 };
	size_t before = in->history.added;

	buf_clear(&in->quoted);
	if (!in->editor || line_parser_is_blank(&in->parser) ||
	    !line_parser_quote(&in->parser, &in->quoted))
		return;
	int rc = chat_history_add(&in->history, in->quoted.at, &why);

	if (in->history.added > before)
		editor_added(in->editor);
	if (rc) {
		say_warning("the history is no longer saved: %s", why.message);
		buf_fini(&in->history.path);
	}
}

int chat_input_read(struct chat_input *in, const char *fill, enum chat_input_got *got,
                    infer_error *err)
{
	enum editor_got line = EDITOR_LINE;
	const char *at;
	size_t n;

	line_parser_clear(&in->parser);
	do {
		const char *mark = in->parser.open ? "." : ">";

		if (in->editor)
			TRY(editor_read(in->editor, mark, fill, &line, &at, &n, err));
		else
			TRY(read_plain_line(in, mark, &line, &at, &n, err));
		fill = NULL;
		if (line != EDITOR_LINE)
			break;
		if (utf8_check(at, n) != n) {
			line_parser_clear(&in->parser);
			return err_set(err, INFER_EINVAL, "standard input, line %lld: not UTF-8",
			               (long long)in->lines.number);
		}
		TRY(line_parser_add(&in->parser, at, n, err));
	} while (in->parser.open);
	if (line == EDITOR_CLEARED)
		line_parser_clear(&in->parser);
	else
		line_parser_end(&in->parser);
	*got = line == EDITOR_CLEARED                       ? CHAT_INPUT_CLEARED
	       : line == EDITOR_END && !in->parser.text.len ? CHAT_INPUT_END
	                                                    : CHAT_INPUT_TEXT;
	if (*got == CHAT_INPUT_TEXT)
		add_to_history(in);
	return INFER_OK;
}

int chat_input_ask(struct chat_input *in, const char *question, int *yes, infer_error *err)
{
	enum editor_got got = EDITOR_END;
	const char *at = "";
	size_t n = 0;

	*yes = 0;
	if (in->editor)
		TRY(editor_read(in->editor, question, NULL, &got, &at, &n, err));
	else
		TRY(read_plain_line(in, question, &got, &at, &n, err));
	*yes = got == EDITOR_LINE && n && (*at == 'y' || *at == 'Y');
	return INFER_OK;
}

void chat_input_busy(struct chat_input *in)
{
	if (in->terminal)
		signals_begin(&in->signals, while_busy);
}

int chat_input_stopped(struct chat_input *in)
{
	return in->terminal && signals_took(&in->signals, SIGINT);
}

void chat_input_idle(struct chat_input *in)
{
	if (in->terminal)
		signals_end(&in->signals);
}
