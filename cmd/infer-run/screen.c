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
	*s = (struct screen){ .out = env_terminal(STDOUT_FILENO), .err = env_terminal(STDERR_FILENO),
	                      .out_terminal = isatty(STDOUT_FILENO) };
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
		else if (flags & SHOW_CONTROLS && ((cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7f && cp < 0xa0)))
			buf_printf(b, "\\x%02x", (unsigned)cp);
		else
			buf_put(b, at, used);
		at += used;
		n -= used;
	}
}

void screen_clean(struct buf *out, const char *at, size_t n) { put_text(out, at, n, 0); }

int screen_text(struct screen *s, enum screen_style style, const char *at, size_t n, infer_error *err)
{
	int dim = style == SCREEN_THOUGHT && s->out & ENV_COLOURS;

	if (!n)
		return INFER_OK;
	buf_clear(&s->b);
	if (dim)
		buf_puts(&s->b, DIM);
	put_text(&s->b, at, n, s->out_terminal ? SHOW_CONTROLS : 0);
	if (dim)
		buf_puts(&s->b, PLAIN);
	if (s->b.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for the output");
	return say_out(s->b.at, s->b.len, err);
}

void screen_lines(struct screen *s, const char *at, size_t n)
{
	buf_clear(&s->b);
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, DIM);
	put_text(&s->b, at, n, SHOW_CONTROLS);
	if (s->err & ENV_COLOURS)
		buf_puts(&s->b, PLAIN);
	buf_putc(&s->b, '\n');
	if (s->b.bad)
		say_error("out of memory for what is to be said");
	else if (write(STDERR_FILENO, s->b.at, s->b.len) < 0) {
		/* nobody reads standard error: nothing is left to tell it to */
	}
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
