/* infer-run/chat/editor.c - a line editor for terminals, on libedit. */
#include "editor.h"
#include "wrap.h"
#include "common/env.h"
#include "base/err.h"
#include "base/utf8.h"

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* Functions of libedit, which is loaded on first use. */
/* clang-format off */
#define FUNCTIONS(F) \
	F(el_init) F(el_end) F(el_gets) F(el_set) F(el_wset) F(el_push) F(el_resize) \
	F(el_source) F(el_wgetc) F(el_winsertstr) F(el_wline) \
	F(history_init) F(history_end) F(history)
/* clang-format on */
struct library {
#define MEMBER(f) __typeof__(f) *f;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

struct editor {
	struct library lib;
	EditLine *el;
	History *shown; /* libedit's copy of the history */
	FILE *out;
	locale_t utf8;
	struct signals *signals;
	const struct chat_history *history;
	unsigned terminal;
	tab_command *commands;
	struct tab tab;
	const char *fill;
	int cleared;
	int ahead; /* 1: reading bytes that were typed before the prompt appeared */
	int cols;  /* columns of the terminal when the line was drawn */
	int prompt_cols;
	char prompt[48];
};

/* The editor in use. libedit passes its callbacks only its own handle. */
static struct editor *now;

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"
#define PASTE_BEGINS "\\e[200~"
#define PASTE_ENDS L"\033[201~"
/* a sequence that no key sends: we push it to insert the initial text */
#define FILL_KEY "\\e[9999~"
#define FILL_BYTES "\033[9999~"

/* Ctrl-D typed during an answer, while the terminal is in line mode, is read later as a NUL. */
enum { SETTLE_MS = 30, CTRL_D = 4, TAB_SHOWN = 100 };
static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0 };

