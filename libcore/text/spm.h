/* text/spm.h - what kinds whose pieces write a space as U+2581 share. */
#ifndef TEXT_SPM_H
#define TEXT_SPM_H
#include "base/buf.h"
#include "text/tok.h"

int    spm_open(struct infer_tokenizer *t, const struct tok_source *src, infer_error *err);   /* finds out `apart` */
void   spm_close(struct infer_tokenizer *t);
size_t spm_text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out);     /* spaces are spaces again */
/* Put s with U+2581 for each space, and one more in front where front is not 0. */
void   spm_escape(struct buf *b, const char *s, size_t n, int front);
#endif
