/* infer-serve/http/tls.h - the certificate and the key of HTTPS. */
#ifndef INFER_SERVE_HTTP_TLS_H
#define INFER_SERVE_HTTP_TLS_H
#include <infer/status.h>

struct server;

/* Read what --tls-cert and --tls-key name into s->cert and s->key; both stay empty without them.
 * INFER_EINVAL  one without the other; INFER_EUNSUP libmicrohttpd has no TLS
 * INFER_EFORMAT a file is something else; INFER_EIO INFER_ENOMEM */
int tls_read(struct server *s, infer_error *err);
void tls_fini(struct server *s);
#endif
