/* infer-serve/http/tls.c - the certificate and the key of HTTPS. */
#include "infer-serve/http/tls.h"
#include "infer-serve/serve.h"
#include "common/file.h"
#include "base/err.h"

#include <microhttpd.h>
#include <string.h>

enum { PEM = 1 << 20 };

int tls_read(struct server *s, infer_error *err)
{
	const char *cert = s->o->tls_cert, *key = s->o->tls_key;

	if (!cert && !key)
		return INFER_OK;
	if (!cert || !key)
		return err_set(err, INFER_EINVAL, "--tls-cert and --tls-key go together");
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err_set(err, INFER_EUNSUP, "--tls-cert: this libmicrohttpd has no TLS");
	TRY(file_read(&s->cert, cert, PEM, err));
	TRY(file_read(&s->key, key, PEM, err));
	buf_putc(&s->cert, 0);
	buf_putc(&s->key, 0);
	if (s->cert.bad || s->key.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a certificate");
	if (!strstr(s->cert.at, "-----BEGIN CERTIFICATE-----"))
		return err_set(err, INFER_EFORMAT, "%s: there is no certificate in it", cert);
	if (!strstr(s->key.at, "PRIVATE KEY-----"))
		return err_set(err, INFER_EFORMAT, "%s: there is no private key in it", key);
	return INFER_OK;
}

void tls_fini(struct server *s)
{
	if (s->key.at)
		explicit_bzero(s->key.at, s->key.len);
	buf_fini(&s->key);
	buf_fini(&s->cert);
}