static int load_library(struct library *l, infer_error *err)
{
	/* names on Debian, on other systems, and of the development link */
	static const char *const names[] = { "libedit.so.2", "libedit.so.0", "libedit.so" };
	void *so = NULL;

	for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return err_set(err, INFER_EUNSUP, "libedit is not installed");
#define FIND(f) \
	if (!(*(void **)(void *)&l->f = dlsym(so, #f))) \
		return err_set(err, INFER_EUNSUP, "libedit has no %s", #f);
	FUNCTIONS(FIND)
#undef FIND
	return INFER_OK;
}

/* ---- the screen ---- */

static int terminal_columns(void)
{
	struct winsize w;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
}

struct place {
	int row, col;
};

/* Return the row (below the prompt's) and column of the character `to`. The line was drawn for `cols` columns
 * with a newline after each row; the terminal has since wrapped rows that are now too long. */
static struct place place_of(const wchar_t *from, const wchar_t *to, int cols)
{
	int now_cols = terminal_columns(), row = 0, col = now->prompt_cols;

	for (; from < to; from++) {
		int w = *from == L'\n' ? 0 : wcwidth(*from);

		col += *from == L'\t' ? 8 - col % 8 : w < 0 ? 2 : w;
		if (*from == L'\n' || col >= cols) {
			row += 1 + (col > 0 ? (col - 1) / now_cols : 0);
			col = 0;
		}
	}
	return (struct place){ row + col / now_cols, col % now_cols };
}

/* Set the terminal up for editing. */
static void prepare_terminal(struct editor *e)
{
	e->lib.el_set(e->el, EL_PREP_TERM, 1);
	fputs(PASTE_ON, e->out);
	fflush(e->out);
}

static void restore_terminal(struct editor *e)
{
	fputs(PASTE_OFF, e->out);
	fflush(e->out);
	e->lib.el_set(e->el, EL_PREP_TERM, 0);
}

/* Draw the line again from the row of its prompt, after a change of the window size. */
static void redraw(struct editor *e)
{
	const LineInfoW *l = e->lib.el_wline(e->el);
	int drawn = place_of(l->buffer, l->cursor, e->cols).row,
	    anew = place_of(l->buffer, l->cursor, terminal_columns()).row;
	/* an old row may remain, but no row above the line is erased */
	int row = drawn < anew ? drawn : anew;

	e->cols = terminal_columns();
	e->lib.el_resize(e->el);
	fputc('\r', e->out);
	if (row)
		fprintf(e->out, "\033[%dA", row);
	fputs("\033[J", e->out);
	e->lib.el_set(e->el, EL_REFRESH);
}

/* Move to the end of the line, print a mark, and begin a new line. */
static void leave_line(struct editor *e, const char *mark)
{
	const LineInfoW *l = e->lib.el_wline(e->el);
	struct place at = place_of(l->buffer, l->cursor, e->cols),
		     end = place_of(l->buffer, l->lastchar, e->cols);

	for (int row = at.row; row < end.row; row++)
		fputc('\n', e->out);
	fputc('\r', e->out);
	if (end.col)
		fprintf(e->out, "\033[%dC", end.col);
	fprintf(e->out, "%s\n", mark);
}

/* ---- keys ---- */

/* Handle the signals that arrived. Returns 1 if the line is abandoned. */
static int handle_signals(struct editor *e)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (signals_took(e->signals, ends[i])) {
			restore_terminal(e);
			signals_raise(e->signals, ends[i]);
			prepare_terminal(e); /* still running: the signal is ignored */
		}
	if (signals_took(e->signals, SIGTSTP)) {
		restore_terminal(e);
		signals_raise(e->signals, SIGTSTP);
		prepare_terminal(e);
		fputc('\r', e->out);
		e->lib.el_set(e->el, EL_REFRESH);
	}
	if (signals_took(e->signals, SIGWINCH)) {
		do /* dragging a window changes its size many times */
			signals_wait(e->signals, -1, SETTLE_MS);
		while (signals_took(e->signals, SIGWINCH));
		redraw(e);
	}
	if (!signals_took(e->signals, SIGINT))
		return 0;
	leave_line(e, "^C");
	return e->cleared = 1;
}

/* Read one typed byte. Returns 1, 0 at the end of input, or -1 with errno, EINTR if the line is abandoned. */
static int read_byte(struct editor *e, char *byte)
{
	int in = signals_in(e->signals);

	for (;;) {
		if (handle_signals(e)) {
			errno = EINTR;
			return -1;
		}
		if (e->ahead && !signals_wait(e->signals, in, 0))
			e->ahead = 0;
		if (!e->ahead && !signals_wait(e->signals, in, -1))
			continue;
		ssize_t n = read(in, byte, 1);

		if (n == 1 && !*byte && e->ahead)
			*byte = CTRL_D;
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return (int)n;
	}
}

/* EL_GETCFN: read one character; U+FFFD for bytes that are not UTF-8. */
static int read_char(EditLine *el, wchar_t *c)
{
	char s[4];
	uint32_t cp = 0xfffd;
	size_t n = 0;

	(void)el;
	do {
		int got = read_byte(now, &s[n]);

		if (got != 1)
			return got;
		n++;
	} while (!utf8_get(s, n, &cp) && utf8_tail(s, n) == n);
	*c = (wchar_t)cp;
	return 1;
}

static unsigned char on_newline(EditLine *el, int c)
{
	(void)c;
	return now->lib.el_winsertstr(el, L"\n") ? CC_ERROR : CC_REFRESH;
}

static int put_wide(struct buf *b, wchar_t c)
{
	buf_put(b, &c, sizeof c);
	return b->bad;
}

/* Insert a character of a paste; newlines of any kind and tabs are inserted too. */
static int put_pasted(struct buf *b, wchar_t c, wchar_t before)
{
	if (c == L'\n' && before == L'\r')
		return 0;
	/* a terminal may be set to swap CR and newline */
	if (c == L'\r' && before == L'\n')
		return 0;
	if (c == L'\r')
		c = L'\n';
	return (c < L' ' && c != L'\n' && c != L'\t') || c == 0x7f ? 0 : put_wide(b, c);
}

static unsigned char on_paste(EditLine *el, int first)
{
	static const wchar_t ends[] = PASTE_ENDS;
	enum { N_ENDS = sizeof ends / sizeof *ends - 1 };
	struct buf b;
	wchar_t c, before = 0;
	size_t matched = 0;
	int got = 1, bad = 0;

	(void)first;
	buf_init(&b, MEM_BASE);
	while (!bad && matched < N_ENDS && (got = now->lib.el_wgetc(el, &c)) == 1) {
		if (c == ends[matched]) {
			matched++;
			continue;
		}
		for (size_t i = 0; i < matched; i++)
			bad |= put_pasted(&b, ends[i], 0);
		matched = c == ends[0];
		if (!matched)
			bad |= put_pasted(&b, c, before);
		before = c;
	}
	bad |= put_wide(&b, 0);
	if (!bad && got == 1)
		bad = now->lib.el_winsertstr(el, (const wchar_t *)(const void *)b.at);
	buf_fini(&b);
	return got != 1 ? CC_EOF : bad ? CC_REFRESH_BEEP : CC_REFRESH;
}

/* Append UTF-8 text as wide characters, with a final NUL. */
static int put_utf8(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		int k = utf8_get(s + i, n - i, &cp);

		i += k ? (size_t)k : utf8_bad(s + i, n - i);
		put_wide(b, (wchar_t)cp);
	}
	return put_wide(b, 0);
}

static int insert_text(EditLine *el, const char *s, size_t n)
{
	struct buf b;

	buf_init(&b, MEM_BASE);
	int bad = put_utf8(&b, s, n) ||
	          now->lib.el_winsertstr(el, (const wchar_t *)(const void *)b.at);

	buf_fini(&b);
	return bad;
}

static unsigned char on_fill(EditLine *el, int c)
{
	const char *s = now->fill;

	(void)c;
	return insert_text(el, s, s ? strlen(s) : 0) ? CC_REFRESH_BEEP : CC_REFRESH;
}

static int count_cells(const char *s)
{
	size_t n = strlen(s);
	uint32_t cp = 0;
	int sum = 0;

	for (size_t i = 0; i < n; sum += wrap_cells(cp)) {
		int k = utf8_get(s + i, n - i, &cp);

		i += k ? (size_t)k : 1;
	}
	return sum;
}

/* Print the completions below the line, and draw the line again below them. */
static void list_names(struct editor *e)
{
	const struct tab *t = &e->tab;
	size_t shown = t->n < TAB_SHOWN ? t->n : TAB_SHOWN;
	int widest = 0;

	for (size_t i = 0; i < shown; i++)
		widest =
			count_cells(tab_name(t, i)) > widest ? count_cells(tab_name(t, i)) : widest;
	size_t a_row = (size_t)(terminal_columns() / (widest + 2));

	a_row += !a_row;
	leave_line(e, "");
	for (size_t i = 0; i < shown; i++) {
		int ends = i + 1 == shown || (i + 1) % a_row == 0;

		fprintf(e->out, "%s%*s", tab_name(t, i),
		        ends ? 0 : widest + 2 - count_cells(tab_name(t, i)), ends ? "\n" : "");
	}
	if (shown < t->n)
		fprintf(e->out, "and %zu more\n", t->n - shown);
	e->lib.el_set(e->el, EL_REFRESH);
}

static unsigned char on_tab(EditLine *el, int c)
{
	const LineInfoW *l = now->lib.el_wline(el);
	struct tab *t = &now->tab;
	struct buf line;
	char s[4];

	(void)c;
	buf_init(&line, MEM_BASE);
	for (const wchar_t *w = l->buffer; w < l->cursor; w++)
		buf_put(&line, s, (size_t)utf8_put(s, (uint32_t)*w));
	int is_command = !line.bad && tab_find(t, line.at, line.len, now->commands);

	buf_fini(&line);
	if (!is_command)
		return insert_text(el, "\t", 1) ? CC_ERROR : CC_REFRESH;
	if (!t->n)
		return CC_ERROR;
	if (t->n == 1 || t->common > t->typed) {
		int bad = insert_text(el, tab_name(t, 0) + t->typed, t->common - t->typed) ||
		          (t->ends && insert_text(el, " ", 1));

		return bad ? CC_REFRESH_BEEP : CC_REFRESH;
	}
	list_names(now);
	return CC_NORM;
}

/* ---- the handle ---- */

static char *prompt(EditLine *el)
{
	(void)el;
	return now->prompt;
}

static void bind_keys(struct editor *e)
{
	static const struct {
		const char *key, *to;
	} keys[] = {
		{ PASTE_BEGINS, "infer-paste" },     { FILL_KEY, "infer-fill" },
		{ "\\e^M", "infer-newline" },        { "\\e^J", "infer-newline" },
		{ "^R", "em-inc-search-prev" },      { "^W", "ed-delete-prev-word" },
		{ "\\e[3~", "ed-delete-next-char" }, { "\\e[H", "ed-move-to-beg" },
		{ "\\e[F", "ed-move-to-end" },       { "\\e[1~", "ed-move-to-beg" },
		{ "\\e[4~", "ed-move-to-end" },      { "\\e[1;5C", "em-next-word" },
		{ "\\e[1;5D", "ed-prev-word" },      { "\\t", "infer-tab" },
	};

	/* el_set would copy the names and never free them */
	e->lib.el_wset(e->el, EL_ADDFN, L"infer-paste", L"insert a paste", on_paste);
	e->lib.el_wset(e->el, EL_ADDFN, L"infer-fill", L"insert the initial text", on_fill);
	e->lib.el_wset(e->el, EL_ADDFN, L"infer-newline", L"add a newline", on_newline);
	e->lib.el_wset(e->el, EL_ADDFN, L"infer-tab", L"complete a command or a file", on_tab);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		e->lib.el_set(e->el, EL_BIND, keys[i].key, keys[i].to, NULL);
}

static void add_history_entry(struct editor *e, const char *entry)
{
	HistEvent ev;

	e->lib.history(e->shown, &ev, H_ENTER, entry);
}

static int set_up(struct editor *e)
{
	HistEvent ev;

	e->shown = e->lib.history_init();
	if (!e->shown)
		return -1;
	e->lib.history(e->shown, &ev, H_SETSIZE, CHAT_HISTORY_ENTRIES);
	for (size_t i = 0; i < e->history->n; i++)
		add_history_entry(e, chat_history_get(e->history, i));
	e->el = e->lib.el_init("infer-run", stdin, e->out, e->out);
	if (!e->el)
		return -1;
	now = e;
	e->lib.el_set(e->el, EL_SIGNAL, 0);
	e->lib.el_set(e->el, EL_EDITOR, "emacs");
	e->lib.el_set(e->el, EL_PROMPT_ESC, prompt, '\1');
	e->lib.el_set(e->el, EL_HIST, e->lib.history, e->shown);
	e->lib.el_wset(e->el, EL_GETCFN, read_char);
	e->lib.el_source(e->el, NULL);
	bind_keys(e);
	return 0;
}

int editor_open(struct editor **out, const struct chat_history *history, struct signals *signals,
                unsigned terminal, tab_command *commands, infer_error *err)
{
	struct editor *e = mem_zalloc(MEM_BASE, 1, sizeof *e);
	int rc;

	*out = NULL;
	if (!e)
		return err_set(err, INFER_ENOMEM, "out of memory for the line editor");
	e->history = history;
	e->signals = signals;
	e->terminal = terminal;
	e->commands = commands;
	tab_init(&e->tab);
	rc = load_library(&e->lib, err);
	if (!rc) {
		int fd = dup(STDERR_FILENO);

		e->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
		e->out = fd < 0 ? NULL : fdopen(fd, "w");
		locale_t before = e->utf8 ? uselocale(e->utf8) : (locale_t)0;

		if (!e->utf8)
			rc = err_set(err, INFER_EUNSUP, "the locale C.UTF-8 is missing");
		else if (!e->out || set_up(e))
			rc = err_set(err, INFER_ENOMEM, "out of memory for the line editor");
		if (before)
			uselocale(before);
	}
	if (rc) {
		editor_close(&e);
		return rc;
	}
	*out = e;
	return INFER_OK;
}

void editor_close(struct editor **editor)
{
	struct editor *e = *editor;

	*editor = NULL;
	if (!e)
		return;
	if (e->el)
		e->lib.el_end(e->el);
	if (e->shown)
		e->lib.history_end(e->shown);
	if (e->out)
		fclose(e->out);
	if (e->utf8)
		freelocale(e->utf8);
	tab_fini(&e->tab);
	mem_free(e);
	now = NULL;
}

void editor_added(struct editor *e)
{
	add_history_entry(e, chat_history_get(e->history, e->history->n - 1));
}

int editor_read(struct editor *e, const char *mark, const char *fill, enum editor_got *got,
                const char **line, size_t *n, infer_error *err)
{
	locale_t before = uselocale(e->utf8);
	int count = 0;

	/* an escape sequence must not be the last of a prompt */
	snprintf(e->prompt, sizeof e->prompt,
	         e->terminal & ENV_COLOURS ? "\1\033[1;32m\1%s\1\033[0m\1 " : "%s ", mark);
	e->prompt_cols = (int)strlen(mark) + 1;
	now = e;
	e->fill = fill;
	e->cleared = 0;
	e->ahead = 1;
	e->cols = terminal_columns();
	signals_begin(e->signals, caught);
	e->lib.el_resize(e->el);
	fputs(PASTE_ON, e->out);
	if (fill)
		e->lib.el_push(e->el, FILL_BYTES);
	errno = 0;
	*line = e->lib.el_gets(e->el, &count);
	int why = errno;

	*n = *line && count > 0 ? (size_t)count : 0;
	*got = e->cleared ? EDITOR_CLEARED : *n ? EDITOR_LINE : EDITOR_END;
	if (*got == EDITOR_END)
		fputc('\n', e->out);
	fputs(PASTE_OFF, e->out);
	fflush(e->out);
	signals_end(e->signals);
	uselocale(before);
	if (*n && (*line)[*n - 1] == '\n')
		--*n;
	if (*got == EDITOR_END && count < 0 && why)
		return err_errno(err, why, "the terminal");
	return INFER_OK;
}
