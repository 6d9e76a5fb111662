#include "front.h"
#include "common/env.h"
#include "common/say.h"
#include "base/err.h"
#include "base/utf8.h"
#include <unistd.h>

enum { LOOK_MS = 100 };
static const int while_busy[] = { SIGINT, 0 };

/* The history is a comfort: where it cannot be had the conversation goes on without. */
static void open_past(struct front *f)
{
	infer_error why = { 0 };
	struct buf path;

	buf_init(&path, MEM_BASE);
	int rc = env_state_dir(&path, &why);

	if (!rc) {
		buf_puts(&path, "/infer-run.history");
		rc = path.bad ? err_set(&why, INFER_ENOMEM, "out of memory for a path")
		              : past_open(&f->past, path.at, &why);
	}
	if (rc)
		say_warning("no history is kept: %s", why.message);
	buf_fini(&path);
}

int front_open(struct front *f, infer_error *err)
{
	infer_error why = { 0 };
	unsigned terminal = env_terminal(STDERR_FILENO);

	*f = (struct front){ .is_open = 1,
		             .terminal = isatty(STDIN_FILENO),
		             .w = { .wake = { -1, -1 }, .in = -1 } };
	lines_init(&f->lines, STDIN_FILENO, "standard input");
	entry_init(&f->entry);
	past_init(&f->past);
	buf_init(&f->quoted, MEM_BASE);
	if (!f->terminal)
		return INFER_OK;
	int rc = watch_open(&f->w, err);

	f->lines.fd = watch_in(&f->w);
	if (!rc && terminal & ENV_ESCAPES) {
		open_past(f);
		if (edit_open(&f->edit, &f->past, &f->w, terminal, &why))
			say_warning("lines are not edited: %s", why.message);
	}
	if (rc)
		front_close(f);
	return rc;
}

void front_close(struct front *f)
{
	if (!f->is_open)
		return;
	edit_close(&f->edit);
	watch_close(&f->w);
	lines_fini(&f->lines);
	entry_fini(&f->entry);
	past_fini(&f->past);
	buf_fini(&f->quoted);
	f->is_open = 0;
}

/* ---- one line ---- */

/* Without an editor: the terminal has its own way with a line until it is whole. */
static int plain_line(struct front *f, const char *mark, enum edit_got *got, const char **at,
                      size_t *n, infer_error *err)
{
	enum lines_got l = LINES_NONE;
	int rc = INFER_OK;

	if (f->terminal) {
		char text[8] = { mark[0], ' ' };

		if (write(STDERR_FILENO, text, 2) < 0) {
			/* nobody sees it */
		}
		watch_begin(&f->w, while_busy);
	}
	*got = EDIT_LINE;
	while (!rc && l == LINES_NONE && *got == EDIT_LINE) {
		rc = lines_next(&f->lines, f->terminal ? LOOK_MS : -1, &l, at, n, err);
		if (f->terminal && watch_took(&f->w, SIGINT))
			*got = EDIT_CLEARED;
	}
	if (f->terminal) {
		watch_end(&f->w);
		if (*got == EDIT_CLEARED || l == LINES_END)
			if (write(STDERR_FILENO, "\n", 1) < 0) {
				/* as above */
			}
	}
	if (!rc && l == LINES_LONG)
		rc = err_set(err, INFER_EINVAL, "standard input, line %lld: longer than %d bytes",
		             (long long)f->lines.number, LINES_LONGEST);
	if (l == LINES_END)
		*got = EDIT_END;
	return rc;
}

/* What is read goes into the history as one entry, however many lines it took. */
static void remember(struct front *f)
{
	infer_error why = { 0 };
	size_t before = f->past.added;

	buf_clear(&f->quoted);
	if (!f->edit || entry_is_blank(&f->entry) || !entry_quote(&f->entry, &f->quoted))
		return;
	int rc = past_add(&f->past, f->quoted.at, &why);

	if (f->past.added > before)
		edit_added(f->edit);
	if (rc) {
		say_warning("no more history is kept: %s", why.message);
		buf_fini(&f->past.path);
	}
}

int front_read(struct front *f, const char *fill, enum front_got *got, infer_error *err)
{
	enum edit_got line = EDIT_LINE;
	const char *at;
	size_t n;

	entry_clear(&f->entry);
	do {
		const char *mark = f->entry.open ? "." : ">";

		if (f->edit)
			TRY(edit_read(f->edit, mark, fill, &line, &at, &n, err));
		else
			TRY(plain_line(f, mark, &line, &at, &n, err));
		fill = NULL;
		if (line != EDIT_LINE)
			break;
		if (utf8_check(at, n) != n) {
			entry_clear(&f->entry);
			return err_set(err, INFER_EINVAL, "standard input, line %lld: not UTF-8",
			               (long long)f->lines.number);
		}
		TRY(entry_line(&f->entry, at, n, err));
	} while (f->entry.open);
	if (line == EDIT_CLEARED)
		entry_clear(&f->entry);
	else
		entry_end(&f->entry);
	*got = line == EDIT_CLEARED                     ? FRONT_CLEARED
	       : line == EDIT_END && !f->entry.text.len ? FRONT_END
	                                                : FRONT_ENTRY;
	if (*got == FRONT_ENTRY)
		remember(f);
	return INFER_OK;
}

void front_busy(struct front *f)
{
	if (f->terminal)
		watch_begin(&f->w, while_busy);
}

int front_stopped(struct front *f) { return f->terminal && watch_took(&f->w, SIGINT); }

void front_idle(struct front *f)
{
	if (f->terminal)
		watch_end(&f->w);
}
