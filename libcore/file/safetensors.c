/* file/safetensors.c - read the header of a safetensors file, one tensor at a time:
 *
 *   u64 n, n bytes of JSON, data; data_offsets are relative to the start of data
 *   { "name": { "dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24] }, ... }
 *
 * The header is not parsed into one tree, so memory is proportional to the number of tensors. */
#include "file/safetensors.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/num.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADER_MAX = 100000000,
	TENSORS_MAX = 200000,
	NAME_MAX_BYTES = 4096,
	/* limits of a value that is parsed at once: bytes, and values in it */
	VALUE_MAX_BYTES = 16 << 20,
	VALUE_MAX_COUNT = 100000,
};

static const struct {
	const char *name;
	unsigned bytes;
} dtypes[ST_DTYPES + 1] = {
	[ST_F64] = { "F64", 8 },
	[ST_F32] = { "F32", 4 },
	[ST_F16] = { "F16", 2 },
	[ST_BF16] = { "BF16", 2 },
	[ST_F8_E4M3] = { "F8_E4M3", 1 },
	[ST_F8_E5M2] = { "F8_E5M2", 1 },
	[ST_F8_E8M0] = { "F8_E8M0", 1 },
	[ST_I64] = { "I64", 8 },
	[ST_I32] = { "I32", 4 },
	[ST_I16] = { "I16", 2 },
	[ST_I8] = { "I8", 1 },
	[ST_U64] = { "U64", 8 },
	[ST_U32] = { "U32", 4 },
	[ST_U16] = { "U16", 2 },
	[ST_U8] = { "U8", 1 },
	[ST_BOOL] = { "BOOL", 1 },
	[ST_PACKED] = { "quantised", 0 },
};

const char *safetensors_dtype_name(int dtype) { return dtypes[dtype].name; }
unsigned safetensors_dtype_bytes(int dtype) { return dtypes[dtype].bytes; }

struct reader {
	const char *at; /* the JSON, n bytes */
	size_t n, pos;
	uint64_t data_bytes; /* bytes after the header */
	const char *path;
	struct infer_str what; /* name of the current tensor */
	struct arena brief;    /* values of one tensor */
	infer_error *err;
};

__attribute__((format(printf, 3, 4), cold)) static int fail(struct reader *r, int code,
                                                            const char *fmt, ...)
{
	char name[FILE_QUOTE], why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	if (!r->what.at)
		return err_set(r->err, code, "%s: %s", file_label(r->path), why);
	return err_set(r->err, code, "%s: tensor %s: %s", file_label(r->path),
	               file_quote(name, r->what.at, r->what.len), why);
}

static void skip_space(struct reader *r)
{
	while (r->pos < r->n && strchr(" \t\r\n", r->at[r->pos]) && r->at[r->pos])
		r->pos++;
}

/* Skip white space, and c if it is next.  Returns true if c was skipped. */
static int skip_char(struct reader *r, char c)
{
	skip_space(r);
	if (r->pos >= r->n || r->at[r->pos] != c)
		return 0;
	r->pos++;
	return 1;
}

/* Return the offset after the string that begins at pos; 0: it has no end. */
static size_t string_end(const struct reader *r, size_t pos)
{
	for (pos++; pos < r->n; pos++)
		if (r->at[pos] == '\\')
			pos++;
		else if (r->at[pos] == '"')
			return pos + 1;
	return 0;
}

