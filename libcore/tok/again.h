/* tok/again.h - encode many texts in the same memory.  With BPE and SentencePiece BPE, texts of at
 * most `most` bytes allocate nothing.  Confined; the tokenizer must outlive it. */
#ifndef TOK_AGAIN_H
#define TOK_AGAIN_H
#include <infer/token.h>

struct tok_run;
int tok_run_new(struct tok_run **out, const infer_tokenizer *t, size_t most, infer_error *err);
/* Like infer_encode without flags, but ids are borrowed until the next text. */
int tok_run_text(struct tok_run *r, const char *text, size_t n, const int32_t **ids, size_t *n_ids,
                 infer_error *err);
void tok_run_free(struct tok_run *r); /* NULL is fine */
#endif
