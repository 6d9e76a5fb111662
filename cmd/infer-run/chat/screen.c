/* infer-run/chat/screen.c - the output of a conversation. */
#include "screen.h"
#include "common/env.h"
#include "common/say.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DIM "\033[2m"
#define PLAIN "\033[0m"

void screen_init(struct screen *s)
{
	*s = (struct screen){ .err = env_terminal(STDERR_FILENO),
		              .out_terminal = isatty(STDOUT_FILENO),
		              .err_terminal = isatty(STDERR_FILENO) };
	s->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	wrap_init(&s->wrap);
	buf_init(&s->b, MEM_BASE);
	buf_init(&s->raw, MEM_BASE);
}

void screen_fini(struct screen *s)
{
	if (s->utf8)
		freelocale(s->utf8);
	wrap_fini(&s->wrap);
	buf_fini(&s->b);
	buf_fini(&s->raw);
}

/* Return the columns of a terminal; 0: unknown, or not a terminal. */
static int columns(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}

/* Append s->raw to s->b, wrapped; if s->raw is empty, append the text held back. */
static void put_wrapped(struct screen *s, struct wrap *w, int fd)
{
	locale_t before = s->utf8 ? uselocale(s->utf8) : (locale_t)0;

	s->b.bad |= s->raw.bad;
	if (s->raw.len)
		wrap_put(w, s->raw.at, s->raw.len, columns(fd), &s->b);
	else
		wrap_flush(w, columns(fd), &s->b);
	if (before)
		uselocale(before);
}

enum { SHOW_CONTROLS = 1 };

static void put_safe(struct buf *b, const char *at, size_t n, unsigned flags)
{
	while (n) {
		uint32_t cp;
		int k = utf8_get(at, n, &cp);
		size_t used = k ? (size_t)k : utf8_bad(at, n);

		if (!k)
			buf_puts(b, "\xef\xbf\xbd");
		else if (flags & SHOW_CONTROLS &&
		         ((cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7f && cp < 0xa0)))
			buf_printf(b, "\\x%02x", (unsigned)cp);
		else
			buf_put(b, at, used);
		at += used;
		n -= used;
	}
}

void screen_clean(struct buf *out, const char *at, size_t n) { put_safe(out, at, n, 0); }

/* Write s->b to standard error. A failure cannot be reported. */
static void write_notice(const struct screen *s)
{
	if (s->b.bad)
		say_error("out of memory for a message");
	else if (write(STDERR_FILENO, s->b.at, s->b.len) < 0) {
		/* stderr is closed */
	}
}

static void dim_begin(struct screen *s)
{
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, DIM);
}

static void dim_end(struct screen *s)
{
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, PLAIN);
}

static void think(struct screen *s, const char *at, size_t n)
{
	buf_clear(&s->b);
	buf_clear(&s->raw);
	dim_begin(s);
	put_safe(&s->raw, at, n, SHOW_CONTROLS);
	put_wrapped(s, &s->wrap, STDERR_FILENO);
	dim_end(s);
	write_notice(s);
}

/* End the reasoning, if there was any. */
static void think_end(struct screen *s, const char *newlines)
{
	if (!s->thinking)
		return;
	think(s, "", 0);
	s->thinking = 0;
	wrap_begin(&s->wrap);
	buf_clear(&s->b);
	buf_puts(&s->b, newlines);
	write_notice(s);
}

void screen_begin(struct screen *s) { wrap_begin(&s->wrap); }

static int write_answer(const struct screen *s, infer_error *err)
{
	if (s->b.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for the output");
	return s->b.len ? say_out(s->b.at, s->b.len, err) : INFER_OK;
}

int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n,
                infer_error *err)
{
	if (!n || (style == SCREEN_THOUGHT && !s->err_terminal))
		return INFER_OK;
	if (style == SCREEN_THOUGHT) {
		think(s, at, n);
		s->thinking = 1;
		return INFER_OK;
	}
	think_end(s, "\n\n");
	buf_clear(&s->b);
	buf_clear(&s->raw);
	if (s->out_terminal) {
		put_safe(&s->raw, at, n, SHOW_CONTROLS);
		put_wrapped(s, &s->wrap, STDOUT_FILENO);
	} else {
		put_safe(&s->b, at, n, 0);
	}
	return write_answer(s, err);
}

int screen_end(struct screen *s, infer_error *err)
{
	return screen_text(s, SCREEN_ANSWER, "\n", 1, err);
}

void screen_lines(struct screen *s, const char *at, size_t n)
{
	struct wrap w;

	think_end(s, "\n");
	wrap_init(&w);
	buf_clear(&s->b);
	buf_clear(&s->raw);
	dim_begin(s);
	put_safe(&s->raw, at, n, SHOW_CONTROLS);
	if (s->raw.len)
		put_wrapped(s, &w, STDERR_FILENO);
	buf_clear(&s->raw);
	put_wrapped(s, &w, STDERR_FILENO);
	dim_end(s);
	buf_putc(&s->b, '\n');
	wrap_fini(&w);
	write_notice(s);
}

void screen_note(struct screen *s, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	screen_lines(s, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}
