/* base/utf8.h - UTF-8 as Unicode 15 table 3-7 has it: shortest form, no surrogates, up to
 * U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stddef.h>
#include <stdint.h>

/* Decode one code point of s[0 .. n), n > 0.  Returns its length 1 ... 4, or 0 where s does not
 * begin with a whole valid sequence (then *cp is U+FFFD). */
int utf8_get(const char *s, size_t n, uint32_t *cp);
int utf8_put(char out[4], uint32_t cp); /* length, 0 for a surrogate or a value past U+10FFFF */
/* bytes before the first that is not valid: n when all is well */
size_t utf8_check(const char *s, size_t n);
/* Bytes at the end of s that begin a sequence which more bytes could complete: 0 ... 3. */
size_t utf8_tail(const char *s, size_t n);
/* Length of the maximal ill-formed subpart at s (what one U+FFFD stands for), 1 ... 3; s does not
 * begin with a valid sequence. */
size_t utf8_bad(const char *s, size_t n);
#endif
