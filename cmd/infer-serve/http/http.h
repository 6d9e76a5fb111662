/* infer-serve/http/http.h - the HTTP side, on libmicrohttpd: connections, heads, bodies and answers. */
#ifndef INFER_SERVE_HTTP_HTTP_H
#define INFER_SERVE_HTTP_HTTP_H
#include <stdint.h>
#include <infer/status.h>

struct server;
struct exchange;

/* Serve what arrives at a socket that listens, which is closed with the rest.
 * INFER_EIO INFER_ENOMEM */
int http_open(struct server *s, int socket, infer_error *err);
/* Accept no more connections. */
void http_quiesce(struct server *s);
/* End connections that are past a deadline: 408 where a request can be answered. */
void http_check(struct server *s, int64_t now_ns);
/* End all connections, and the thread. */
void http_close(struct server *s);

/* Under s->lock: the HTTP side of x continues, if it waits for an answer. */
void http_wake(struct exchange *x);
/* Under s->lock: end the requests whose clients closed the connection, or its sending side.  Returns the
 * time of the next call that is needed; INT64_MAX: none is. */
int64_t http_look(struct server *s, int64_t now_ns);
/* A descriptor that is readable when http_look has something to do. */
int http_watched(const struct server *s);
#endif
