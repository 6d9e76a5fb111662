/* infer-serve/endpoints/handoff.h - requests that infer-run hands over: it prints the records of the answer as they
 * come. */
#ifndef INFER_SERVE_ENDPOINTS_HANDOFF_H
#define INFER_SERVE_ENDPOINTS_HANDOFF_H
#include <infer/record.h>
#include "infer-serve/serve.h"

/* TEXT: parts of the answer, in our own form; JSONL: one record behind them; TOKENS: a record a token. */
enum handoff_output { HANDOFF_TEXT, HANDOFF_JSONL, HANDOFF_TOKENS };
struct handoff {
	int output; /* enum handoff_output */
	infer_records *records;
	char **flags; /* for `run` */
	int n_flags, seed_random;
	char *id;
	struct arena mem;
};
void handoff_free(struct handoff *h);

/* All three append events to `to`.  handoff_event: of a token or an end; handoff_end: all of the
 * answer is there; handoff_fault: it breaks off. */
int handoff_event(struct exchange *x, const struct infer_got *got, struct buf *to,
                  infer_error *err);
int handoff_end(struct exchange *x, const struct infer_answer *a, struct buf *to, infer_error *err);
int handoff_fault(struct exchange *x, const struct infer_fault *f, struct buf *to,
                  infer_error *err);
#endif
