/* base/err.c - setting and forwarding errors. */
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Messages contain file names and texts of models: bytes that are not UTF-8, and control
 * characters, become '?'. */
static void make_plain(char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		int len = utf8_get(s + i, n - i, &cp);

		if (!len || cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 ||
		    cp == 0x2029) {
			len = len ? len : 1;
			memset(s + i, '?', (size_t)len);
		}
		i += (size_t)len;
	}
}

/* Fill *err.  tail: NULL, or text to append after ": ". */
static void fill_error(infer_error *err, int code, const char *tail, const char *fmt, va_list ap)
{
	char s[sizeof err->message]; /* an argument may point to the old message */
	size_t n, room = sizeof s;
	int want;

	want = vsnprintf(s, room, fmt, ap);
	if (want < 0)
		want = snprintf(s, room, "%s", fmt);
	n = (size_t)want < room ? (size_t)want : room - 1;
	if (tail && n + 1 < room) {
		int more = snprintf(s + n, room - n, ": %s", tail);

		want += more > 0 ? more : 0;
		n = (size_t)want < room ? (size_t)want : room - 1;
	}
	if ((size_t)want >= room)
		n -= utf8_tail(s, n);
	make_plain(s, n);
	s[n] = 0;
	err->code = code;
	memcpy(err->message, s, n + 1);
}

int err_set(infer_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		fill_error(err, code, NULL, fmt, ap);
		va_end(ap);
	}
	return code;
}

int err_errno(infer_error *err, int errnum, const char *fmt, ...)
{
	int code = errnum == ENOMEM ? INFER_ENOMEM : INFER_EIO;
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		fill_error(err, code, strerror(errnum), fmt, ap);
		va_end(ap);
	}
	return code;
}

int err_nomem(infer_error *err) { return err_set(err, INFER_ENOMEM, "out of memory"); }

void must_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: this must hold: %s\n", file, line, what);
	abort();
}
