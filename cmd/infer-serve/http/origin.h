/* infer-serve/http/origin.h - checks of the Host and the Origin of a request.
 *
 * A web site can let a name of its own point to 127.0.0.1 (DNS rebinding). A browser then treats this
 * server as part of the site, whose pages may read its answers; only Host shows the site's name. So a
 * listener on a loopback address accepts the names of this machine, the address of --listen and the names
 * of --server-name. Any Host is accepted with a valid key, and on a Unix socket, which no browser opens.
 *
 * With --cors, a request from a page of another origin is refused, because browsers send many kinds of
 * requests without a preflight. */
#ifndef INFER_SERVE_HTTP_ORIGIN_H
#define INFER_SERVE_HTTP_ORIGIN_H
#include "common/opt.h"

struct MHD_Connection;
struct http_request;
struct listener;

/* The names that a Host may have. */
struct origin {
	int checks_host;              /* 0: any name is accepted */
	char listen[256];             /* host of the listening address */
	const struct opt_list *names; /* values of --server-name */
};
/* Set up the checks for the listener l.  names: values of --server-name.
 * INFER_EINVAL  one of them is not a host name without scheme and port */
int origin_open(struct origin *o, const struct opt_list *names, const struct listener *l,
                infer_error *err);
/* Set r->early if the Host, Origin or Content-Type of r is refused.  Call it after admit_key. */
void origin_check(const struct origin *o, struct http_request *r, struct MHD_Connection *c);

/* True if pages of this origin may read answers.  only: the value of --cors, or NULL. */
int origin_is_allowed(const char *only, const char *origin);
/* True if a Host, with or without a port, has this name. */
int origin_host_is(const char *host, const char *name);
/* True if this Origin is that of the server's own pages for requests with this Host. */
int origin_is_own(const char *origin, const char *host);
#endif
