/* text/normal.h - Unicode normalisation, UAX 15, with the results of the library `tokenizers`: its
 * tables are those of Unicode 9, so newer characters are unchanged. */
#ifndef TEXT_NORMAL_H
#define TEXT_NORMAL_H
#include "base/buf.h"
#include "text/unicode.h"

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* A primary composite and its parts. */
struct unicode_pair {
	uint32_t first, second, to;
};
extern const uint32_t unicode_compat_n, unicode_pair_n, unicode_younger_n, unicode_compat_pool[];
extern const struct unicode_nfd unicode_compat_tab[];
extern const struct unicode_pair unicode_pair_tab[];
extern const struct unicode_ccc unicode_younger_tab[];

/* Append s[0 .. n) in a normal form.  Bytes that are not valid UTF-8 are unchanged.  Memory
 * failure: b->bad.  O(n + sum of k^2 over runs of k marks), k <= 64. */
void unicode_normal(struct buf *b, const char *s, size_t n, enum unicode_form form);
#endif
