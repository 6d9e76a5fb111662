/* infer-serve/sse.c - server-sent events: one event is one line of data and an empty line. */
#include "infer-serve/sse.h"
#include "base/err.h"

#include <string.h>

void sse_put(struct buf *to, const char *name, const char *data, size_t n)
{
	/* JSON has its line ends escaped; a raw one would end the event */
	must(!memchr(data, '\n', n) && !memchr(data, '\r', n));
	if (name) {
		buf_puts(to, "event: ");
		buf_puts(to, name);
		buf_putc(to, '\n');
	}
	buf_puts(to, "data: ");
	buf_put(to, data, n);
	buf_puts(to, "\n\n");
}

size_t sse_cut(const char *at, size_t n, size_t room)
{
	if (n <= room)
		return n;
	for (size_t i = room; i >= 2; i--)
		if (at[i - 1] == '\n' && at[i - 2] == '\n')
			return i;
	return room;
}
