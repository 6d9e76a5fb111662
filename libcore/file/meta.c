/* Typed access to metadata: integers of any width and sign, as long as the value fits. */
#include <string.h>
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"

static const char *const names[] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
	                             "bool", "string", "array", "u64", "i64", "f64" };
static const uint8_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static int wrong(const infer_file *f, const struct infer_meta *m, const char *want,
                 infer_error *err)
{
	char key[FILE_QUOTE];

	return err_set(err, INFER_EFORMAT, "%s: key %s: %s%s where %s is wanted",
	               file_label(f->path), file_quote(key, m->key.at, m->key.len),
	               m->type == INFER_META_ARR ? "array of " : "", names[m->elem_type], want);
}

/* An integer of elem_type at p as sign and magnitude; 0 where the type is no integer. */
static int integer(int elem_type, const unsigned char *p, uint64_t *v, int *negative)
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

/* Where element i lies, or NULL: INFER_EFORMAT, said. */
static const unsigned char *elem_at(const infer_file *f, const struct infer_meta *m, uint64_t i,
                                    infer_error *err)
{
	char key[FILE_QUOTE];

	if (m->elem_type == INFER_META_STR)
		wrong(f, m, "a number", err);
	else if (i >= m->count)
		err_set(err, INFER_EFORMAT, "%s: key %s: %llu elements, number %llu is wanted",
		        file_label(f->path), file_quote(key, m->key.at, m->key.len),
		        (unsigned long long)m->count, (unsigned long long)i);
	else
		return m->at + i * sizes[m->elem_type];
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
	if (!integer(m->elem_type, p, &u, &negative))
		return wrong(f, m, "an integer", err);
	if (!negative && u > INT64_MAX)
		return wrong(f, m, "an integer below 2^63", err);
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
	else if (integer(m->elem_type, p, &u, &negative))
		*v = negative ? (double)(int64_t)u : (double)u;
	else
		return wrong(f, m, "a number", err);
	return INFER_OK;
}

/* The scalar under key, or NULL in *m where it is absent. */
static int scalar(const infer_file *f, const char *key, const struct infer_meta **m, int *found,
                  const char *want, infer_error *err)
{
	*m = infer_file_meta(f, key);
	if (found)
		*found = *m != NULL;
	if (*m && (*m)->type == INFER_META_ARR)
		return wrong(f, *m, want, err);
	return INFER_OK;
}

int infer_meta_u64(const infer_file *f, const char *key, uint64_t *v, int *found, infer_error *err)
{
	const struct infer_meta *m;
	uint64_t u;
	int negative;

	TRY(scalar(f, key, &m, found, "an integer", err));
	if (!m)
		return INFER_OK;
	if (!integer(m->type, m->at, &u, &negative))
		return wrong(f, m, "an integer", err);
	if (negative)
		return wrong(f, m, "an integer of at least 0", err);
	*v = u;
	return INFER_OK;
}

int infer_meta_i64(const infer_file *f, const char *key, int64_t *v, int *found, infer_error *err)
{
	const struct infer_meta *m;

	TRY(scalar(f, key, &m, found, "an integer", err));
	return m ? infer_meta_elem_i64(f, m, 0, v, err) : INFER_OK;
}

int infer_meta_f64(const infer_file *f, const char *key, double *v, int *found, infer_error *err)
{
	const struct infer_meta *m;

	TRY(scalar(f, key, &m, found, "a number", err));
	return m ? infer_meta_elem_f64(f, m, 0, v, err) : INFER_OK;
}

int infer_meta_bool(const infer_file *f, const char *key, int *v, int *found, infer_error *err)
{
	const struct infer_meta *m;

	TRY(scalar(f, key, &m, found, "a bool", err));
	if (m && m->type != INFER_META_BOOL)
		return wrong(f, m, "a bool", err);
	if (m)
		*v = *m->at;
	return INFER_OK;
}

int infer_meta_str(const infer_file *f, const char *key, struct infer_str *v, int *found,
                   infer_error *err)
{
	const struct infer_meta *m;

	TRY(scalar(f, key, &m, found, "a string", err));
	if (m && m->type != INFER_META_STR)
		return wrong(f, m, "a string", err);
	if (m)
		*v = (struct infer_str){ (const char *)m->at + 8, m->bytes - 8 };
	return INFER_OK;
}

int infer_meta_next_str(const struct infer_meta *m, size_t *cursor, struct infer_str *v)
{
	if (m->elem_type != INFER_META_STR || *cursor >= m->bytes) {
		*v = (struct infer_str){ 0 };
		return INFER_EINVAL;
	}
	/* the lengths were checked when the file was opened */
	*v = (struct infer_str){ (const char *)m->at + *cursor + 8, num_u64(m->at + *cursor) };
	*cursor += 8 + v->len;
	return INFER_OK;
}
