/* file/gguf.c - GGUF v2 and v3.  A file, all little-endian and packed:
 *
 *   "GGUF"  u32 version  u64 tensors  u64 keys
 *   keys times     { string key; u32 type; value }          string: u64 length, bytes
 *   tensors times  { string name; u32 n_dims; u64 ne[n_dims]; u32 type; u64 offset }
 *   zeros up to a multiple of the alignment, then the tensors' data in the order of the table, each
 *   padded to the alignment
 *
 * The bytes are read once, in order.  Memory is allocated in proportion to the entries read,
 * whatever a count or a length says, so a small file cannot request much. */
#include "file/gguf.h"
#include "base/err.h"
#include "base/num.h"
#include "file/zst.h"
#include "type/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	KEY_MIN = 8 + 1 + 4 + 1, /* bytes of the smallest key with its value */
	TENSOR_MIN = 8 + 4 + 4 + 8,
	KEY_MAX = 65535,
	NAME_MAX_BYTES = 63,
	MIN_ALIGNMENT = 8,
	DEFAULT_ALIGNMENT = 32,
};
#define STR_MAX ((uint64_t)1 << 30)
#define COUNT_MAX ((uint64_t)1 << 30)

struct reader {
	const unsigned char *at;
	size_t n, pos;
	/* have: bytes available of the n.  need: bytes required if `have` are not enough; then *err
	 * is not set */
	size_t have, need;
	const char *path;
	const char *kind;      /* "key", "tensor" or "" before the first */
	struct infer_str what; /* name of that key or tensor */
	size_t mark;           /* offset of the current field */
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
	if (!r->what.len)
		return err_set(r->err, code, "%s: %s, at byte %zu", file_label(r->path), why,
		               r->mark);
	return err_set(r->err, code, "%s: %s %s: %s, at byte %zu", file_label(r->path), r->kind,
	               file_quote(name, r->what.at, r->what.len), why, r->mark);
}

/* Return the next n bytes, or NULL after setting INFER_EFORMAT or r->need. */
static const unsigned char *take_bytes(struct reader *r, size_t n, const char *what)
{
	r->mark = r->pos;
	if (n > r->n - r->pos) {
		fail(r, INFER_EFORMAT, "the file ends inside %s", what);
		return NULL;
	}
	if (n > r->have - r->pos) {
		r->need = r->pos + n;
		return NULL;
	}
	r->pos += n;
	return r->at + r->pos - n;
}

static int take_u32(struct reader *r, const char *what, uint32_t *v)
{
	const unsigned char *p = take_bytes(r, 4, what);

	if (!p)
		return INFER_EFORMAT;
	*v = num_u32(p);
	return INFER_OK;
}

static int take_u64(struct reader *r, const char *what, uint64_t *v)
{
	const unsigned char *p = take_bytes(r, 8, what);

	if (!p)
		return INFER_EFORMAT;
	*v = num_u64(p);
	return INFER_OK;
}

static int take_str(struct reader *r, const char *what, uint64_t max, struct infer_str *v)
{
	uint64_t len;

	TRY(take_u64(r, what, &len));
	if (len > r->n - r->pos)
		return fail(r, INFER_EFORMAT, "%s of %llu bytes does not fit in the file", what,
		            (unsigned long long)len);
	if (len > max)
		return fail(r, INFER_EFORMAT, "%s of %llu bytes is too long", what,
		            (unsigned long long)len);
	if (len > r->have - r->pos) {
		r->need = r->pos + (size_t)len;
		return INFER_EFORMAT;
	}
	*v = (struct infer_str){ (const char *)r->at + r->pos, (size_t)len };
	r->pos += (size_t)len;
	return INFER_OK;
}

