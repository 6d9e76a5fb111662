/* infer-serve/http/strict.h - the rules of RFC 9112 for heads that libmicrohttpd before 1.0 does not
 * check.
 *
 * If two programs disagree about where a request ends, bytes of one client can become a request of
 * another (request smuggling). A request that breaks a rule is refused, and its connection is closed. */
#ifndef INFER_SERVE_HTTP_STRICT_H
#define INFER_SERVE_HTTP_STRICT_H
#include <stddef.h>

struct MHD_Connection;

/* A request target as it arrived, with escapes and query. */
struct strict_target {
	size_t n;        /* length in bytes */
	size_t path;     /* offset of its path: 0, or after the authority of an absolute URL */
	int kind;        /* reason to refuse it, enum infer_fault_kind; 0: accepted */
	const char *why; /* message for `kind`; static */
};
enum {
	STRICT_TARGET = 16 << 10, /* limit: bytes of a target */
	STRICT_ARGUMENTS = 64,    /* limit: query arguments */
	STRICT_HEAD = 32 << 10,   /* limit: bytes of a head */
	STRICT_FIELDS = 200,      /* limit: fields of a head */
	STRICT_ORIGIN = 1 << 10,  /* limit: bytes of the field Origin, which the answer repeats */
	STRICT_POOL =
		64 << 10, /* bytes per connection: head, table of its fields, head of the answer */
};
/* Check a target; NULL: missing. */
void strict_target(struct strict_target *t, const char *target);

struct strict_request {
	struct MHD_Connection *connection;
	const struct strict_target *target;
	const char *url, *method, *version; /* the pointers that libmicrohttpd passes, not copies */
};
/* Check a whole head.  Returns why it is refused, static, and sets *kind; NULL: it is valid. */
const char *strict_head(const struct strict_request *r, int *kind);
#endif
