/* hub/net_url.c - the URLs of requests and redirects. */
#include "base/err.h"
#include "hub/net_inner.h"

#include <string.h>

static int is_alnum(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Return the length of "http://" or "https://" at the start of url, or 0. */
static size_t scheme_bytes(const char *url, int *tls)
{
	*tls = !strncasecmp(url, "https://", 8);
	return *tls ? 8 : !strncasecmp(url, "http://", 7) ? 7 : 0;
}

static int read_port(int *port, const char *s, size_t n)
{
	long v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || (v = v * 10 + s[i] - '0') > 65535)
			return -1;
	}
	if (n)
		*port = (int)v;
	return v || !n ? 0 : -1;
}

/* True for a host name or an address.  Brackets and colons are allowed only in an IPv6 address. */
static int is_host(const char *s, size_t n)
{
	int in6 = n > 2 && s[0] == '[' && s[n - 1] == ']';

	if (in6) {
		s++;
		n -= 2;
	}
	for (size_t i = 0; i < n; i++)
		if (!is_alnum((unsigned char)s[i]) && !strchr(in6 ? ":." : "-._", s[i]))
			return 0;
	return n > 0;
}

int hub_origin_of(struct hub_origin *o, const char *url, infer_error *err)
{
	size_t scheme = scheme_bytes(url, &o->tls), all = strlen(url);
	const char *host = url + scheme, *colon;
	size_t n = strcspn(host, "/?#"), host_n = n;

	o->port = o->tls ? 443 : 80;
	colon = memrchr(host, ':', n);
	if (colon && !memchr(colon, ']', n - (size_t)(colon - host))) {
		host_n = (size_t)(colon - host);
		if (read_port(&o->port, colon + 1, n - host_n - 1))
			scheme = 0;
	}
	if (!scheme || all >= HUB_URL_BYTES || host_n >= sizeof o->host || !is_host(host, host_n))
		return err_set(err, INFER_ENET, "%.120s is not http(s)://HOST[:PORT]/...",
		               all ? url : "an empty address");
	for (size_t i = 0; i < all; i++)
		if (url[i] <= ' ' || url[i] >= 0x7f)
			return err_set(err, INFER_ENET,
			               "an address has a byte that must be percent-encoded");
	for (size_t i = 0; i < host_n; i++)
		o->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
	o->host[host_n] = 0;
	return INFER_OK;
}

int hub_origin_same(const struct hub_origin *a, const struct hub_origin *b)
{
	return a->tls == b->tls && a->port == b->port && !strcmp(a->host, b->host);
}

static void put_encoded(struct buf *b, int c) { buf_printf(b, "%%%02X", (unsigned)c & 255); }

/* True if s begins with a scheme and a colon. */
static int has_scheme(const char *s)
{
	size_t n = 0;

	while (is_alnum((unsigned char)s[n]) || (n && s[n] && strchr("+-.", s[n])))
		n++;
	return n && s[n] == ':';
}

void hub_url_join(struct buf *out, const char *base, const char *to)
{
	int tls;
	size_t scheme = scheme_bytes(base, &tls), host = scheme + strcspn(base + scheme, "/?#");
	size_t path = host + strcspn(base + host, "?#"), keep = 0;

	if (!strncmp(to, "//", 2)) {
		keep = scheme ? scheme - 2 : 0;
	} else if (*to == '/') {
		keep = host;
	} else if (*to == '?' || *to == '#' || !*to) {
		keep = path;
	} else if (!has_scheme(to)) {
		const char *slash = memrchr(base + host, '/', path - host);

		keep = slash ? (size_t)(slash - base) + 1 : 0;
		if (!slash) {
			buf_put(out, base, host);
			buf_putc(out, '/');
		}
	}
	buf_put(out, base, keep);
	for (size_t n = strcspn(to, "#"); n; n--, to++) {
		if ((unsigned char)*to <= ' ' || (unsigned char)*to >= 0x7f)
			put_encoded(out, *to);
		else
			buf_putc(out, *to);
	}
}

void hub_net_quote(struct buf *b, const char *path)
{
	for (; *path; path++) {
		if (is_alnum((unsigned char)*path) || strchr("-._~/", *path))
			buf_putc(b, *path);
		else
			put_encoded(b, *path);
	}
}
