/* base/jwrite.h - writing JSON into a buf, in the order of the calls; failure is sticky.  Confined.
 * Strings that are not UTF-8 are written with U+FFFD for each ill-formed part. */
#ifndef BASE_JWRITE_H
#define BASE_JWRITE_H
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/json.h"

/* a bit per level; depth <= 63 */
struct jwrite {
	struct buf *to;
	uint64_t comma, array;
	int depth;
};

void jw_init(struct jwrite *w, struct buf *to);
/* key is NULL inside arrays and at the top level, and only there */
void jw_object(struct jwrite *w, const char *key);
void jw_array(struct jwrite *w, const char *key);
void jw_end(struct jwrite *w); /* of the innermost object or array */
void jw_str(struct jwrite *w, const char *key, const char *s); /* s NULL: null */
void jw_strn(struct jwrite *w, const char *key, const char *s, size_t n);
void jw_base64(struct jwrite *w, const char *key, const void *bytes, size_t n);
void jw_int(struct jwrite *w, const char *key, int64_t v);
void jw_uint(struct jwrite *w, const char *key, uint64_t v);
void jw_num(struct jwrite *w, const char *key, double v); /* %.9g; not finite: null */
void jw_bool(struct jwrite *w, const char *key, int v);
void jw_null(struct jwrite *w, const char *key);
/* json is already JSON text */
void jw_raw(struct jwrite *w, const char *key, const char *json, size_t n);
/* the whole value; doubles are written so that they are read back exactly; no recursion */
void jw_value(struct jwrite *w, const char *key, const struct json *v);
void jw_line(struct jwrite *w); /* a newline after a complete value */
#endif
