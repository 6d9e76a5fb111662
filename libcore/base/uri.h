/* base/uri.h - resolve URI references.  Immutable. */
#ifndef BASE_URI_H
#define BASE_URI_H
#include <stddef.h>

enum {
	URI_EXTRA = 16
}; /* a resolved URI has at most so many bytes more than base and reference together */

/* Resolve ref[0 .. n) against base[0 .. base_n) (RFC 3986, 5.2), and drop the fragment.  Writes the
 * result to `to`, not NUL-terminated; returns its length.  to and path (scratch) have base_n + n +
 * URI_EXTRA bytes. */
size_t uri_resolve(char *to, char *path, const char *base, size_t base_n, const char *ref,
                   size_t n);
#endif
