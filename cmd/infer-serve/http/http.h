/* infer-serve/http/http.h - the HTTP server, on libmicrohttpd: connections, heads, bodies and answers. */
#ifndef INFER_SERVE_HTTP_HTTP_H
#define INFER_SERVE_HTTP_HTTP_H
#include <stdint.h>
#include <infer/status.h>

struct http_request;
struct origin;
struct route_table;
struct server;
struct tls;

/* Options of the HTTP server.  The pointers are borrowed until http_close. */
struct http_setup {
	int socket; /* listening socket; closed by http_quiesce or http_close */
	const struct tls *tls;
	const struct origin *origin;
	const struct route_table *routes;
};
/* Start the HTTP thread. After a failure, call http_close.
 * INFER_EFORMAT  the certificate and the key do not match
 * INFER_EIO INFER_ENOMEM */
int http_open(struct server *s, const struct http_setup *setup, infer_error *err);
/* Accept no more connections. */
void http_quiesce(struct server *s);
/* End connections whose deadline has passed, with status 408 if the request can still be answered. */
void http_check(struct server *s, int64_t now_ns);
/* End all connections and the thread. */
void http_close(struct server *s);

/* Continue to send the answer of r if it was suspended.  Caller holds the lock. */
void http_wake(struct http_request *r);
/* True if connections use TLS. */
int http_has_tls(const struct server *s);
/* A descriptor that becomes readable when s->find_gone has something to do. */
int http_watched(const struct server *s);
#endif
