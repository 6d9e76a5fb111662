/* base/jread.h - reading untrusted JSON into an arena: strict RFC 8259, one pass, no recursion.
 * Confined. */
#ifndef BASE_JREAD_H
#define BASE_JREAD_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/json.h"

/* maximum nesting of arrays and objects */
enum { JREAD_DEPTH = 1000 };

/* Read one JSON value, surrounded only by white space.  Refused: text that is not UTF-8, nesting
 * deeper than JREAD_DEPTH, duplicate keys in an object, lone surrogates, numbers too large for a
 * double (1e999), and texts of 4 GiB or more.  Integers of more than 64 bits become the nearest
 * double.  A string without escapes is borrowed from text, which must live as long as the value.
 * *out: in arena a; NULL on failure.  what: name of the text, for messages: "what: line 3, column
 * 7: ..."
 * INFER_EFORMAT: with line and column (bytes, from 1).
 * INFER_ENOMEM: out of memory.
 * Time O(bytes); a grows by at most 64 bytes for each 2 bytes of text. */
int jread(const struct json **out, struct arena *a, const char *text, size_t bytes,
          const char *what, infer_error *err);
/* Like jread, but a number too large for a double becomes the largest one: for text that is
 * forwarded as it is written. */
int jread_huge(const struct json **out, struct arena *a, const char *text, size_t bytes,
               const char *what, infer_error *err);

/* Read the JSON number at the start of s[0 .. n) into *v; JSON_NULL: it is too large for a double.
 * Returns its length in bytes; 0: there is no number.  Independent of the locale. */
size_t jread_num(struct json *v, const char *s, size_t n);

/* Read a member of an object.  If it is absent or null, *v is unchanged.  INFER_EFORMAT, naming the
 * key: another type, or a value out of range. */
int jread_i64(const struct json *o, const char *key, int64_t *v, int64_t lo, int64_t hi,
              const char *what, infer_error *err);
int jread_f64(const struct json *o, const char *key, double *v, double lo, double hi,
              const char *what, infer_error *err);
/* *v is borrowed from o and not NUL-terminated */
int jread_str(const struct json *o, const char *key, const char **v, size_t *len, const char *what,
              infer_error *err);
#endif