static int read_header(struct reader *r, uint32_t *version, uint64_t *n_tensors, uint64_t *n_keys)
{
	r->pos = 4;
	TRY(take_u32(r, "the version", version));
	if (*version && !(*version & 0xffff))
		return fail(r, INFER_EUNSUP, "a big-endian GGUF file");
	if (*version == 1 || *version > 3)
		return fail(r, INFER_EUNSUP, "GGUF version %u, not 2 or 3", *version);
	if (*version == 0)
		return fail(r, INFER_EFORMAT, "GGUF version 0");
	TRY(take_u64(r, "the number of tensors", n_tensors));
	if (*n_tensors > (r->n - r->pos) / TENSOR_MIN)
		return fail(r, INFER_EFORMAT, "%llu tensors do not fit in a file of %zu bytes",
		            (unsigned long long)*n_tensors, r->n);
	TRY(take_u64(r, "the number of keys", n_keys));
	if (*n_keys > (r->n - r->pos) / KEY_MIN)
		return fail(r, INFER_EFORMAT, "%llu keys do not fit in a file of %zu bytes",
		            (unsigned long long)*n_keys, r->n);
	return INFER_OK;
}

/* Check the strings of a value from r->pos on, and record every FILE_MARK-th offset in v->mark. */
static int read_strings(struct reader *r, struct file_value *v)
{
	size_t from = r->pos, n = 0, cap = 0;
	struct infer_str s;

	for (uint64_t i = 0; i < v->meta.count; i++) {
		if (i && !(i % FILE_MARK)) {
			size_t *more = n < cap ? v->mark : NULL;
			if (!more) {
				cap = cap ? 2 * cap : 8;
				more = mem_realloc(MEM_FILE, v->mark, cap, sizeof *more);
			}
			if (!more)
				return fail(r, INFER_ENOMEM, "no memory for %llu strings",
				            (unsigned long long)v->meta.count);
			v->mark = more;
			v->mark[n++] = r->pos - from;
		}
		TRY(take_str(r, "a string", STR_MAX, &s));
	}
	return INFER_OK;
}

/* Set the address and size of `count` values of one type. */
static int read_values(struct reader *r, struct file_value *v)
{
	const uint8_t *sizes = file_meta_size;
	struct infer_meta *m = &v->meta;
	size_t from = r->pos;
	const unsigned char *p;

	if (m->elem_type == INFER_META_STR) {
		TRY(read_strings(r, v));
	} else {
		r->mark = r->pos;
		if (m->count > (r->n - r->pos) / sizes[m->elem_type])
			return fail(r, INFER_EFORMAT, "%llu values do not fit in the file",
			            (unsigned long long)m->count);
		p = take_bytes(r, (size_t)m->count * sizes[m->elem_type], "a value");
		if (!p)
			return INFER_EFORMAT;
		for (uint64_t i = 0; m->elem_type == INFER_META_BOOL && i < m->count; i++) {
			r->mark = from + (size_t)i;
			if (p[i] > 1)
				return fail(r, INFER_EFORMAT, "a bool of value %u", p[i]);
		}
	}
	v->at = r->at + from;
	v->bytes = r->pos - from;
	return INFER_OK;
}

static int read_key(struct reader *r, struct file_value *v)
{
	struct infer_meta *m = &v->meta;
	uint32_t type;

	r->what.len = 0;
	TRY(take_str(r, "a key", KEY_MAX, &m->key));
	if (!m->key.len)
		return fail(r, INFER_EFORMAT, "an empty key");
	r->what = m->key;
	TRY(take_u32(r, "the value's type", &type));
	if (type > INFER_META_F64)
		return fail(r, INFER_EFORMAT, "value type %u does not exist", type);
	m->type = (int)type;
	m->count = 1;
	if (type == INFER_META_ARR) {
		TRY(take_u32(r, "the elements' type", &type));
		if (type > INFER_META_F64)
			return fail(r, INFER_EFORMAT, "element type %u does not exist", type);
		if (type == INFER_META_ARR)
			return fail(r, INFER_EUNSUP, "an array of arrays");
		TRY(take_u64(r, "the number of elements", &m->count));
		if (m->count > COUNT_MAX)
			return fail(r, INFER_EFORMAT, "an array of %llu elements is too long",
			            (unsigned long long)m->count);
	}
	m->elem_type = (int)type;
	return read_values(r, v);
}

