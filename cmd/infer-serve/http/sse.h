/* infer-serve/http/sse.h - server-sent events: one event is one line of data and an empty line. */
#ifndef INFER_SERVE_HTTP_SSE_H
#define INFER_SERVE_HTTP_SSE_H
#include <stddef.h>

/* How many of the n bytes at `at`, a sequence of whole events, are to be sent where there is room
 * for `room`: whole events; or as much as fits of one that is longer than the room. */
size_t sse_cut(const char *at, size_t n, size_t room);
#endif
