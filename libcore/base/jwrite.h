/* base/jwrite.h - writing JSON, one line a value, in the order of the calls.  Into a buf, so
 * failing is sticky.  Confined.
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
/* key NULL inside arrays and at the top, and only there */
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
/* text that is JSON already */
void jw_raw(struct jwrite *w, const char *key, const char *json, size_t n);
/* v whole, doubles so that they read back the same; no recursion */
void jw_value(struct jwrite *w, const char *key, const struct json *v);
void jw_line(struct jwrite *w); /* a newline after a whole value */
#endif
