/* infer-serve/http/tls.c - the certificate and the key of HTTPS. */
#include "infer-serve/http/tls.h"
#include "infer-serve/ops/options.h"
#include "common/file.h"
#include "base/err.h"

#include <microhttpd.h>
#include <string.h>

enum { PEM = 1 << 20 };

int tls_read(struct tls *t, const struct serve_opts *o, infer_error *err)
{
	const char *cert = o->tls_cert, *key = o->tls_key;

	buf_init(&t->cert, MEM_BASE);
	buf_init(&t->key, MEM_BASE);
	if (!cert && !key)
		return INFER_OK;
	if (!cert || !key)
		return err_set(err, INFER_EINVAL, "--tls-cert and --tls-key go together");
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err_set(err, INFER_EUNSUP, "--tls-cert: this libmicrohttpd has no TLS");
	TRY(file_read(&t->cert, cert, PEM, err));
	TRY(file_read(&t->key, key, PEM, err));
	buf_putc(&t->cert, 0);
	buf_putc(&t->key, 0);
	if (t->cert.bad || t->key.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a certificate");
	if (!strstr(t->cert.at, "-----BEGIN CERTIFICATE-----"))
		return err_set(err, INFER_EFORMAT, "%s: must contain a certificate in PEM", cert);
	if (!strstr(t->key.at, "PRIVATE KEY-----"))
		return err_set(err, INFER_EFORMAT, "%s: must contain a private key in PEM", key);
	return INFER_OK;
}

void tls_fini(struct tls *t)
{
	if (t->key.at)
		explicit_bzero(t->key.at, t->key.len);
	buf_fini(&t->key);
	buf_fini(&t->cert);
}