/* Return the offset after the object that begins at pos; 0: it has no end. */
static size_t object_end(const struct reader *r, size_t pos)
{
	size_t depth = 0;

	while (pos < r->n) {
		char c = r->at[pos];
		if (c == '"') {
			pos = string_end(r, pos);
			if (!pos)
				return 0;
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		pos++;
		if (!depth)
			return pos;
	}
	return 0;
}

/* Parse the bytes from r->pos to `end`, at most `max`, as one JSON value in r->brief.  Sets r->pos
 * to `end`. */
static int read_value(struct reader *r, size_t end, size_t max, const struct json **v)
{
	infer_error why = { 0 };
	size_t commas = 0;
	int rc;

	if (!end)
		return fail(r, INFER_EFORMAT, "the header ends inside the value at byte %zu",
		            r->pos + 8);
	if (end - r->pos > max)
		return fail(r, INFER_EFORMAT, "the value at byte %zu has more than %zu bytes",
		            r->pos + 8, max);
	for (size_t i = r->pos; i < end; i++)
		commas += r->at[i] == ',' || r->at[i] == '[' || r->at[i] == '{';
	if (commas > VALUE_MAX_COUNT)
		return fail(r, INFER_EFORMAT, "the value at byte %zu has more than %d members",
		            r->pos + 8, VALUE_MAX_COUNT);
	rc = jread(v, &r->brief, r->at + r->pos, end - r->pos, "JSON", &why);
	if (rc)
		return fail(r, rc, "the value at byte %zu: %.100s", r->pos + 8, why.message);
	r->pos = end;
	return INFER_OK;
}

static int read_name(struct reader *r, struct safetensors *s)
{
	const struct json *v;

	r->what = (struct infer_str){ 0 };
	skip_space(r);
	if (r->pos >= r->n || r->at[r->pos] != '"')
		return fail(r, INFER_EFORMAT, "the name of a tensor must follow at byte %zu",
		            r->pos + 8);
	TRY(read_value(r, string_end(r, r->pos), 6 * NAME_MAX_BYTES + 2, &v));
	if (!v->n || v->n > NAME_MAX_BYTES || memchr(v->s, 0, v->n))
		return fail(r, INFER_EFORMAT,
		            "the name of a tensor must have 1 to %d bytes and no NUL, at byte %zu",
		            NAME_MAX_BYTES, r->pos + 8 - v->n);
	r->what = (struct infer_str){ v->s, v->n };
	if (v->s < r->at || v->s >= r->at + r->n) { /* the string had escapes */
		r->what.at = arena_strndup(&s->names, v->s, v->n);
		if (!r->what.at)
			return err_set(r->err, INFER_ENOMEM, "%s: no memory for names of tensors",
			               file_label(r->path));
	}
	if (!skip_char(r, ':'))
		return fail(r, INFER_EFORMAT, "\":\" must follow at byte %zu", r->pos + 8);
	skip_space(r);
	return INFER_OK;
}

/* Check "__metadata__", an object of strings, which is not used. */
static int check_metadata(struct reader *r, const struct json *o)
{
	char key[FILE_QUOTE];

	json_each(v, o)
		if (!json_is_string(v))
			return fail(r, INFER_EFORMAT, "\"%s\" must be a string",
			            file_quote(key, v->key, v->key_n));
	return INFER_OK;
}

static int read_dtype(struct reader *r, const struct json *v, struct safetensors_tensor *t)
{
	char name[FILE_QUOTE];

	if (!json_is_string(v))
		return fail(r, INFER_EFORMAT, "\"dtype\" must be a string");
	for (t->dtype = 0; t->dtype < ST_DTYPES; t->dtype++)
		if (json_equals(v, dtypes[t->dtype].name))
			return INFER_OK;
	return fail(r, INFER_EUNSUP, "dtype %.40s is not supported", file_quote(name, v->s, v->n));
}

static int read_shape(struct reader *r, const struct json *shape, struct safetensors_tensor *t)
{
	uint64_t bytes = dtypes[t->dtype].bytes;
	int empty = 0;

	if (!json_is_array(shape) || json_count(shape) > ST_MAX_DIMS)
		return fail(r, INFER_EFORMAT, "\"shape\" must be an array of at most %d integers",
		            ST_MAX_DIMS);
	json_each(v, shape) {
		if (v->kind != JSON_INT || v->i < 0)
			return fail(r, INFER_EFORMAT,
			            "\"shape\" must be an array of integers from 0 to 2^63 - 1");
		t->shape[t->n_dims++] = v->i;
		empty |= !v->i;
		if (v->i &&
		    (__builtin_mul_overflow(bytes, (uint64_t)v->i, &bytes) || bytes > INT64_MAX))
			return fail(r, INFER_EFORMAT, "\"shape\" needs 2^63 bytes or more");
	}
	t->bytes = empty ? 0 : bytes;
	return INFER_OK;
}

static int read_offsets(struct reader *r, const struct json *v, struct safetensors_tensor *t)
{
	const struct json *from = json_first(v), *to = from ? from->next : NULL;

	if (!json_is_array(v) || json_count(v) != 2 || from->kind != JSON_INT ||
	    to->kind != JSON_INT || from->i < 0 || to->i < from->i)
		return fail(r, INFER_EFORMAT,
		            "\"data_offsets\" must be two integers from 0 to 2^63 - 1, the "
		            "second not less than the first");
	if ((uint64_t)to->i > r->data_bytes)
		return fail(
			r, INFER_EFORMAT,
			"data_offsets [%lld, %lld]: the file ends before them, after %llu bytes "
			"of data",
			(long long)from->i, (long long)to->i, (unsigned long long)r->data_bytes);
	if ((uint64_t)(to->i - from->i) != t->bytes)
		return fail(r, INFER_EFORMAT,
		            "data_offsets [%lld, %lld] are %lld bytes, shape and dtype need %llu",
		            (long long)from->i, (long long)to->i, (long long)(to->i - from->i),
		            (unsigned long long)t->bytes);
	t->offset = (uint64_t)from->i;
	return INFER_OK;
}

static int read_tensor(struct reader *r, const struct json *o, struct safetensors_tensor *t)
{
	char key[FILE_QUOTE];

	if (!json_is_object(o))
		return fail(r, INFER_EFORMAT, "the value must be an object");
	json_each(v, o) {
		const struct infer_str k = { v->key, v->key_n };
		if (!(k.len == 5 && !memcmp(k.at, "dtype", 5)) &&
		    !(k.len == 5 && !memcmp(k.at, "shape", 5)) &&
		    !(k.len == 12 && !memcmp(k.at, "data_offsets", 12)))
			return fail(r, INFER_EUNSUP, "the member \"%.60s\" is not known",
			            file_quote(key, k.at, k.len));
	}
	TRY(read_dtype(r, json_get(o, "dtype"), t));
	TRY(read_shape(r, json_get(o, "shape"), t));
	return read_offsets(r, json_get(o, "data_offsets"), t);
}

static int add_tensor(struct safetensors *s, struct reader *r, const struct safetensors_tensor *t)
{
	if (s->n >= TENSORS_MAX)
		return fail(r, INFER_ENOMEM, "there are more than %d tensors", TENSORS_MAX);
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 64;
		void *p = mem_realloc(MEM_FILE, s->at, cap, sizeof *s->at);
		if (!p)
			return fail(r, INFER_ENOMEM, "no memory for the table of tensors");
		s->at = p;
		s->cap = cap;
	}
	s->at[s->n++] = *t;
	return INFER_OK;
}

