/* base/buf.c - a growing buffer of bytes. */
#include "base/buf.h"
#include <infer/status.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void buf_init(struct buf *b, enum mem_module who) { *b = (struct buf){ .who = who }; }

void buf_fini(struct buf *b)
{
	mem_free(b->at);
	buf_init(b, b->who);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->bad = 0;
	if (b->at)
		b->at[0] = 0;
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap;
	char *p;

	if (b->bad)
		return INFER_ENOMEM;
	if (more < b->cap - b->len) /* the spare byte is for the NUL */
		return INFER_OK;
	if (__builtin_add_overflow(b->len, more, &need) || need >= PTRDIFF_MAX)
		goto bad;
	cap = b->cap < 64 ? 64 : b->cap + b->cap / 2;
	if (cap <= need)
		cap = need + 1;
	p = mem_realloc(b->who, b->at, cap, 1);
	if (!p)
		goto bad;
	b->at = p;
	b->cap = cap;
	b->at[b->len] = 0;
	return INFER_OK;
bad:
	b->bad = 1;
	return INFER_ENOMEM;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
	if (buf_reserve(b, n))
		return;
	if (n)
		memcpy(b->at + b->len, bytes, n);
	b->len += n;
	b->at[b->len] = 0;
}

void buf_puts(struct buf *b, const char *s) { buf_put(b, s, strlen(s)); }

void buf_putc(struct buf *b, int c)
{
	if (buf_reserve(b, 1))
		return;
	b->at[b->len++] = (char)c;
	b->at[b->len] = 0;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (buf_reserve(b, 0))
		return;
	va_start(ap, fmt);
	n = vsnprintf(b->at + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0 || buf_reserve(b, (size_t)n)) {
		b->bad = 1;
		b->at[b->len] = 0;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(b->at + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

char *buf_take(struct buf *b, size_t *len)
{
	char *p = NULL;
	size_t n = 0;

	if (buf_reserve(b, 0) == INFER_OK) { /* an empty buffer gives "", not NULL */
		p = b->at;
		n = b->len;
		buf_init(b, b->who);
	}
	if (len)
		*len = n;
	return p;
}
