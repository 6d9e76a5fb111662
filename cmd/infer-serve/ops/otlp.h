/* infer-serve/ops/otlp.h - send a span for each request to a model, with OpenTelemetry's attributes for
 * generative AI, by OTLP over HTTP as JSON.
 *
 * A child process sends the spans: the server itself may open no socket after its start (harden.c), and
 * no request waits for the collector. A span is a line in a pipe; the child ends when the pipe is closed.
 * A span that does not fit into the pipe is dropped and counted. */
#ifndef INFER_SERVE_OPS_OTLP_H
#define INFER_SERVE_OPS_OTLP_H
#include <infer/api.h>
#include <infer/status.h>

struct server;
struct api_request;

/* With --otlp: start the child process.  Call it before threads are started.
 * INFER_EINVAL  the URL is wrong; INFER_EUNSUP there is no libcurl; INFER_EIO INFER_ENOMEM */
int otlp_open(struct server *s, infer_error *err);
/* Close the pipe, and wait a short time until the child has sent its spans. */
void otlp_close(struct server *s);
/* Write the attributes of the answer into r->span.  Called by the thread that made the answer. */
void otlp_note(struct api_request *r, const struct infer_answer *a);
/* Write the span of a request, or of a line of a batch, that has ended.  Any thread may call it. */
void otlp_put(const struct api_request *r, int status);
#endif
