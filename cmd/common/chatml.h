/* common/chatml.h - the chat template of models that have none. */
#ifndef COMMON_CHATML_H
#define COMMON_CHATML_H
#include <infer/token.h>
#include "base/buf.h"

/* Append the source of the template ChatML for a model's tokenizer to `out`.
 * Errors: those of infer_encode. Out of memory sets out->bad. */
int chatml_source(struct buf *out, const infer_tokenizer *t, infer_error *err);
#endif
