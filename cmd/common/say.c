/* common/say.c - messages, progress, standard output and exit codes. */
#include "common/say.h"
#include "common/file.h"
#include "common/progress.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1024 };

static const char *name = "infer";
static int verbose, aside_shown;

void say_init(const char *program, int verbosity)
{
	name = program;
	verbose = verbosity;
}

/* Write the first character of s, escaped for a terminal, to `out`. *used: bytes of s. */
static size_t printable_one(char out[8], const char *s, size_t n, size_t *used)
{
	uint32_t cp;
	int k = utf8_get(s, n, &cp);

	*used = k ? (size_t)k : utf8_bad(s, n);
	if (!k)
		return (size_t)utf8_put(out, 0xfffd);
	if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
		return (size_t)snprintf(out, 8, "\\x%02x", (unsigned)cp);
	memcpy(out, s, *used);
	return *used;
}

/* Copy s to out as one line that is safe for a terminal. Returns its length, at most room - 4. */
static size_t printable(char *out, size_t room, const char *s)
{
	size_t n = strlen(s), len = 0, used;

	for (size_t i = 0; i < n && len + 8 < room; i += used)
		len += printable_one(out + len, s + i, n - i, &used);
	return len;
}

static void print_message(const char *kind, const char *fmt, va_list ap)
{
	char sentence[LINE], out[2 * LINE];

	progress_wipe();
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	size_t n = (size_t)snprintf(out, LINE, "%s: %s", name, kind);

	n += printable(out + n, sizeof out - n - 1, sentence);
	out[n++] = '\n';
	(void)file_put(STDERR_FILENO, out, n);
}

void say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message("error: ", fmt, ap);
	va_end(ap);
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	if (verbose < 0)
		return;
	va_start(ap, fmt);
	print_message("warning: ", fmt, ap);
	va_end(ap);
}

void say_log(void *user, int level, const char *sentence)
{
	(void)user;
	if (level == INFER_LOG_WARN)
		say_warning("%s", sentence);
	else
		say_note(level == INFER_LOG_INFO ? 1 : 2, "%s", sentence);
}

void say_note(int verbosity, const char *fmt, ...)
{
	va_list ap;

	if (verbose < verbosity)
		return;
	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}

void say_text(const char *text, size_t n)
{
	struct buf b;
	char one[8];

	if (verbose < 2)
		return;
	buf_init(&b, MEM_BASE);
	buf_printf(&b, "%s: | ", name);
	for (size_t i = 0, used; i < n; i += used) {
		size_t k = printable_one(one, text + i, n - i, &used);

		if (text[i] == '\n')
			buf_printf(&b, "\n%s: | ", name);
		else
			buf_put(&b, one, k);
	}
	buf_putc(&b, '\n');
	progress_wipe();
	if (!b.bad)
		(void)file_put(STDERR_FILENO, b.at, b.len);
	buf_fini(&b);
}

void say_summary(const char *fmt, ...)
{
	va_list ap;

	if (verbose < 0 || (!verbose && !isatty(STDERR_FILENO)))
		return;
	va_start(ap, fmt);
	print_message("", fmt, ap);
	va_end(ap);
}

int say_verbosity(void) { return verbose; }

void say_aside(const char *text, size_t n)
{
	char out[LINE];

	if (verbose < 0 || !isatty(STDERR_FILENO))
		return;
	if (!text) {
		if (aside_shown)
			(void)file_put(STDERR_FILENO, "\n\n", 2);
		aside_shown = 0;
		return;
	}
	progress_end();
	for (size_t i = 0, k; i < n; i += k) {
		k = n - i < sizeof out ? n - i : sizeof out;
		for (size_t b = 0; b < k; b++) {
			unsigned char c = (unsigned char)text[i + b];
			out[b] = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : (char)c;
		}
		aside_shown = !file_put(STDERR_FILENO, out, k);
	}
}

int say_code(int status)
{
	switch ((enum infer_status)status) {
	case INFER_OK:
		return EXIT_DONE;
	case INFER_EINVAL:
		return EXIT_USAGE;
	case INFER_EFORMAT:
	case INFER_EUNSUP:
	case INFER_ENAN:
		return EXIT_INPUT;
	case INFER_ENOMEM:
		return EXIT_NO_ROOM;
	case INFER_EEMPTY:
		return EXIT_CONSTRAINT;
	case INFER_EIO:
	case INFER_ENET:
	case INFER_EDEVICE:
	case INFER_ECANCEL:
	case INFER_EAGAIN:
	case INFER_STATUS_COUNT:
		break;
	}
	return EXIT_FAILED;
}

int say_fail(const infer_error *err)
{
	progress_end();
	say_error("%s", err->message);
	return say_code(err->code);
}

int say_out(const void *bytes, size_t n, infer_error *err)
{
	progress_wipe_for(STDOUT_FILENO);
	return file_put(STDOUT_FILENO, bytes, n)
	               ? err_errno(err, errno, "cannot write standard output")
	               : INFER_OK;
}

int say_end(int code)
{
	infer_error err;

	progress_end();
	if (!close(STDOUT_FILENO) || code != EXIT_DONE)
		return code;
	err_errno(&err, errno, "cannot write standard output");
	return say_fail(&err);
}
