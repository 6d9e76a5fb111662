/* infer-serve/http/origin.c - checks of the Host and the Origin of a request. */
#include "infer-serve/http/origin.h"
#include "infer-serve/http/describe.h"
#include "infer-serve/http/head.h"
#include "infer-serve/http/listen.h"
#include "infer-serve/http/request.h"
#include "base/err.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const local_names[] = { "localhost", "127.0.0.1", "[::1]" };
enum { LOCAL_NAMES = sizeof local_names / sizeof *local_names };

/* Return the length of the host in HOST[:PORT]; 0: the text has another form. */
static size_t host_length(const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");

	if (*host == '[' && host[n++] != ']')
		return 0;
	if (!host[n] || (host[n] == ':' && !host[n + 1 + strspn(host + n + 1, "0123456789")]))
		return n;
	return 0;
}

int origin_host_is(const char *host, const char *name)
{
	size_t n = host_length(host);

	return n && n == strlen(name) && !strncasecmp(host, name, n);
}

/* ---- opening ---- */

/* True for letters, digits, - _ and dots, or an IPv6 address in brackets. */
static int is_host_name(const char *name)
{
	static const char address[] = "0123456789abcdefABCDEF:.",
			  word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789-_.";
	size_t n = strlen(name);

	if (*name == '[')
		return n > 2 && name[n - 1] == ']' && strspn(name + 1, address) == n - 2;
	return n && strspn(name, word) == n;
}

/* Copy the host of scheme://HOST:PORT. */
static void copy_host(char *to, size_t room, const char *url)
{
	const char *at = strstr(url, "://");
	size_t n = at ? host_length(at + 3) : 0;

	snprintf(to, room, "%.*s", (int)n, at ? at + 3 : "");
}

int origin_open(struct origin *o, const struct opt_list *names, const struct listener *l,
                infer_error *err)
{
	int is_unix = !strncmp(l->url, "unix:", 5);

	for (int i = 0; i < names->n; i++)
		if (!is_host_name(names->at[i]))
			return err_set(err, INFER_EINVAL,
			               "--server-name must be a host name without scheme and port, "
			               "not '%.120s'",
			               names->at[i]);
	*o = (struct origin){ .names = names };
	o->checks_host = !is_unix && (l->local || names->n);
	copy_host(o->listen, sizeof o->listen, l->url);
	return INFER_OK;
}

/* ---- origins ---- */

/* True if the origin is on this machine: http or https, a local name, any port. */
static int is_local_origin(const char *origin)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++)
		for (size_t h = 0; h < LOCAL_NAMES; h++) {
			const char *at = origin, *host = local_names[h];
			size_t n = strlen(schemes[s]);

			if (strncmp(at, schemes[s], n) || strncmp(at + n, host, strlen(host)))
				continue;
			at += n + strlen(host);
			if (!*at || (*at == ':' && at[1] && !at[1 + strspn(at + 1, "0123456789")]))
				return 1;
		}
	return 0;
}

int origin_is_allowed(const char *only, const char *origin)
{
	if (!only || !strcmp(only, "*"))
		return 1;
	return strcmp(only, "localhost") ? !strcmp(only, origin) : is_local_origin(origin);
}

/* Return the length of HOST[:PORT] without ":PORT" if that is the default port. */
static size_t authority_length(const char *host, const char *default_port)
{
	size_t n = strlen(host), k = strlen(default_port);

	return n > k && !strcmp(host + n - k, default_port) ? n - k : n;
}

int origin_is_own(const char *origin, const char *host)
{
	int is_https = !strncmp(origin, "https://", 8);
	const char *at = origin + 7 + is_https, *default_port = is_https ? ":443" : ":80";
	size_t n;

	if (!is_https && strncmp(origin, "http://", 7))
		return 0;
	n = authority_length(at, default_port);
	return host_length(host) && n == authority_length(host, default_port) &&
	       !strncasecmp(at, host, n);
}

/* ---- requests ---- */

static int is_known_host(const struct origin *o, const char *host)
{
	for (size_t i = 0; i < LOCAL_NAMES; i++)
		if (origin_host_is(host, local_names[i]))
			return 1;
	for (int i = 0; i < o->names->n; i++)
		if (origin_host_is(host, o->names->at[i]))
			return 1;
	return *o->listen && origin_host_is(host, o->listen);
}

static void set_early_fault(struct http_request *r, int kind)
{
	r->early.kind = kind;
	r->early.error.code = INFER_EINVAL;
}

static int has_body(struct MHD_Connection *c)
{
	return http_field(c, "Transfer-Encoding") ||
	       head_length(http_field(c, "Content-Length")) > 0;
}

void origin_check(const struct origin *o, struct http_request *r, struct MHD_Connection *c)
{
	const char *cors = r->api.server->o->cors;
	const char *host = http_field(c, "Host");
	char *message = r->early.error.message;
	size_t room = sizeof r->early.error.message;

	if (o->checks_host && host && !*r->api.caller.key && !is_known_host(o, host)) {
		set_early_fault(r, INFER_FAULT_FORBIDDEN);
		snprintf(message, room,
		         "Host must be localhost, 127.0.0.1, [::1], the address of --listen or a "
		         "--server-name, not '%.80s'",
		         host);
	} else if (r->head.origin && !origin_is_allowed(cors, r->head.origin) &&
	           !(host && origin_is_own(r->head.origin, host))) {
		set_early_fault(r, INFER_FAULT_FORBIDDEN);
		snprintf(message, room, "pages of %.80s may not use this server: --cors is %.80s",
		         r->head.origin, cors);
	} else if (r->head.origin && !r->early.kind && !http_field(c, "Content-Type") &&
	           has_body(c)) {
		set_early_fault(r, INFER_FAULT_MEDIA_TYPE);
		snprintf(message, room,
		         "a request with an Origin must have the Content-Type application/json");
	}
}
