/* infer-serve/http/route.h - endpoints: methods, paths, and which endpoint a request names. */
#ifndef INFER_SERVE_HTTP_ROUTE_H
#define INFER_SERVE_HTTP_ROUTE_H
#include "infer-serve/ops/api_request.h"

struct http_request;

/* HTTP methods, as bits */
enum {
	ROUTE_GET = 1 << 0,
	ROUTE_POST = 1 << 1,
	ROUTE_HEAD = 1 << 2,
	ROUTE_OPTIONS = 1 << 3,
	ROUTE_DELETE = 1 << 4,
};
enum {
	EP_PUBLIC = 1 << 0,  /* needs no API key */
	EP_QUICK = 1 << 1,   /* answers at once, on the HTTP thread */
	EP_ALWAYS = 1 << 2,  /* answers even while the server shuts down */
	EP_OFF = 1 << 3,     /* known but not supported: answered with 501 */
	EP_FILES = 1 << 4,   /* answered with 501 without --files-dir */
	EP_UPLOAD = 1 << 5,  /* the body is a form with a file */
	EP_PAGE = 1 << 6,    /* a file of the web page; absent with --no-page */
	EP_MODEL = 1 << 7,   /* needs a model, which is loaded before the endpoint runs */
	EP_BY_FILE = 1 << 8, /* the model may also be named by its file */
	/* the body is JSON whatever its Content-Type, unless a browser sent it (Origin) */
	EP_ANY_TYPE = 1 << 9,
	EP_LORA = 1 << 10, /* answered with 501 without --lora-dir */
};
/* Handle r: answer with http_answer, api_refuse or api_fault; or set r->api.gen.job, which the caller
 * then runs and answers (not if EP_QUICK). The caller ends r. */
typedef void endpoint_fn(struct http_request *r);
struct endpoint {
	unsigned method;  /* ROUTE_GET, ROUTE_POST or ROUTE_DELETE */
	const char *path; /* a star at the end stands for one or more characters */
	endpoint_fn *handle;
	const char *format; /* the API format of its requests (infer/api.h); NULL: none */
	unsigned flags;
};
struct route_table {
	const struct endpoint *rows;
	int n;
};

/* Return the endpoint for a path and a method, or NULL. HEAD finds the endpoint of GET.
 * allowed  out: the methods of the path; 0: no endpoint has this path
 * rest     out: the part of `path` that the star stands for; NULL: no star */
const struct endpoint *route_find(const struct route_table *t, const char *path, unsigned method,
                                  unsigned *allowed, const char **rest);
/* The bit of a method; 0: another method. */
unsigned route_method(const char *name);
/* The value of the header Allow, such as "GET, HEAD, OPTIONS"; static. */
const char *route_allow(unsigned allowed);
/* Return whose API the path belongs to. */
enum api_style route_style(const char *path);
#endif
