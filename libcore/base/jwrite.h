/* base/jwrite.h - write JSON into a buf, in the order of the calls; failure is sticky (to->bad).
 * Confined.  In strings that are not UTF-8, each ill-formed part becomes U+FFFD. */
#ifndef BASE_JWRITE_H
#define BASE_JWRITE_H
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/json.h"

/* One bit per nesting level <= 63.  comma: a comma is needed next; array: the level is an array. */
struct jwrite {
	struct buf *to;
	uint64_t comma, array;
	int depth;
};

void jw_init(struct jwrite *w, struct buf *to);
/* key: NULL inside arrays and at the top level, and only there */
void jw_object(struct jwrite *w, const char *key);
void jw_array(struct jwrite *w, const char *key);
void jw_end(struct jwrite *w); /* close the innermost object or array */
void jw_str(struct jwrite *w, const char *key, const char *s); /* s NULL: null */
void jw_strn(struct jwrite *w, const char *key, const char *s, size_t n);
void jw_base64(struct jwrite *w, const char *key, const void *bytes, size_t n);
void jw_int(struct jwrite *w, const char *key, int64_t v);
void jw_uint(struct jwrite *w, const char *key, uint64_t v);
void jw_num(struct jwrite *w, const char *key, double v); /* %.9g; infinity, NaN: null */
void jw_bool(struct jwrite *w, const char *key, int v);
void jw_null(struct jwrite *w, const char *key);
/* Write n bytes of JSON text unchanged. */
void jw_raw(struct jwrite *w, const char *key, const char *json, size_t n);
/* Write v with all its children.  Doubles are read back exactly.  No recursion. */
void jw_value(struct jwrite *w, const char *key, const struct json *v);
void jw_line(struct jwrite *w); /* a newline after a complete value */
#endif
