/* infer-serve/http/tls.h - the certificate and the key of HTTPS. */
#ifndef INFER_SERVE_HTTP_TLS_H
#define INFER_SERVE_HTTP_TLS_H
#include <infer/status.h>
#include "base/buf.h"

struct serve_opts;

struct tls {
	struct buf cert, key; /* PEM, ends with NUL; empty: HTTP */
};
/* Read the files of --tls-cert and --tls-key. Without these options both stay empty. The caller calls
 * tls_fini, on failure too.
 * INFER_EINVAL  one option without the other; INFER_EUNSUP libmicrohttpd has no TLS
 * INFER_EFORMAT a file is not a certificate, or not a private key; INFER_EIO INFER_ENOMEM */
int tls_read(struct tls *t, const struct serve_opts *o, infer_error *err);
/* Erase the key and free both. */
void tls_fini(struct tls *t);
#endif
