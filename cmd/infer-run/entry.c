#include "entry.h"
#include "base/err.h"
#include <string.h>

static const char quotes[] = "\"\"\"";
enum { N_QUOTES = sizeof quotes - 1 };

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void entry_init(struct entry *e)
{
	*e = (struct entry){ 0 };
	buf_init(&e->text, MEM_BASE);
}

void entry_fini(struct entry *e) { buf_fini(&e->text); }

void entry_clear(struct entry *e)
{
	buf_clear(&e->text);
	e->open = e->quoted = e->lines = 0;
}

/* What stands before quotes that end at n, blanks behind them aside; -1: none do. */
static long before_quotes(const char *at, size_t n)
{
	while (n && is_blank(at[n - 1]))
		n--;
	return n >= N_QUOTES && !memcmp(at + n - N_QUOTES, quotes, N_QUOTES) ? (long)(n - N_QUOTES)
	                                                                     : -1;
}

static void add_line(struct entry *e, const char *at, size_t n)
{
	if (e->lines++)
		buf_putc(&e->text, '\n');
	buf_put(&e->text, at, n);
}

/* What stands inside quotes, or ends them.  An empty line at either end, where quotes stand alone,
 * is none. */
static void quoted(struct entry *e, const char *at, size_t n, int first)
{
	long ends = before_quotes(at, n);

	if (ends >= 0) {
		n = (size_t)ends;
		e->open = 0;
	}
	for (;;) {
		const char *nl = n ? memchr(at, '\n', n) : NULL;
		size_t len = nl ? (size_t)(nl - at) : n;

		if (len || (!first && (nl || ends < 0)))
			add_line(e, at, len);
		if (!nl)
			break;
		at = nl + 1;
		n -= len + 1;
		first = 0;
	}
}

static size_t slashes(const char *at, size_t n)
{
	size_t k = 0;

	while (k < n && at[n - 1 - k] == '\\')
		k++;
	return k;
}

int entry_line(struct entry *e, const char *at, size_t n, infer_error *err)
{
	if (e->open == ENTRY_QUOTES) {
		quoted(e, at, n, 0);
	} else if (!e->open && n >= N_QUOTES && !memcmp(at, quotes, N_QUOTES)) {
		e->quoted = 1;
		e->open = ENTRY_QUOTES;
		quoted(e, at + N_QUOTES, n - N_QUOTES, 1);
	} else {
		n -= n && at[n - 1] == '\n'; /* a paste that ends with one */
		int goes_on = slashes(at, n) & 1;

		buf_put(&e->text, at, n - (size_t)goes_on);
		if (goes_on)
			buf_putc(&e->text, '\n');
		e->open = goes_on ? ENTRY_SLASH : 0;
	}
	return e->text.bad ? err_set(err, INFER_ENOMEM, "out of memory for what is typed")
	                   : INFER_OK;
}

void entry_end(struct entry *e) { e->open = 0; }

int entry_is_blank(const struct entry *e)
{
	for (size_t i = 0; i < e->text.len; i++)
		if (!is_blank(e->text.at[i]))
			return 0;
	return 1;
}

int entry_command(const struct entry *e, struct buf *name, struct buf *rest)
{
	size_t n = e->text.len, from = 1, to;

	if (e->quoted || !n || e->text.at[0] != '/')
		return 0;
	while (n > from && is_blank(e->text.at[n - 1]))
		n--;
	for (to = from; to < n && !is_blank(e->text.at[to]); to++)
		;
	buf_put(name, e->text.at + from, to - from);
	for (from = to; from < n && is_blank(e->text.at[from]); from++)
		;
	buf_put(rest, e->text.at + from, n - from);
	return 1;
}

/* Does the line that stands in *line from `from` on read as e? */
static int reads_as(const struct entry *e, const struct buf *line, size_t from)
{
	struct entry again;
	int same;

	entry_init(&again);
	same = !entry_line(&again, line->at + from, line->len - from, NULL) && !again.open &&
	       again.text.len == e->text.len && !memcmp(again.text.at, e->text.at, e->text.len) &&
	       (again.quoted || !e->quoted || e->text.at[0] != '/');
	entry_fini(&again);
	return same;
}

int entry_quote(const struct entry *e, struct buf *out)
{
	size_t from = out->len;

	if (!e->text.len)
		return 0;
	buf_put(out, e->text.at, e->text.len);
	if (!out->bad && reads_as(e, out, from))
		return 1;
	if (out->bad)
		return 0;
	out->len = from;
	buf_printf(out, "%s", quotes);
	buf_put(out, e->text.at, e->text.len);
	buf_printf(out, "%s", quotes);
	if (!out->bad && reads_as(e, out, from))
		return 1;
	out->len = from;
	return 0;
}
