/* infer-serve/ops/stepper.h - the thread that steps the engines. */
#ifndef INFER_SERVE_OPS_STEPPER_H
#define INFER_SERVE_OPS_STEPPER_H
struct api_request;

/* Run until s->stop is STOP_ALL.  Returns NULL. */
void *stepper_thread(void *server);
/* Run r->gen.job, which is taken over.  The answer goes to r->owner, which is then told that r is done.
 * Under no lock. */
void stepper_put(struct api_request *r);
#endif
