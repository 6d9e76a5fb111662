/* infer-serve/http/headers.c - the header fields of an answer. */
#include "infer-serve/http/headers.h"
#include "infer-serve/http/origin.h"
#include "infer-serve/http/request.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

/* Content-Security-Policy of the web page: only its own files, and requests to this server. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
			     "'self'; img-src data:; "
			     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	MHD_add_response_header(response, name, value);
}

static void add_cors(struct MHD_Response *response, const struct http_request *r)
{
	if (!r->head.origin)
		return;
	if (origin_is_allowed(r->api.server->o->cors, r->head.origin))
		add_header(response, "Access-Control-Allow-Origin", r->head.origin);
	add_header(response, "Vary", "Origin");
}

static void add_retry(struct MHD_Response *response, const struct http_request *r)
{
	char seconds[16];

	snprintf(seconds, sizeof seconds, "%d", r->api.retry_s ? r->api.retry_s : 1);
	add_header(response, "Retry-After", seconds);
}

void headers_put(struct MHD_Response *response, const struct http_request *r)
{
	add_header(response, "Server", "infer-serve");
	add_header(response, "X-Request-Id", r->api.id);
	if (r->api.style == STYLE_ANTHROPIC)
		add_header(response, "request-id", r->api.id);
	add_cors(response, r);
	if (r->is_page) {
		add_header(response, "Content-Security-Policy", policy);
		add_header(response, "X-Content-Type-Options", "nosniff");
		add_header(response, "Referrer-Policy", "no-referrer");
	}
	if (r->type)
		add_header(response, "Content-Type", r->type);
	if (r->stage == STAGE_STREAM) {
		add_header(response, "Cache-Control", "no-cache");
		add_header(response, "X-Accel-Buffering", "no");
	}
	if (r->status == 401)
		add_header(response, "WWW-Authenticate", "Bearer");
	/* a retry would exceed the deadline again */
	if (r->api.gen.is_late)
		add_header(response, "x-should-retry", "false");
	if (r->status == 405)
		add_header(response, "Allow", r->allow);
	if (r->status == 429 || r->status == 503)
		add_retry(response, r);
	if (r->link.closes || r->status == 408 || r->status == 413 || r->api.server->draining)
		add_header(response, "Connection", "close");
}
