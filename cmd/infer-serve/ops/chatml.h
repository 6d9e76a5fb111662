/* infer-serve/ops/chatml.h - the chat template of models that have none. */
#ifndef INFER_SERVE_OPS_CHATML_H
#define INFER_SERVE_OPS_CHATML_H
#include <infer/chat.h>
#include <infer/token.h>

/* Open the template ChatML, unless *chat is open already.
 * INFER_ENOMEM, and errors of infer_encode */
int chatml_open(infer_chat **chat, const infer_tokenizer *t, infer_error *err);
#endif
