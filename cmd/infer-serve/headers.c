/* infer-serve/headers.c - the fields in the head of an answer. */
#include "infer-serve/headers.h"
#include "infer-serve/serve.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

/* Of the page: nothing but its own files and this server. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
			     "'self'; img-src data:; "
			     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void header(struct MHD_Response *r, const char *name, const char *value)
{
	MHD_add_response_header(r, name, value);
}

/* 1: a page of this machine: http or https, one of its own names, and any port. */
static int is_local(const char *origin)
{
	static const char *const schemes[] = { "http://", "https://" };
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++)
		for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++) {
			const char *at = origin, *host = hosts[h];
			size_t n = strlen(schemes[s]);

			if (strncmp(at, schemes[s], n) || strncmp(at + n, host, strlen(host)))
				continue;
			at += n + strlen(host);
			if (!*at || (*at == ':' && at[1] && !at[1 + strspn(at + 1, "0123456789")]))
				return 1;
		}
	return 0;
}

static int is_allowed(const char *only, const char *origin)
{
	if (!only || !strcmp(only, "*"))
		return 1;
	return strcmp(only, "localhost") ? !strcmp(only, origin) : is_local(origin);
}

static void add_cors(struct MHD_Response *r, const struct exchange *x)
{
	if (!x->origin)
		return;
	if (is_allowed(x->server->o->cors, x->origin))
		header(r, "Access-Control-Allow-Origin", x->origin);
	header(r, "Vary", "Origin");
}

static void add_retry(struct MHD_Response *r, const struct exchange *x)
{
	char seconds[16];

	snprintf(seconds, sizeof seconds, "%d", x->retry_s ? x->retry_s : 1);
	header(r, "Retry-After", seconds);
}

void headers_put(struct MHD_Response *r, const struct exchange *x)
{
	header(r, "Server", "infer-serve");
	header(r, "X-Request-Id", x->id);
	if (x->anthropic)
		header(r, "request-id", x->id);
	add_cors(r, x);
	if (x->is_page) {
		header(r, "Content-Security-Policy", policy);
		header(r, "X-Content-Type-Options", "nosniff");
		header(r, "Referrer-Policy", "no-referrer");
	}
	if (x->type)
		header(r, "Content-Type", x->type);
	if (x->stage == STAGE_STREAM) {
		header(r, "Cache-Control", "no-cache");
		header(r, "X-Accel-Buffering", "no");
	}
	if (x->status == 401)
		header(r, "WWW-Authenticate", "Bearer");
	/* its time would be over again */
	if (x->late)
		header(r, "x-should-retry", "false");
	if (x->status == 405)
		header(r, "Allow", x->allow);
	if (x->status == 429 || x->status == 503)
		add_retry(r, x);
	if (x->status == 408 || x->status == 413 || x->server->draining)
		header(r, "Connection", "close");
}
