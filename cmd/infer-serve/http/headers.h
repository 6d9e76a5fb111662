/* infer-serve/http/headers.h - the fields in the head of an answer. */
#ifndef INFER_SERVE_HTTP_HEADERS_H
#define INFER_SERVE_HTTP_HEADERS_H

struct MHD_Response;
struct http_request;

/* Those that follow from the exchange and its status. */
void headers_put(struct MHD_Response *response, const struct http_request *r);
#endif
