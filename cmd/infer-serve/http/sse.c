/* infer-serve/http/sse.c - server-sent events: one event is one line of data and an empty line. */
#include "infer-serve/http/sse.h"

size_t sse_cut(const char *at, size_t n, size_t room)
{
	if (n <= room)
		return n;
	for (size_t i = room; i >= 2; i--)
		if (at[i - 1] == '\n' && at[i - 2] == '\n')
			return i;
	return room;
}
