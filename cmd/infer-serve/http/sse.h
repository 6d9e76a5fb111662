/* infer-serve/http/sse.h - server-sent events: one event is one line of data and an empty line. */
#ifndef INFER_SERVE_HTTP_SSE_H
#define INFER_SERVE_HTTP_SSE_H
#include <stddef.h>

/* Return how many bytes to send of n bytes of events at `at`: as many whole events as fit into
 * `room` bytes, or `room` bytes if the first one does not fit. */
size_t sse_cut(const char *at, size_t n, size_t room);
#endif