static int read_members(struct reader *r, struct safetensors *s, int shard)
{
	const struct json *v;
	int seen = 0;

	if (!skip_char(r, '{'))
		return fail(r, INFER_EFORMAT, "the header must be a JSON object");
	if (skip_char(r, '}'))
		return INFER_OK;
	do {
		struct safetensors_tensor t = { .shard = shard };

		arena_reset(&r->brief);
		TRY(read_name(r, s));
		if (r->pos >= r->n || r->at[r->pos] != '{')
			return fail(r, INFER_EFORMAT, "the value must be an object, at byte %zu",
			            r->pos + 8);
		TRY(read_value(r, object_end(r, r->pos), VALUE_MAX_BYTES, &v));
		t.name = r->what;
		if (t.name.len == 12 && !memcmp(t.name.at, "__metadata__", 12)) {
			if (seen++)
				return fail(r, INFER_EFORMAT, "it is there twice");
			TRY(check_metadata(r, v));
			continue;
		}
		TRY(read_tensor(r, v, &t));
		TRY(add_tensor(s, r, &t));
	} while (skip_char(r, ','));
	if (!skip_char(r, '}'))
		return fail(r, INFER_EFORMAT, "\",\" or \"}\" must follow at byte %zu", r->pos + 8);
	return INFER_OK;
}

