/* file/meta.c - typed access to metadata: integers of any width, if the value fits. */
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"

#include <string.h>

/* true if memory has the byte order of files */
enum { LITTLE = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };
static const char *const names[] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
	                             "bool", "string", "array", "u64", "i64", "f64" };
const uint8_t file_meta_size[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static int wrong_type(const infer_file *f, const struct infer_meta *m, const char *want,
                      infer_error *err)
{
	char key[FILE_QUOTE];

	return err_set(err, INFER_EFORMAT, "%s: key %s: is %s%s, must be %s", file_label(f->path),
	               file_quote(key, m->key.at, m->key.len),
	               m->type == INFER_META_ARR ? "an array of " : "", names[m->elem_type], want);
}

/* Read an integer of elem_type at p as sign and magnitude; 0 if the type is not an integer type. */
static int decode_integer(int elem_type, const unsigned char *p, uint64_t *v, int *negative)
{
	int64_t i;

	*negative = 0;
	switch (elem_type) {
	case INFER_META_U8:
		*v = *p;
		return 1;
	case INFER_META_U16:
		*v = num_u16(p);
		return 1;
	case INFER_META_U32:
		*v = num_u32(p);
		return 1;
	case INFER_META_U64:
		*v = num_u64(p);
		return 1;
	case INFER_META_I8:
		i = (int8_t)*p;
		break;
	case INFER_META_I16:
		i = (int16_t)num_u16(p);
		break;
	case INFER_META_I32:
		i = (int32_t)num_u32(p);
		break;
	case INFER_META_I64:
		i = (int64_t)num_u64(p);
		break;
	default:
		return 0;
	}
	*negative = i < 0;
	*v = (uint64_t)i;
	return 1;
}

static int no_such_elem(const infer_file *f, const struct infer_meta *m, uint64_t i,
                        infer_error *err)
{
	char key[FILE_QUOTE];

	return err_set(err, INFER_EFORMAT,
	               "%s: key %s: has %llu elements, so there is no element %llu",
	               file_label(f->path), file_quote(key, m->key.at, m->key.len),
	               (unsigned long long)m->count, (unsigned long long)i);
}

/* Return the address of element i, or NULL after setting INFER_EFORMAT. */
static const unsigned char *elem_at(const infer_file *f, const struct infer_meta *m, uint64_t i,
                                    infer_error *err)
{
	if (m->elem_type == INFER_META_STR)
		wrong_type(f, m, "a number", err);
	else if (i >= m->count)
		no_such_elem(f, m, i, err);
	else
		return file_value(m)->at + i * file_meta_size[m->elem_type];
	return NULL;
}

int infer_meta_elem_i64(const infer_file *f, const struct infer_meta *m, uint64_t i, int64_t *v,
                        infer_error *err)
{
	const unsigned char *p = elem_at(f, m, i, err);
	uint64_t u;
	int negative;

	if (!p)
		return INFER_EFORMAT;
	if (m->type == INFER_META_ARR && m->elem_type == INFER_META_BOOL) {
		*v = *p;
		return INFER_OK;
	}
	if (!decode_integer(m->elem_type, p, &u, &negative))
		return wrong_type(f, m, "an integer", err);
	if (!negative && u > INT64_MAX)
		return wrong_type(f, m, "an integer below 2^63", err);
	*v = (int64_t)u;
	return INFER_OK;
}

int infer_meta_elem_f64(const infer_file *f, const struct infer_meta *m, uint64_t i, double *v,
                        infer_error *err)
{
	const unsigned char *p = elem_at(f, m, i, err);
	uint64_t u;
	int negative;

	if (!p)
		return INFER_EFORMAT;
	if (m->elem_type == INFER_META_F32)
		*v = num_float(num_u32(p));
	else if (m->elem_type == INFER_META_F64)
		memcpy(v, p, 8);
	else if (decode_integer(m->elem_type, p, &u, &negative))
		*v = negative ? (double)(int64_t)u : (double)u;
	else
		return wrong_type(f, m, "a number", err);
	return INFER_OK;
}

/* Get the scalar with this key; *m NULL if it is absent. */
static int get_scalar(const infer_file *f, const char *key, const struct infer_meta **m, int *found,
                      const char *want, infer_error *err)
{
	*m = infer_file_meta(f, key);
	if (found)
		*found = *m != NULL;
	if (*m && (*m)->type == INFER_META_ARR)
		return wrong_type(f, *m, want, err);
	return INFER_OK;
}

int infer_meta_u64(const infer_file *f, const char *key, uint64_t *v, int *found, infer_error *err)
{
	const struct infer_meta *m;
	uint64_t u;
	int negative;

	TRY(get_scalar(f, key, &m, found, "an integer", err));
	if (!m)
		return INFER_OK;
	if (!decode_integer(m->type, file_value(m)->at, &u, &negative))
		return wrong_type(f, m, "an integer", err);
	if (negative)
		return wrong_type(f, m, "an integer of at least 0", err);
	*v = u;
	return INFER_OK;
}

int infer_meta_f64(const infer_file *f, const char *key, double *v, int *found, infer_error *err)
{
	const struct infer_meta *m;

	TRY(get_scalar(f, key, &m, found, "a number", err));
	return m ? infer_meta_elem_f64(f, m, 0, v, err) : INFER_OK;
}

int infer_meta_bool(const infer_file *f, const char *key, int *v, int *found, infer_error *err)
{
	const struct infer_meta *m;

	TRY(get_scalar(f, key, &m, found, "a bool", err));
	if (m && m->type != INFER_META_BOOL)
		return wrong_type(f, m, "a bool", err);
	if (m)
		*v = *file_value(m)->at;
	return INFER_OK;
}

int infer_meta_str(const infer_file *f, const char *key, struct infer_str *v, int *found,
                   infer_error *err)
{
	const struct infer_meta *m;

	TRY(get_scalar(f, key, &m, found, "a string", err));
	if (m && m->type != INFER_META_STR)
		return wrong_type(f, m, "a string", err);
	if (m)
		*v = (struct infer_str){ (const char *)file_value(m)->at + 8,
			                 file_value(m)->bytes - 8 };
	return INFER_OK;
}

int infer_meta_next_str(const struct infer_meta *m, size_t *cursor, struct infer_str *v)
{
	const unsigned char *at = file_value(m)->at;

	if (m->elem_type != INFER_META_STR || *cursor >= file_value(m)->bytes) {
		*v = (struct infer_str){ 0 };
		return INFER_EINVAL;
	}
	/* the lengths were checked when the file was opened */
	*v = (struct infer_str){ (const char *)at + *cursor + 8, num_u64(at + *cursor) };
	*cursor += 8 + v->len;
	return INFER_OK;
}

int infer_meta_str_at(const infer_file *f, const struct infer_meta *m, uint64_t i,
                      struct infer_str *v, infer_error *err)
{
	size_t cursor;

	*v = (struct infer_str){ 0 };
	if (m->elem_type != INFER_META_STR)
		return wrong_type(f, m, "a string", err);
	if (i >= m->count)
		return no_such_elem(f, m, i, err);
	const size_t *mark = file_value(m)->mark;
	cursor = i < FILE_MARK || !mark ? 0 : mark[i / FILE_MARK - 1];
	for (uint64_t k = (mark ? i % FILE_MARK : i) + 1; k; k--)
		infer_meta_next_str(m, &cursor, v);
	return INFER_OK;
}

int infer_meta_bytes(const infer_file *f, const struct infer_meta *m, const unsigned char **at,
                     size_t *n, infer_error *err)
{
	*at = NULL;
	*n = 0;
	if (m->elem_type != INFER_META_U8 && m->elem_type != INFER_META_I8)
		return wrong_type(f, m, "an array of bytes", err);
	*at = file_value(m)->at;
	*n = file_value(m)->bytes;
	return INFER_OK;
}

/* Store u, or -u if negative.  Returns 0 if the type cannot represent it. */
static int put_whole(int type, uint64_t u, int negative, void *to)
{
	static const struct {
		int64_t lo;
		uint64_t hi;
	} range[] = {
		[INFER_META_U8] = { 0, UINT8_MAX },
		[INFER_META_I8] = { INT8_MIN, INT8_MAX },
		[INFER_META_U16] = { 0, UINT16_MAX },
		[INFER_META_I16] = { INT16_MIN, INT16_MAX },
		[INFER_META_U32] = { 0, UINT32_MAX },
		[INFER_META_I32] = { INT32_MIN, INT32_MAX },
		[INFER_META_BOOL] = { 0, 1 },
		[INFER_META_U64] = { 0, UINT64_MAX },
		[INFER_META_I64] = { INT64_MIN, INT64_MAX },
	};

	if (negative ? (int64_t)u < range[type].lo : u > range[type].hi)
		return 0;
	switch (file_meta_size[type]) { /* two's complement: the low bytes are the value */
	case 1:
		*(uint8_t *)to = (uint8_t)u;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)u;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)u;
		break;
	default:
		*(uint64_t *)to = u;
	}
	return 1;
}

