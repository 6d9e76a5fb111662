/* tok/spm.h (private) - what the kinds share whose pieces write a space as U+2581: the normaliser
 * of SentencePiece. */
#ifndef TOK_SPM_H
#define TOK_SPM_H
#include "base/buf.h"
#include "tok/tok.h"

/* A precompiled_charsmap replaces sequences of code points.  Its bytes: u32 little-endian, size of
 * the trie; the trie, an array of u32 units (a double array as darts-clone writes it), each
 *	label 8 bits | has leaf 1 | long offset 1 | offset 22,  or 2^31 | value of a leaf
 * then NUL-terminated strings; a value is the offset of one.  INFER_EFORMAT where that does not
 * hold; INFER_EUNSUP for a string of more than SPM_MAPPED bytes. */
/* bytes that a rule may take, or give; how much longer a text may become */
enum { SPM_MAPPED = 256, SPM_TIMES = 16 };
int spm_charsmap_open(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
/* spaces are spaces again */
size_t spm_text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out);
/* Put s with U+2581 for each space, and one more in front where front is not 0. */
void spm_escape(struct buf *b, const char *s, size_t n, int front);
/* Put s as the model was trained on it: characters mapped, white space joined, then escaped, as the
 * file says.
 * INFER_EUNSUP  a rule of more than SPM_MAPPED bytes fits, or the text becomes more than SPM_TIMES
 * as long; INFER_ENOMEM */
int spm_normal(const struct infer_tokenizer *t, struct buf *b, const char *s, size_t n, int front,
               infer_error *err);
#endif
