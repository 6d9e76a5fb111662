/* tok/spm.h (private) - SentencePiece's normaliser, for kinds with U+2581 as space in pieces. */
#ifndef TOK_SPM_H
#define TOK_SPM_H
#include "base/buf.h"
#include "tok/tok.h"

/* SPM_MAPPED: most bytes that a rule matches or produces.  SPM_TIMES: limit of output / input */
enum { SPM_MAPPED = 256, SPM_TIMES = 16 };
/* Read the precompiled_charsmap of src, if it has one: rules that replace sequences of code points.
 * Its first four bytes are the size of a trie in bytes (u32, little-endian).  The trie follows: an
 * array of u32 units, a double array as written by darts-clone.  A unit is either
 *	label 8 bits | has leaf 1 | long offset 1 | offset 22,  or 2^31 | value of a leaf
 * NUL-terminated strings follow the trie.  The value of a leaf is the offset of the replacement
 * string.
 * INFER_EFORMAT: the bytes do not have this layout.
 * INFER_EUNSUP: a string has more than SPM_MAPPED bytes. */
int spm_charsmap_open(struct infer_tokenizer *t, struct tok_source *src, infer_error *err);
/* True if a prefix of s has a rule; *to: replacement of the shortest one, NUL-terminated. */
int spm_mapped_first(const struct spm_charsmap *m, const char *s, size_t n, const char **to);
/* Write a piece to out with spaces for U+2581; returns its bytes. */
size_t spm_text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out);
/* Append s with U+2581 for each space, and one more at the beginning if front is not 0. */
void spm_escape(struct buf *b, const char *s, size_t n, int front);
/* Append s, normalised as the file says: characters mapped, white space collapsed, spaces escaped.
 * INFER_EUNSUP: a rule of more than SPM_MAPPED bytes matches, or the text grows too much.
 * INFER_ENOMEM */
int spm_normal(const struct infer_tokenizer *t, struct buf *b, const char *s, size_t n, int front,
               infer_error *err);
#endif
