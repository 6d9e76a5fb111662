/* infer-serve/ops/otlp.h - spans of requests, in the words of OpenTelemetry's conventions for generative
 * AI, over OTLP/HTTP as JSON.
 *
 * A process of its own sends them: this one opens no socket once it serves (harden.c), and no request
 * waits for a collector.  A line of a pipe is a span; the process ends with the pipe.  A span that the
 * pipe has no room for is dropped, and counted. */
#ifndef INFER_SERVE_OPS_OTLP_H
#define INFER_SERVE_OPS_OTLP_H
#include <infer/api.h>
#include <infer/status.h>

struct server;
struct api_request;

/* Start that process, before there are threads.  Without --otlp nothing is done.
 * INFER_EINVAL  the address; INFER_EUNSUP there is no libcurl; INFER_EIO INFER_ENOMEM */
int otlp_open(struct server *s, infer_error *err);
/* Wait for what it has, for a while. */
void otlp_close(struct server *s);
/* Remember what was asked and answered; of the thread that has the answer. */
void otlp_note(struct api_request *r, const struct infer_answer *a);
/* The request, or the line of a batch, is over; of any thread: a line of the pipe is written at once. */
void otlp_put(const struct api_request *r, int status);
#endif
