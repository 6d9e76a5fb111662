/* base/uri.h - resolve URI references.  Immutable. */
#ifndef BASE_URI_H
#define BASE_URI_H
#include <stddef.h>

enum {
	URI_EXTRA = 16
}; /* bytes that a resolved URI may be longer than base and reference together */

/* Resolve ref[0 .. n) against base[0 .. base_n), without its fragment (RFC 3986, 5.2). Writes to
 * `to`, not NUL-terminated; returns the length. to, path  [base_n + n + URI_EXTRA], path is
 * scratch */
size_t uri_resolve(char *to, char *path, const char *base, size_t base_n, const char *ref,
                   size_t n);
#endif
