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

/* A borrowed string: not NUL-terminated, not necessarily UTF-8. */
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

/* Return key i in file order, or the entry of a key; NULL if there is none. */
const struct infer_meta *infer_file_meta_at(const infer_file *f, uint64_t i);
const struct infer_meta *infer_file_meta(const infer_file *f, const char *key); /* NULL: absent */

/* Read the value of a key.  INFER_EFORMAT: it has another type or does not fit; names the key.  If
 * the key is absent, *v is unchanged and the result is INFER_OK; *found (may be NULL) is 1 if it is
 * present, else 0.
 * u64: any integer >= 0 */
int infer_meta_u64(const infer_file *f, const char *key, uint64_t *v, int *found, infer_error *err);
/* f64: F32, F64 or an integer */
int infer_meta_f64(const infer_file *f, const char *key, double *v, int *found, infer_error *err);
int infer_meta_bool(const infer_file *f, const char *key, int *v, int *found, infer_error *err);
int infer_meta_str(const infer_file *f, const char *key, struct infer_str *v, int *found,
                   infer_error *err);
/* Read element i of an array (of a scalar: i = 0), by the same rules; bools of an array are the
 * integers 0 and 1.  INFER_EFORMAT: also if there is no element i. */
int infer_meta_elem_i64(const infer_file *f, const struct infer_meta *m, uint64_t i, int64_t *v,
                        infer_error *err);
int infer_meta_elem_f64(const infer_file *f, const struct infer_meta *m, uint64_t i, double *v,
                        infer_error *err);
/* Read elements [from, from + n) of an array of numbers, or a scalar, in host byte order.  *at:
 * borrowed from the file if they are stored as `type`, else `room`, with the converted elements.
 * type: of *at and of the n elements of room: INFER_META_U8 ... F32, BOOL, U64, I64, F64.
 * INFER_EFORMAT: strings, elements past the last, or a value that does not fit the type. */
int infer_meta_array(const infer_file *f, const struct infer_meta *m, int type, uint64_t from,
                     size_t n, void *room, const void **at, infer_error *err);
/* Return the bytes of an array of U8 or I8, borrowed; *n: length.  INFER_EFORMAT: another type. */
int infer_meta_bytes(const infer_file *f, const struct infer_meta *m, const unsigned char **at,
                     size_t *n, infer_error *err);
/* Read string i of an array, or the string of a scalar, at bounded cost.  INFER_EFORMAT: no such
 * string. */
int infer_meta_str_at(const infer_file *f, const struct infer_meta *m, uint64_t i,
                      struct infer_str *v, infer_error *err);
/* Iterate over the strings of an array, which is faster: *cursor is 0 at first and advances with
 * each call.
 * INFER_EINVAL: no more strings, or not an array of strings. */
int infer_meta_next_str(const struct infer_meta *m, size_t *cursor, struct infer_str *v);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
