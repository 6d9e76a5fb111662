/* infer-serve/ops/slots.h - the samples being computed, for /slots. The caller holds the lock. */
#ifndef INFER_SERVE_OPS_SLOTS_H
#define INFER_SERVE_OPS_SLOTS_H
#include <stdint.h>

struct api_request;

/* Add tokens to the slot of a sample of r. A sample without a slot gets an idle one, if any. */
void slots_count(const struct api_request *r, int32_t index, int32_t tokens);
/* Free the slot of sample `index` of r, or of all samples. */
void slots_free(const struct api_request *r, int32_t index);
void slots_free_all(const struct api_request *r);
#endif
