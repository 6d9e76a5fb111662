/* infer-serve/http/headers.c - the fields in the head of an answer. */
#include "infer-serve/http/headers.h"
#include "infer-serve/http/origin.h"
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

static void add_cors(struct MHD_Response *r, const struct exchange *x)
{
	if (!x->origin)
		return;
	if (origin_is_allowed(x->server->o->cors, x->origin))
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
	if (x->closes || x->status == 408 || x->status == 413 || x->server->draining)
		header(r, "Connection", "close");
}
