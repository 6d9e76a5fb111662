/* infer-serve/http/describe.h - read the head of a request and the address of its client. */
#ifndef INFER_SERVE_HTTP_DESCRIBE_H
#define INFER_SERVE_HTTP_DESCRIBE_H

struct MHD_Connection;
struct http_request;
struct sockaddr;

/* The value of a header field; NULL: not given.  Borrowed from c. */
const char *http_field(struct MHD_Connection *c, const char *name);
/* The client's address; NULL: unknown.  Borrowed from c. */
const struct sockaddr *http_client(struct MHD_Connection *c);
/* The client's address as text, "unix" for a Unix socket. Freed with mem_free; NULL: no memory */
char *http_address(struct MHD_Connection *c);
/* Set the request id, the trace, and all of r->head except the path. method: kept, not copied. */
void http_describe(struct http_request *r, struct MHD_Connection *c, const char *method);
#endif
