/* infer/meta.h - metadata of model files: keys with typed values.   floor: file
 *
 * Keys, strings and arrays are borrowed from the file.  Any thread. */
#ifndef INFER_META_H
#define INFER_META_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_file infer_file;

/* GGUF value type ids */
enum infer_meta_type {
	INFER_META_U8,
	INFER_META_I8,
	INFER_META_U16,
	INFER_META_I16,
	INFER_META_U32,
	INFER_META_I32,
	INFER_META_F32,
	INFER_META_BOOL,
	INFER_META_STR,
	INFER_META_ARR,
	INFER_META_U64,
	INFER_META_I64,
	INFER_META_F64
};

/* not NUL-terminated, not necessarily UTF-8 */
struct infer_str {
	const char *at;
	size_t len;
};

struct infer_meta {
	struct infer_str key;
	int type;       /* enum infer_meta_type */
	int elem_type;  /* of an array; else = type */
	uint64_t count; /* of an array; else 1 */
};

/* NULL past the end */
const struct infer_meta *infer_file_meta_at(const infer_file *f, uint64_t i);
const struct infer_meta *infer_file_meta(const infer_file *f, const char *key); /* NULL: absent */

/* Read a metadata value.  INFER_EFORMAT: the value has another type or does not fit (err names the
 * key).  If the key is absent, *v is not changed and the result is INFER_OK; *found (may be NULL)
 * tells the difference. */
/* any integer >= 0 */
int infer_meta_u64(const infer_file *f, const char *key, uint64_t *v, int *found, infer_error *err);
/* F32, F64 or an integer */
int infer_meta_f64(const infer_file *f, const char *key, double *v, int *found, infer_error *err);
int infer_meta_bool(const infer_file *f, const char *key, int *v, int *found, infer_error *err);
int infer_meta_str(const infer_file *f, const char *key, struct infer_str *v, int *found,
                   infer_error *err);
/* Read element i of an array (or i = 0 of a scalar), by the same rules; the bools of an array count
 * as the integers 0 and 1. */
int infer_meta_elem_i64(const infer_file *f, const struct infer_meta *m, uint64_t i, int64_t *v,
                        infer_error *err);
int infer_meta_elem_f64(const infer_file *f, const struct infer_meta *m, uint64_t i, double *v,
                        infer_error *err);
/* Elements [from, from + n) of an array of numbers, or the value of a scalar, in host order:
 * borrowed from the file if they are stored that way, otherwise converted into room.
 * type  the type of *at and of the n elements of room: INFER_META_U8 ... F32, BOOL, U64, I64, F64
 * INFER_EFORMAT  strings, elements beyond the last, or a value that does not fit the type */
int infer_meta_array(const infer_file *f, const struct infer_meta *m, int type, uint64_t from,
                     size_t n, void *room, const void **at, infer_error *err);
/* The bytes of an array of U8 or I8, borrowed; *n: their number. */
int infer_meta_bytes(const infer_file *f, const struct infer_meta *m, const unsigned char **at,
                     size_t *n, infer_error *err);
/* String i of an array, or the string of a scalar, at bounded cost. */
int infer_meta_str_at(const infer_file *f, const struct infer_meta *m, uint64_t i,
                      struct infer_str *v, infer_error *err);
/* Iterate over the strings, which is faster: *cursor is 0 at first and is advanced by each call.
 * INFER_EINVAL: past the last, or not strings. */
int infer_meta_next_str(const struct infer_meta *m, size_t *cursor, struct infer_str *v);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
