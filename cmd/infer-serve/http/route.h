/* infer-serve/http/route.h - paths and methods: the endpoints, and which of them a request names. */
#ifndef INFER_SERVE_HTTP_ROUTE_H
#define INFER_SERVE_HTTP_ROUTE_H

struct exchange;

enum {
	ROUTE_GET = 1 << 0,
	ROUTE_POST = 1 << 1,
	ROUTE_HEAD = 1 << 2,
	ROUTE_OPTIONS = 1 << 3,
	ROUTE_DELETE = 1 << 4,
};
enum {
	EP_PUBLIC = 1 << 0, /* needs no key */
	EP_QUICK = 1 << 1,  /* answers at once, on the HTTP thread */
	EP_ALWAYS = 1 << 2, /* answers while the server shuts down, too */
	EP_OFF = 1 << 3,    /* known, and not there: 501 */
	EP_FILES = 1 << 4,  /* needs --files-dir, or it is off */
	EP_UPLOAD = 1 << 5, /* its body is a form with a file */
	EP_PAGE = 1 << 6,   /* of the page, which --no-page leaves out */
	EP_MODEL = 1 << 7,  /* is about a model, which is loaded for it */
};
/* how many there are */
#define EP(method, path, name, form, flags) +1
#define OFF(method, path) +1
enum {
	ROUTE_ENDPOINTS = 0
#include "infer-serve/endpoints/endpoint_list.h"
};
#undef EP
#undef OFF
/* Makes the answer of an exchange: exchange_answer, exchange_refuse or stepper_put. */
typedef void endpoint_fn(struct exchange *x);
struct endpoint {
	unsigned method;  /* ROUTE_GET, ROUTE_POST or ROUTE_DELETE */
	const char *path; /* a star at the end stands for one or more characters */
	endpoint_fn *handle;
	const char *form; /* the wire form of its requests (infer/api.h), or NULL */
	unsigned flags;
};

/* The endpoint for a path and a method, or NULL.  HEAD finds those of GET.
 * allowed  out: the methods of the path, 0: there is no such path
 * rest     out: in path, what the star stands for; NULL: no star */
const struct endpoint *route_find(const char *path, unsigned method, unsigned *allowed,
                                  const char **rest);
unsigned route_method(const char *name); /* "GET"; 0: none of those above */
/* "GET, HEAD, OPTIONS": static */
const char *route_allow(unsigned allowed);
/* 1: errors have Anthropic's form */
int route_is_anthropic(const char *path);
/* The endpoints by index, for counters; NULL: there are no more. */
const struct endpoint *route_at(int i);
int route_index(const struct endpoint *e);
#endif
