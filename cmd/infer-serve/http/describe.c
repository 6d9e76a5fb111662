/* infer-serve/http/describe.c - read the head of a request and the address of its client. */
#include "infer-serve/http/describe.h"
#include "infer-serve/http/head.h"
#include "infer-serve/http/request.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

const char *http_field(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

const struct sockaddr *http_client(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return i ? i->client_addr : NULL;
}

static char *copy_text(const char *text)
{
	return text ? mem_strndup(MEM_BASE, text, strlen(text)) : NULL;
}

char *http_address(struct MHD_Connection *c)
{
	const struct sockaddr *a = http_client(c);
	char text[INET6_ADDRSTRLEN + 1] = "unix";

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, text,
		          sizeof text);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		          text, sizeof text);
	return copy_text(text);
}

static const char *argument(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
}

static void read_arguments(struct http_head *h, struct MHD_Connection *c)
{
	const char *slot = argument(c, "fail_on_no_slot"), *stream = argument(c, "stream");

	h->demands_slot = slot && !strcmp(slot, "1");
	h->streams = stream && !strcmp(stream, "true");
	h->order = copy_text(argument(c, "order"));
	h->after = copy_text(argument(c, argument(c, "after") ? "after" : "after_id"));
	h->before = copy_text(argument(c, "before_id"));
	h->purpose = copy_text(argument(c, "purpose"));
	h->model = copy_text(argument(c, "model"));
	h->limit = head_length(argument(c, "limit"));
	if (h->limit < 0)
		h->limit = 0;
}

void http_describe(struct http_request *r, struct MHD_Connection *c, const char *method)
{
	const char *id = http_field(c, "X-Request-Id"), *parent = http_field(c, "traceparent");

	r->head.origin = copy_text(http_field(c, "Origin"));
	r->head.remote = http_address(c);
	r->head.method = method;
	r->head.is_head = !strcmp(method, "HEAD");
	if (id && head_is_id(id))
		snprintf(r->api.id, sizeof r->api.id, "%s", id);
	else
		snprintf(r->api.id, sizeof r->api.id, "req_%s", r->api.name);
	r->api.trace.is_given = head_trace(r->api.trace.id, parent);
	r->api.trace.is_sampled =
		r->api.trace.is_given && head_parent(r->api.trace.parent_id, parent);
	read_arguments(&r->head, c);
}
