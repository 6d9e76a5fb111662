/* infer-run/splice.h - a prompt that goes on where the last answer ended: ids that were computed,
 * then new ones. */
#ifndef INFER_RUN_SPLICE_H
#define INFER_RUN_SPLICE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/token.h>
#include "base/buf.h"

/* Replace the front of `fresh` by ids of `past` that spell the same bytes, as many as there are:
 * tokenising an answer's text again may cut it otherwise than the model did when it wrote it.
 * Tokens that are no text (control tokens) are the same only where their ids are.
 * past   int32_t []: the last prompt and what was answered
 * fresh  [n_fresh]: the whole prompt, tokenised anew
 * out    int32_t []; initialised by the caller, its to buf_fini; what was in it is gone
 * INFER_EINVAL  an id outside the vocabulary; INFER_ENOMEM */
int splice(struct buf *out, const infer_tokenizer *t, const struct buf *past, const int32_t *fresh,
           size_t n_fresh, infer_error *err);
#endif
