/* infer-serve/http/answer.h - send the answer of a request to its connection. */
#ifndef INFER_SERVE_HTTP_ANSWER_H
#define INFER_SERVE_HTTP_ANSWER_H
#include <microhttpd.h>
#include "infer-serve/http/request.h"

/* Queue the answer of r: a buffer, a file or a stream.  MHD_NO: the connection is to be closed. */
enum MHD_Result answer_send(struct http_request *r, struct MHD_Connection *c);
/* Queue the answer of a browser's OPTIONS. */
enum MHD_Result answer_preflight(struct http_request *r, struct MHD_Connection *c);
/* Write an error without libmicrohttpd, which takes no answer while a head or a body arrives, and
 * end the connection.  reason: the words after the status.  Caller holds s->lock; the descriptor is
 * that of r. */
void answer_raw(struct http_request *r, int kind, const char *reason, const char *message);
#endif