static int read_keys(struct reader *r, uint64_t n, struct file_meta *meta)
{
	r->kind = "key";
	for (uint64_t i = 0; i < n; i++) {
		struct file_value v = { 0 };
		size_t from = r->pos;
		int rc = read_key(r, &v);
		if (rc) {
			mem_free(v.mark);
			return rc;
		}
		rc = file_meta_add(meta, &v);
		if (rc)
			mem_free(v.mark);
		r->mark = from;
		if (rc == INFER_EFORMAT)
			return fail(r, rc, "there twice");
		if (rc)
			return fail(r, rc, "no memory for %llu keys", (unsigned long long)n);
	}
	r->what.len = 0;
	return INFER_OK;
}

static int read_alignment(struct reader *r, const struct file_meta *meta, uint64_t *alignment)
{
	const struct infer_meta *m = file_meta_get(meta, "general.alignment");

	*alignment = DEFAULT_ALIGNMENT;
	if (!m)
		return INFER_OK;
	r->what = m->key;
	r->mark = (size_t)(file_value(m)->at - r->at);
	if (m->type != INFER_META_U32)
		return fail(r, INFER_EFORMAT, "not a u32");
	*alignment = num_u32(file_value(m)->at);
	if (!*alignment || (*alignment & (*alignment - 1)))
		return fail(r, INFER_EFORMAT, "%llu: must be a power of two",
		            (unsigned long long)*alignment);
	if (*alignment < MIN_ALIGNMENT)
		return fail(r, INFER_EFORMAT, "%llu is less than %d",
		            (unsigned long long)*alignment, MIN_ALIGNMENT);
	r->what.len = 0;
	return INFER_OK;
}

/* Unsupported types, for messages. */
static const struct {
	uint32_t from, to;
	const char *name, *why;
} refused[] = {
	{ 4, 4, "Q4_2", "removed from the format" },
	{ 5, 5, "Q4_3", "removed from the format" },
	{ 31, 31, "Q4_0_4_4",
	  "removed from the format; the model has to be converted again, as Q4_0" },
	{ 32, 32, "Q4_0_4_8",
	  "removed from the format; the model has to be converted again, as Q4_0" },
	{ 33, 33, "Q4_0_8_8",
	  "removed from the format; the model has to be converted again, as Q4_0" },
	{ 36, 36, "IQ4_NL_4_4 or I2_S", "removed from the format, or of ik_llama.cpp only" },
	{ 37, 37, "IQ4_NL_4_8", "removed from the format" },
	{ 38, 38, "IQ4_NL_8_8", "removed from the format" },
	{ 133, 133, "Q6_0", "of ik_llama.cpp only" },
	{ 134, 135, "IQ1_BN or IQ2_BN", "of ik_llama.cpp only" },
	{ 137, 141, "one of IQ2_K to IQ6_K", "of ik_llama.cpp only" },
	{ 144, 146, "IQ4_KS, IQ2_KS or IQ4_KSS", "of ik_llama.cpp only" },
	{ 152, 152, "IQ5_KS", "of ik_llama.cpp only" },
	{ 153, 155, "one of IQ2_KT to IQ4_KT", "of ik_llama.cpp only" },
	{ 156, 157, "IQ3_KS or IQ2_KL", "of ik_llama.cpp only" },
	{ 158, 158, "IQ1_KT", "of ik_llama.cpp only" },
	{ 202, 399, "a row-interleaved type", "of ik_llama.cpp only" },
	{ 97, 399, "no type of ggml", "of ik_llama.cpp only" },
};

static int refuse_type(struct reader *r, uint32_t type)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (type >= refused[i].from && type <= refused[i].to)
			return fail(r, INFER_EUNSUP, "type %u (%s) is %s", type, refused[i].name,
			            refused[i].why);
	return fail(r, INFER_EUNSUP, "type %u is not known", type);
}

/* Check that rows are whole blocks and sizes do not overflow; set the dimensions and bytes. */
static int read_shape(struct reader *r, struct infer_tensor *t, size_t at_dims)
{
	const struct infer_type_info *type = infer_type_info(t->type);
	int64_t elems = 1, bytes;

	for (int i = 0; i < 4; i++) {
		r->mark = at_dims + 8 * (size_t)i;
		if (t->ne[i] < 0 || __builtin_mul_overflow(elems, t->ne[i], &elems))
			return fail(r, INFER_EFORMAT, "2^63 elements or more");
	}
	r->mark = at_dims;
	if (t->ne[0] % type->block)
		return fail(r, INFER_EFORMAT,
		            "rows of %lld elements are not whole blocks of %s (%d)",
		            (long long)t->ne[0], type->name, type->block);
	if (__builtin_mul_overflow(elems / type->block, type->block_bytes, &bytes))
		return fail(r, INFER_EFORMAT, "2^63 bytes or more");
	t->bytes = (uint64_t)bytes;
	return INFER_OK;
}

