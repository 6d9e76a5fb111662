/* infer-serve/http/head.h - parse the header fields of a request. */
#ifndef INFER_SERVE_HTTP_HEAD_H
#define INFER_SERVE_HTTP_HEAD_H
#include <stddef.h>
#include <stdint.h>

struct MHD_Connection;

/* True if a body of this Content-Type is read as JSON: application/json, ...+json, or none (NULL). */
int head_is_json(const char *type);
/* True if `id` is a valid request id: 1 to 128 letters, digits and -_.:/ */
int head_is_id(const char *id);
/* The value of Content-Length; -1: not given, or not a number. */
int64_t head_length(const char *value);
/* True if the n bytes are a host as in a URL: a name, an IPv4 address, [an IPv6 address] or empty; with
 * or without a port. */
int head_is_host(const char *at, size_t n);
/* Copy the trace id of a W3C traceparent, 32 digits. Returns 0 if the field is missing or not valid. */
int head_trace(char id[33], const char *value);
/* Copy the span id of a valid traceparent, 16 digits. Returns its flag "sampled". */
int head_parent(char id[17], const char *value);
/* Parse seconds, such as 2.5, above 0 and at most HEAD_SECONDS, into *s; value NULL: set *s to 0. Returns
 * 0 if the value is malformed. */
enum { HEAD_SECONDS = 1000000 };
int head_seconds(double *s, const char *value);
/* Replace each %XX by its byte, in place, and return the new length. %00 stays as it is, because NUL
 * would end the text. */
size_t head_unescape(void *unused, struct MHD_Connection *c, char *text);
#endif
