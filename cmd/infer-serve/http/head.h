/* infer-serve/http/head.h - what the fields of a request's head say. */
#ifndef INFER_SERVE_HTTP_HEAD_H
#define INFER_SERVE_HTTP_HEAD_H
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;

/* 1: a body of this Content-Type is read as JSON: application/json, ...+json, or none. */
int head_is_json(const char *type);
/* 1: may be used as a request id: 1 to 128 letters, digits and -_.:/ */
int head_is_id(const char *id);
/* The value of Content-Length; -1: none, or no number. */
int64_t head_length(const char *value);
/* True for a host as in a URL, with or without a port: a name, an IPv4 address, [an IPv6 address], or nothing. */
int head_is_host(const char *at, size_t n);
/* The trace id of a W3C traceparent, 32 digits.  0: there is none, or it is none. */
int head_trace(char id[33], const char *value);
/* The id of the span in such a value, 16 digits; returns whether its trace is recorded. */
int head_parent(char id[17], const char *value);
/* Parse a number of seconds, such as 2.5, above 0 and at most HEAD_SECONDS, into *s; without a value, 0.
 * Returns 0 if it is something else. */
enum { HEAD_SECONDS = 1000000 };
int head_seconds(double *s, const char *value);
/* Replace each %XX by its byte, in place, and return the new length.  %00 stays as it is, since it would
 * end the text: no path and no value contains it. */
size_t head_unescape(void *unused, struct MHD_Connection *c, char *text);
#endif
