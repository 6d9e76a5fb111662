/* infer-inspect/meta.c - a value of the metadata, as text and in records. */
#include "inspect.h"
#include "base/err.h"

#include <string.h>

static const char *const type_names[] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
	                                  "bool", "string", "array", "u64", "i64", "f64" };

static const char *type_name(int type)
{
	return type >= 0 && type < (int)(sizeof type_names / sizeof *type_names) ? type_names[type]
	                                                                         : "?";
}

void put_meta_type(struct buf *out, const struct infer_meta *m)
{
	buf_puts(out, type_name(m->elem_type));
	if (m->type == INFER_META_ARR)
		buf_printf(out, "[%llu]", (unsigned long long)m->count);
}

int put_meta_element(struct buf *out, struct jwrite *w, const infer_file *f,
                     const struct infer_meta *m, uint64_t i, size_t *cursor, size_t max,
                     infer_error *err)
{
	struct infer_str s;
	const void *at;
	uint64_t u;
	int64_t n;
	double x;

	switch (m->elem_type) {
	case INFER_META_STR:
		TRY(infer_meta_next_str(m, cursor, &s));
		if (w)
			jw_strn(w, NULL, s.at, s.len);
		else
			put_plain(out, s, max);
		return INFER_OK;
	case INFER_META_F32:
	case INFER_META_F64:
		TRY(infer_meta_elem_f64(f, m, i, &x, err));
		if (w)
			jw_num(w, NULL, x);
		else
			buf_printf(out, "%.9g", x);
		return INFER_OK;
	case INFER_META_U64:
	case INFER_META_BOOL:
		TRY(infer_meta_array(f, m, INFER_META_U64, i, 1, &u, &at, err));
		memcpy(&u, at, sizeof u);
		if (w && m->elem_type == INFER_META_BOOL)
			jw_bool(w, NULL, u != 0);
		else if (w)
			jw_uint(w, NULL, u);
		else if (m->elem_type == INFER_META_BOOL)
			buf_puts(out, u ? "true" : "false");
		else
			buf_printf(out, "%llu", (unsigned long long)u);
		return INFER_OK;
	default:
		TRY(infer_meta_elem_i64(f, m, i, &n, err));
		if (w)
			jw_int(w, NULL, n);
		else
			buf_printf(out, "%lld", (long long)n);
		return INFER_OK;
	}
}

int put_meta_fields(struct jwrite *w, const infer_file *f, const struct infer_meta *m,
                    infer_error *err)
{
	size_t cursor = 0, bare = m->type != INFER_META_ARR; /* a scalar has no brackets */
	struct jwrite in;
	struct buf value;
	int rc = INFER_OK;

	buf_init(&value, MEM_BASE);
	jw_init(&in, &value);
	jw_array(&in, NULL);
	for (uint64_t i = 0; !rc && i < m->count; i++)
		rc = put_meta_element(&value, &in, f, m, i, &cursor, SIZE_MAX, err);
	jw_end(&in);
	if (!rc && value.bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for a value");
	jw_str(w, "type", type_name(m->type));
	if (m->type == INFER_META_ARR)
		jw_str(w, "elem_type", type_name(m->elem_type));
	if (!rc)
		jw_raw(w, "value", value.at + bare, value.len - 2 * bare);
	buf_fini(&value);
	return rc;
}
