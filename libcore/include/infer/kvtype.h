/* infer/kvtype.h - the types that a KV cache can have.   floor: type */
#ifndef INFER_KVTYPE_H
#define INFER_KVTYPE_H
#include <infer/type.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* (type without INFER_, name), the default first.  Three macro arguments, so that a caller can
 * expand the rows to a sentence. */
/* clang-format off */
#define INFER_KV_TYPES(FIRST, NEXT, LAST) \
	FIRST(F16, "f16") NEXT(F32, "f32") NEXT(Q8_0, "q8_0") LAST(Q4_0, "q4_0")
/* clang-format on */

struct infer_kv_type {
	int type;         /* enum infer_type */
	const char *name; /* in options and records */
};
/* Return type i; NULL at the end of the list.  Static.  Any thread. */
const struct infer_kv_type *infer_kv_type(int i);
/* Return the name of an enum infer_type; "?" if it is not a cache type.  Static.  Any thread. */
const char *infer_kv_name(int type);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
