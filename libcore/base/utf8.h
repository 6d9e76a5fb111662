/* base/utf8.h - UTF-8 as defined by Unicode 15, table 3-7: shortest form, no surrogates, up to
 * U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stddef.h>
#include <stdint.h>

/* Decode one code point of s[0 .. n), n > 0.  Returns its length 1 ... 4, or 0 if s does not begin
 * with a complete valid sequence (then *cp is U+FFFD). */
int utf8_get(const char *s, size_t n, uint32_t *cp);
/* Encode cp.  Returns the length; 0 for a surrogate or a value above U+10FFFF. */
int utf8_put(char out[4], uint32_t cp);
/* Return the number of bytes before the first invalid one; n if all are valid. */
size_t utf8_check(const char *s, size_t n);
/* Return the number of bytes at the end of s that begin an incomplete sequence: 0 ... 3. */
size_t utf8_tail(const char *s, size_t n);
/* Return the length of the maximal ill-formed subpart at s (which one U+FFFD replaces), 1 ... 3; s
 * must not begin with a valid sequence. */
size_t utf8_bad(const char *s, size_t n);
#endif
