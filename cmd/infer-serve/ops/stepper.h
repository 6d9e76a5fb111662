/* infer-serve/ops/stepper.h - the thread that steps the engines. */
#ifndef INFER_SERVE_OPS_STEPPER_H
#define INFER_SERVE_OPS_STEPPER_H
struct api_request;

/* Run until s->stop is STOP_ALL.  Returns NULL. */
void *stepper_thread(void *server);
/* Take ownership of r->gen.job and run it. Calls r->owner->answer, stream or fault, and at the end
 * r->owner->done. Caller holds no lock. */
void stepper_put(struct api_request *r);
#endif
