/* infer-serve/http/strict.h - the rules of RFC 9112 for heads that libmicrohttpd before 1.0 does
 * not check.
 *
 * Two programs that disagree about where a request ends let one client's bytes become another's
 * request. A request that breaks a rule is refused, and its connection is closed. */
#ifndef INFER_SERVE_HTTP_STRICT_H
#define INFER_SERVE_HTTP_STRICT_H
#include <stddef.h>

struct MHD_Connection;

/* A request target as it arrived, with escapes and query. */
struct strict_target {
	size_t n;        /* bytes */
	size_t path;     /* offset of its path: 0, or after the authority of an absolute URL */
	int kind;        /* enum infer_fault_kind of why it is refused; 0: accepted */
	const char *why; /* static */
};
enum {
	STRICT_TARGET = 16 << 10, /* bytes of a target */
	STRICT_ARGUMENTS = 64,    /* arguments after its question mark */
	STRICT_HEAD = 32 << 10,   /* bytes of a head */
	STRICT_FIELDS = 200,      /* fields of a head */
	STRICT_ORIGIN = 1 << 10,  /* bytes of the field Origin, which is part of the answer */
	STRICT_POOL =
		64 << 10, /* memory of a connection: a head, its table, and the answer's head */
};
/* Check a target; NULL: missing. */
void strict_target(struct strict_target *t, const char *target);

struct strict_request {
	struct MHD_Connection *connection;
	const struct strict_target *target;
	const char *url, *method, *version; /* those that libmicrohttpd passes, not copies */
};
/* Check a whole head.  Returns why it is refused, static, and sets *kind; NULL: it is valid. */
const char *strict_head(const struct strict_request *r, int *kind);
#endif