/* Convert the element at p to `type`. */
static int convert_elem(const infer_file *f, const struct infer_meta *m, const unsigned char *p,
                        int type, void *to, infer_error *err)
{
	int negative = 0, from = m->elem_type;
	uint64_t u = 0;
	double d = 0;

	if (from == INFER_META_BOOL)
		u = *p;
	else if (from == INFER_META_F32)
		d = (double)num_float(num_u32(p));
	else if (from == INFER_META_F64)
		memcpy(&d, p, 8);
	else
		decode_integer(from, p, &u, &negative);
	if (type != INFER_META_F32 && type != INFER_META_F64) {
		if (from == INFER_META_F32 || from == INFER_META_F64)
			return wrong_type(f, m, "an integer", err);
		return put_whole(type, u, negative, to) ? INFER_OK
		                                        : wrong_type(f, m, names[type], err);
	}
	if (from != INFER_META_F32 && from != INFER_META_F64)
		d = negative ? (double)(int64_t)u : (double)u;
	if (type == INFER_META_F32)
		*(float *)to = (float)d;
	else
		*(double *)to = d;
	return INFER_OK;
}

int infer_meta_array(const infer_file *f, const struct infer_meta *m, int type, uint64_t from,
                     size_t n, void *room, const void **at, infer_error *err)
{
	size_t size = type < 0 || type > INFER_META_F64 ? 0 : file_meta_size[type];
	const unsigned char *p;

	*at = NULL;
	if (!size)
		return err_set(err, INFER_EINVAL, "type %d is none of numbers", type);
	if (m->elem_type == INFER_META_STR)
		return wrong_type(f, m, "a number", err);
	if (from > m->count || n > m->count - from)
		return no_such_elem(f, m, from + n - 1, err);
	p = file_value(m)->at + from * file_meta_size[m->elem_type];
	if (type == m->elem_type && !((uintptr_t)p % size) && LITTLE) {
		*at = p;
		return INFER_OK;
	}
	if (type == m->elem_type && LITTLE)
		memcpy(room, p, n * size);
	for (size_t i = 0; i < n && (type != m->elem_type || !LITTLE); i++)
		TRY(convert_elem(f, m, p + i * file_meta_size[m->elem_type], type,
		                 (unsigned char *)room + i * size, err));
	*at = room;
	return INFER_OK;
}
