/* infer-serve/http/answer.h - send the answer of a request to its connection. */
#ifndef INFER_SERVE_HTTP_ANSWER_H
#define INFER_SERVE_HTTP_ANSWER_H
#include <microhttpd.h>
#include "infer-serve/http/request.h"

/* Queue the answer of r: a buffer, a file or a stream.  MHD_NO: the connection is to be closed. */
enum MHD_Result answer_send(struct http_request *r, struct MHD_Connection *c);
/* Queue the answer to a browser's preflight request (OPTIONS). */
enum MHD_Result answer_preflight(struct http_request *r, struct MHD_Connection *c);
/* Write an error to the socket of r and end the connection. Needed while the head or body arrives:
 * libmicrohttpd then accepts no answer. reason: the reason phrase of the status. Caller holds the
 * server's lock. */
void answer_raw(struct http_request *r, int kind, const char *reason, const char *message);
#endif
