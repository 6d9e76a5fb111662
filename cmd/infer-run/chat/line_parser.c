/* infer-run/chat/line_parser.c - parse input lines into texts and commands. */
#include "line_parser.h"
#include "base/err.h"

#include <string.h>

static const char quotes[] = "\"\"\"";
enum { N_QUOTES = sizeof quotes - 1 };

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void line_parser_init(struct line_parser *p)
{
	*p = (struct line_parser){ 0 };
	buf_init(&p->text, MEM_BASE);
}

void line_parser_fini(struct line_parser *p) { buf_fini(&p->text); }

void line_parser_clear(struct line_parser *p)
{
	buf_clear(&p->text);
	p->open = p->quoted = p->lines = 0;
}

/* Return the length of the text before closing quotes, or -1 if there are none. Blanks may follow them. */
static long before_quotes(const char *at, size_t n)
{
	while (n && is_space(at[n - 1]))
		n--;
	return n >= N_QUOTES && !memcmp(at + n - N_QUOTES, quotes, N_QUOTES) ? (long)(n - N_QUOTES)
	                                                                     : -1;
}

static void add_line(struct line_parser *p, const char *at, size_t n)
{
	if (p->lines++)
		buf_putc(&p->text, '\n');
	buf_put(&p->text, at, n);
}

/* Add text inside quotes, up to the closing ones. Quotes alone on a line add no empty line. */
static void add_quoted(struct line_parser *p, const char *at, size_t n, int first)
{
	long ends = before_quotes(at, n);

	if (ends >= 0) {
		n = (size_t)ends;
		p->open = 0;
	}
	for (;;) {
		const char *nl = n ? memchr(at, '\n', n) : NULL;
		size_t len = nl ? (size_t)(nl - at) : n;

		if (len || (!first && (nl || ends < 0)))
			add_line(p, at, len);
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

int line_parser_add(struct line_parser *p, const char *at, size_t n, infer_error *err)
{
	if (p->open == LINE_PARSER_QUOTES) {
		add_quoted(p, at, n, 0);
	} else if (!p->open && n >= N_QUOTES && !memcmp(at, quotes, N_QUOTES)) {
		p->quoted = 1;
		p->open = LINE_PARSER_QUOTES;
		add_quoted(p, at + N_QUOTES, n - N_QUOTES, 1);
	} else {
		n -= n && at[n - 1] == '\n'; /* a pasted line may end with a newline */
		int goes_on = slashes(at, n) & 1;

		buf_put(&p->text, at, n - (size_t)goes_on);
		if (goes_on)
			buf_putc(&p->text, '\n');
		p->open = goes_on ? LINE_PARSER_SLASH : 0;
	}
	return p->text.bad ? err_set(err, INFER_ENOMEM, "out of memory for the input") : INFER_OK;
}

void line_parser_end(struct line_parser *p) { p->open = 0; }

int line_parser_is_blank(const struct line_parser *p)
{
	for (size_t i = 0; i < p->text.len; i++)
		if (!is_space(p->text.at[i]))
			return 0;
	return 1;
}

int line_parser_command(const struct line_parser *p, struct buf *name, struct buf *rest)
{
	size_t n = p->text.len, from = 1, to;

	if (p->quoted || !n || p->text.at[0] != '/')
		return 0;
	while (n > from && is_space(p->text.at[n - 1]))
		n--;
	for (to = from; to < n && !is_space(p->text.at[to]); to++)
		;
	buf_put(name, p->text.at + from, to - from);
	for (from = to; from < n && is_space(p->text.at[from]); from++)
		;
	buf_put(rest, p->text.at + from, n - from);
	return 1;
}

/* True if the line in *line, from `from` on, parses to the text of p. */
static int reads_as(const struct line_parser *p, const struct buf *line, size_t from)
{
	struct line_parser again;
	int same;

	line_parser_init(&again);
	same = !line_parser_add(&again, line->at + from, line->len - from, NULL) && !again.open &&
	       again.text.len == p->text.len && !memcmp(again.text.at, p->text.at, p->text.len) &&
	       (again.quoted || !p->quoted || p->text.at[0] != '/');
	line_parser_fini(&again);
	return same;
}

int line_parser_quote(const struct line_parser *p, struct buf *out)
{
	size_t from = out->len;

	if (!p->text.len)
		return 0;
	buf_put(out, p->text.at, p->text.len);
	if (!out->bad && reads_as(p, out, from))
		return 1;
	if (out->bad)
		return 0;
	out->len = from;
	buf_printf(out, "%s", quotes);
	buf_put(out, p->text.at, p->text.len);
	buf_printf(out, "%s", quotes);
	if (!out->bad && reads_as(p, out, from))
		return 1;
	out->len = from;
	return 0;
}
