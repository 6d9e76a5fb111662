/* infer-serve/http/headers.h - the fields in the head of an answer. */
#ifndef INFER_SERVE_HTTP_HEADERS_H
#define INFER_SERVE_HTTP_HEADERS_H

struct MHD_Response;
struct http_request;

/* Add all header fields that follow from the request and the status of its answer. */
void headers_put(struct MHD_Response *response, const struct http_request *r);
#endif