static int read_tensor(struct reader *r, struct infer_tensor *t)
{
	uint32_t n_dims, type;
	uint64_t ne;

	r->what.len = 0;
	TRY(take_str(r, "a tensor's name", NAME_MAX_BYTES, &t->name));
	if (!t->name.len)
		return fail(r, INFER_EFORMAT, "a tensor without a name");
	r->what = t->name;
	TRY(take_u32(r, "the number of dimensions", &n_dims));
	if (n_dims > 4)
		return fail(r, INFER_EFORMAT, "%u dimensions, at most 4 are possible", n_dims);
	size_t at_dims = r->pos;
	for (uint32_t i = 0; i < 4; i++) {
		ne = 1;
		if (i < n_dims)
			TRY(take_u64(r, "the dimensions", &ne));
		if (ne > INT64_MAX)
			return fail(r, INFER_EFORMAT, "2^63 elements or more");
		t->ne[i] = (int64_t)ne;
	}
	t->n_dims = n_dims ? (int)n_dims : 1; /* a scalar is a row of one element */
	TRY(take_u32(r, "the type", &type));
	t->type = infer_type_from_gguf(type);
	if (t->type < 0)
		return refuse_type(r, type);
	TRY(take_u64(r, "the offset", &t->offset));
	return read_shape(r, t, at_dims);
}

/* Refuse a tensor that the file is too short for. All numbers are bytes from the start of the file. */
static int refuse_end(struct reader *r, const struct infer_tensor *t, uint64_t data)
{
	char name[FILE_QUOTE];

	return err_set(r->err, INFER_EFORMAT,
	               "%s: tensor %s: %llu bytes at byte %llu: the file ends before them, after "
	               "%zu bytes",
	               file_label(r->path), file_quote(name, t->name.at, t->name.len),
	               (unsigned long long)t->bytes, (unsigned long long)(data + t->offset), r->n);
}

/* Check the offset of a tensor: padded, in the order of the table, without overlap. */
static int place_tensor(struct reader *r, struct infer_tensor *t, size_t mark, size_t data,
                        uint64_t *want, uint64_t alignment)
{
	r->what = t->name;
	r->mark = mark;
	if (t->offset % alignment)
		return fail(r, INFER_EFORMAT, "offset %llu must be a multiple of %llu",
		            (unsigned long long)t->offset, (unsigned long long)alignment);
	if (t->offset != *want)
		return fail(r, INFER_EFORMAT, "offset %llu %s, %llu is next",
		            (unsigned long long)t->offset,
		            t->offset < *want ? "lies in the tensor before" : "leaves a gap",
		            (unsigned long long)*want);
	if (data > r->n || t->offset > r->n - data || t->bytes > r->n - data - t->offset)
		return refuse_end(r, t, data);
	*want = t->offset + num_round_up((size_t)t->bytes, (size_t)alignment);
	t->offset += data;
	t->data = r->at + t->offset;
	return INFER_OK;
}

static int read_tensors(struct reader *r, uint64_t n, struct infer_file *f, int shard,
                        uint64_t alignment)
{
	uint32_t first = f->n_tensors;
	uint64_t want = 0;

	r->kind = "tensor";
	for (uint64_t i = 0; i < n; i++) {
		struct infer_tensor t = { .shard = shard };
		size_t from = r->pos;
		TRY(read_tensor(r, &t));
		int rc = file_tensor_add(f, &t);
		r->mark = from;
		if (rc == INFER_EFORMAT)
			return fail(r, rc, "there twice");
		if (rc)
			return fail(r, rc, "no memory for %llu tensors", (unsigned long long)n);
	}
	f->shards[shard].header_bytes = r->pos;
	size_t data = num_round_up(r->pos, (size_t)alignment);
	for (uint32_t i = first; i < f->n_tensors; i++) {
		size_t mark = (size_t)((const unsigned char *)f->tensors[i].name.at - r->at) - 8;
		TRY(place_tensor(r, &f->tensors[i], mark, data, &want, alignment));
	}
	return INFER_OK;
}

