/* infer-serve/http/origin.h - checks of the Host and the Origin of a request.
 *
 * A web site can let a name of its own point to 127.0.0.1 (DNS rebinding).  For a browser, its
 * pages then have the origin of a server on this machine and may read its answers; only Host
 * differs.  So a listener on a loopback address accepts the names of this machine, the address of
 * --listen and the names of --server-name.  Requests with a valid key, and those of a socket in the
 * file system, which no browser opens, may have any Host.
 *
 * With --cors, a request that a page of another origin sends is refused, since a browser sends many
 * kinds of requests before it asks whether it may. */
#ifndef INFER_SERVE_HTTP_ORIGIN_H
#define INFER_SERVE_HTTP_ORIGIN_H
#include "common/opt.h"

struct MHD_Connection;
struct http_request;
struct listener;

/* The names that a Host may have. */
struct origin {
	int checks_host;              /* 0: any name is accepted */
	char listen[256];             /* host of the address that it listens at */
	const struct opt_list *names; /* of --server-name */
};
/* INFER_EINVAL  a value of --server-name is not a host name without scheme and port */
int origin_open(struct origin *o, const struct opt_list *names, const struct listener *l,
                infer_error *err);
/* Set r->early if the Host, Origin or Content-Type of r is refused.  Call it after admit_key. */
void origin_check(const struct origin *o, struct http_request *r, struct MHD_Connection *c);

/* True if pages of this origin may read answers.  only: the value of --cors, or NULL. */
int origin_is_allowed(const char *only, const char *origin);
/* True if a Host, with or without a port, has this name. */
int origin_host_is(const char *host, const char *name);
/* True if an Origin is that of the server's own pages, which were requested with this Host. */
int origin_is_own(const char *origin, const char *host);
#endif
