/* infer-run/chat/screen.c - writing answers and notices. */
#include "screen.h"
#include "common/env.h"
#include "common/say.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define DIM "\033[2m"
#define PLAIN "\033[0m"

void screen_init(struct screen *s)
{
	*s = (struct screen){ .err = env_terminal(STDERR_FILENO),
		              .out_terminal = isatty(STDOUT_FILENO),
		              .err_terminal = isatty(STDERR_FILENO) };
	buf_init(&s->b, MEM_BASE);
}

void screen_fini(struct screen *s) { buf_fini(&s->b); }

enum { SHOW_CONTROLS = 1 };

static void put_text(struct buf *b, const char *at, size_t n, unsigned flags)
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

void screen_clean(struct buf *out, const char *at, size_t n) { put_text(out, at, n, 0); }

/* Standard error, which nobody may read: nothing is left to tell it to then. */
static void to_people(const struct screen *s)
{
	if (s->b.bad)
		say_error("out of memory for what is to be said");
	else if (write(STDERR_FILENO, s->b.at, s->b.len) < 0) {
		/* as said */
	}
}

static void put_dim(struct screen *s, const char *at, size_t n)
{
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, DIM);
	put_text(&s->b, at, n, SHOW_CONTROLS);
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, PLAIN);
}

int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n,
                infer_error *err)
{
	if (!n || (style == SCREEN_THOUGHT && !s->err_terminal))
		return INFER_OK;
	buf_clear(&s->b);
	if (style == SCREEN_THOUGHT) {
		put_dim(s, at, n);
		s->thinking = 1;
		to_people(s);
		return INFER_OK;
	}
	if (s->thinking) {
		buf_puts(&s->b, "\n\n");
		to_people(s);
		s->thinking = 0;
		buf_clear(&s->b);
	}
	put_text(&s->b, at, n, s->out_terminal ? SHOW_CONTROLS : 0);
	if (s->b.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for the output");
	return say_out(s->b.at, s->b.len, err);
}

void screen_lines(struct screen *s, const char *at, size_t n)
{
	buf_clear(&s->b);
	if (s->thinking)
		buf_putc(&s->b, '\n');
	s->thinking = 0;
	put_dim(s, at, n);
	buf_putc(&s->b, '\n');
	to_people(s);
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