static int is_gguf(const unsigned char *at, size_t n) { return n >= 4 && !memcmp(at, "GGUF", 4); }

static int read_shard(struct reader *r, struct infer_file *f, int shard, struct file_meta *meta)
{
	uint64_t n_tensors = 0, n_keys = 0, alignment = 0;
	uint32_t version = 0;

	if (!is_gguf(r->at, r->have))
		return fail(r, INFER_EFORMAT, "no GGUF file");
	TRY(read_header(r, &version, &n_tensors, &n_keys));
	TRY(read_keys(r, n_keys, meta));
	TRY(read_alignment(r, meta, &alignment));
	TRY(read_tensors(r, n_tensors, f, shard, alignment));
	if (shard == 0) {
		f->version = version;
		f->alignment = alignment;
	}
	return INFER_OK;
}

int gguf_read(struct infer_file *f, int shard, struct file_meta *meta, const char *path,
              infer_error *err)
{
	struct file_shard *s = &f->shards[shard];
	struct reader r = {
		.at = s->at, .n = s->bytes, .have = s->bytes, .path = path, .kind = "", .err = err
	};

	return read_shard(&r, f, shard, meta);
}

int gguf_measure(struct gguf_size *out, const unsigned char *at, size_t n, const char *path,
                 infer_error *err)
{
	struct file_shard s = { .at = at, .bytes = n };
	struct infer_file f = { .shards = &s, .n_shards = 1 };
	struct reader r = {
		.at = at, .n = PTRDIFF_MAX / 2, .have = n, .path = path, .kind = "", .err = err
	};
	struct file_meta meta;
	int rc;

	*out = (struct gguf_size){ 0 };
	TRY(file_meta_init(&meta, err));
	rc = map_init(&f.tensor_map, MEM_FILE, 64)
	             ? err_set(err, INFER_ENOMEM, "%s: no memory for the tensor table",
	                       file_label(path))
	             : read_shard(&r, &f, 0, &meta);
	if (r.need) {
		out->need = r.need;
		rc = INFER_OK;
	} else if (!rc) {
		const struct infer_tensor *last = f.n_tensors ? &f.tensors[f.n_tensors - 1] : NULL;

		out->bytes = num_round_up(last ? last->offset + last->bytes : s.header_bytes,
		                          f.alignment);
	}
	file_meta_fini(&meta);
	mem_free(f.tensors);
	map_fini(&f.tensor_map);
	return rc;
}

int gguf_add_shard(struct infer_file *f, const char *path, infer_error *err)
{
	struct file_shard *s;

	TRY(file_add_shard(f, path, err));
	s = &f->shards[f->n_shards - 1];
	return zst_is(s->at, s->bytes) ? zst_unpack(f, s, err) : INFER_OK;
}

static int knows(const char *path, const struct os_stat *st, const unsigned char *head, size_t n)
{
	(void)path;
	return st->kind != OS_DIRECTORY && is_gguf(head, n);
}

static int open_gguf(struct infer_file *f, infer_error *err)
{
	uint64_t count = 0;

	if (!f->n_shards)
		TRY(gguf_add_shard(f, f->path, err));
	TRY(file_meta_init(&f->meta, err));
	if (map_init(&f->tensor_map, MEM_FILE, 64))
		return err_set(err, INFER_ENOMEM, "%s: no memory for the tensor table",
		               file_label(f->path));
	TRY(gguf_read(f, 0, &f->meta, f->path, err));
	TRY(infer_meta_u64(f, "split.count", &count, NULL, err));
	if (count > 1)
		TRY(gguf_read_split(f, err));
	TRY(gguf_read_ollama(f, err));
	file_trim(f);
	file_find_aux(f);
	return INFER_OK;
}

const struct format format_gguf = {
	.name = "gguf", .knows = knows, .open = open_gguf, .close = gguf_close
};
