/* infer-run/lines.c - read lines from a descriptor, in bounded memory. */
#include "lines.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

void lines_init(struct lines *l, int fd, const char *name)
{
	*l = (struct lines){ .fd = fd, .name = name, .end = '\n', .longest = LINES_LONGEST };
	buf_init(&l->b, MEM_BASE);
}

void lines_fini(struct lines *l) { buf_fini(&l->b); }

void lines_continue(struct lines *l, int fd, const char *name)
{
	l->fd = fd;
	l->name = name;
	l->eof = l->begun = 0;
}

/* Remove the bytes that were returned from the buffer. */
static void drop_returned(struct lines *l)
{
	if (!l->from)
		return;
	memmove(l->b.at, l->b.at + l->from, l->b.len - l->from);
	l->b.len -= l->from;
	l->from = 0;
}

/* Read more bytes, or none if the descriptor is non-blocking and has no data. */
static int read_more(struct lines *l, infer_error *err)
{
	ssize_t n;

	drop_returned(l);
	if (buf_reserve(&l->b, PIECE))
		return err_set(err, INFER_ENOMEM, "%s: out of memory for a line", l->name);
	do
		n = read(l->fd, l->b.at + l->b.len, PIECE);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return INFER_OK;
	if (n < 0)
		return err_errno(err, errno, "%s", l->name);
	l->eof = !n;
	l->b.len += (size_t)n;
	return INFER_OK;
}

/* Remove a byte order mark and a final CR. */
static void trim_line(struct lines *l, int ended, const char **at, size_t *n)
{
	if (l->as_is)
		return;
	if (!l->begun && *n >= 3 && !memcmp(*at, "\xef\xbb\xbf", 3)) {
		*at += 3;
		*n -= 3;
	}
	if (ended && *n && (*at)[*n - 1] == '\r')
		--*n;
}

/* Return a line from the buffer, or LINES_NONE if it has no complete line. */
static enum lines_got next_buffered(struct lines *l, const char **at, size_t *n)
{
	size_t have = l->b.len - l->from;
	char *text = l->b.at + l->from,
	     *end = have > l->looked ? memchr(text + l->looked, l->end, have - l->looked) : NULL;
	int was_cutting = l->cutting;

	l->looked = have;
	if (!end && have > l->longest) {
		l->cutting = 1;
		l->b.len = l->from = l->looked = 0;
		buf_fini(&l->b);
		return LINES_NONE;
	}
	if (!end && !l->eof)
		return LINES_NONE;
	if (!end && !have && !was_cutting)
		return LINES_END;
	*at = text;
	*n = end ? (size_t)(end - text) : have;
	l->from += *n + (end != NULL);
	l->looked = 0;
	l->number++;
	l->cutting = 0;
	int is_long = was_cutting || *n > l->longest;

	if (!is_long)
		trim_line(l, end != NULL, at, n);
	l->begun = 1;
	return is_long ? LINES_LONG : LINES_LINE;
}

int lines_next(struct lines *l, int wait_ms, enum lines_got *got, const char **at, size_t *n,
               infer_error *err)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	while ((*got = next_buffered(l, at, n)) == LINES_NONE) {
		int ready = poll(&p, 1, wait_ms);

		if (ready < 0 && errno != EINTR)
			return err_errno(err, errno, "%s", l->name);
		if (!ready)
			return INFER_OK;
		if (ready > 0)
			TRY(read_more(l, err));
	}
	return INFER_OK;
}

int lines_blank(const char *at, size_t n)
{
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\t' || at[n - 1] == '\r'))
		n--;
	return !n;
}