static int by_offset(const void *a, const void *b)
{
	const struct safetensors_tensor *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->name.at < y->name.at ? -1 : x->name.at > y->name.at;
}

/* Sort the tensors from `first` on by offset, and check that they fill the data. */
static int place_tensors(struct reader *r, struct safetensors *s, uint32_t first,
                         const struct file_shard *shard)
{
	uint64_t want = 0;

	if (s->n > first)
		qsort(s->at + first, s->n - first, sizeof *s->at, by_offset);
	for (uint32_t i = first; i < s->n; i++) {
		struct safetensors_tensor *t = &s->at[i];

		r->what = t->name;
		if (t->offset != want)
			return fail(r, INFER_EFORMAT, "data_offsets [%llu, %llu] %s, %llu is next",
			            (unsigned long long)t->offset,
			            (unsigned long long)(t->offset + t->bytes),
			            t->offset < want ? "overlap the tensor before" : "leave a gap",
			            (unsigned long long)want);
		want += t->bytes;
		t->offset += shard->header_bytes;
		t->data = shard->at + t->offset;
		int rc = map_put(&s->map, t->name.at, t->name.len, i);
		if (rc == INFER_ENOMEM)
			return fail(r, rc, "no memory for the table of tensors");
		if (rc)
			return fail(r, INFER_EFORMAT, "it is there twice");
	}
	r->what = (struct infer_str){ 0 };
	if (want != r->data_bytes)
		return fail(r, INFER_EFORMAT,
		            "the tensors have %llu bytes, the file has %llu after its header",
		            (unsigned long long)want, (unsigned long long)r->data_bytes);
	return INFER_OK;
}

/* Read the length of the header and check it. */
static int read_length(struct reader *r, const struct file_shard *shard)
{
	uint64_t n;

	if (shard->bytes < 8)
		return fail(r, INFER_EFORMAT,
		            "a safetensors file must have at least 8 bytes, not %zu", shard->bytes);
	n = num_u64(shard->at);
	if (n > shard->bytes - 8)
		return fail(r, INFER_EFORMAT,
		            "a header of %llu bytes does not fit in the file of %zu bytes",
		            (unsigned long long)n, shard->bytes);
	if (n > HEADER_MAX)
		return fail(r, INFER_EFORMAT, "a header of %llu bytes is longer than %d",
		            (unsigned long long)n, HEADER_MAX);
	r->at = (const char *)shard->at + 8;
	r->n = (size_t)n;
	r->data_bytes = shard->bytes - 8 - n;
	return INFER_OK;
}

int safetensors_read(struct safetensors *s, struct infer_file *f, int shard, infer_error *err)
{
	struct file_shard *file = &f->shards[shard];
	struct reader r = { .path = file->path, .err = err };
	uint32_t first = s->n;
	int rc;

	TRY(read_length(&r, file));
	if (!s->map.at) {
		if (map_init(&s->map, MEM_FILE, 512))
			return fail(&r, INFER_ENOMEM, "no memory for the table of tensors");
		arena_init(&s->names, MEM_FILE);
	}
	file->header_bytes = r.n + 8;
	arena_init(&r.brief, MEM_FILE);
	rc = read_members(&r, s, shard);
	skip_space(&r);
	if (!rc && r.pos < r.n) {
		r.what = (struct infer_str){ 0 };
		rc = fail(&r, INFER_EFORMAT, "the header must end with its object, at byte %zu",
		          r.pos + 8);
	}
	if (!rc)
		rc = place_tensors(&r, s, first, file);
	arena_fini(&r.brief);
	return rc;
}

void safetensors_fini(struct safetensors *s)
{
	mem_free(s->at);
	map_fini(&s->map);
	arena_fini(&s->names);
	*s = (struct safetensors){ 0 };
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *s, const char *name,
                                                  size_t n)
{
	const uint32_t *i = s->map.at ? map_get(&s->map, name, n) : NULL;

	return i ? &s->at[*i] : NULL;
}
