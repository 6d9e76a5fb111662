/* file/gguf_write.c - write GGUF files. */
#include "file/gguf_write.h"
#include "base/err.h"
#include "base/num.h"
#include "base/replace.h"
#include "file/file.h"
#include "type/type.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 4 << 20, TRIES = 100 };

struct out_tensor {
	int type;
	int64_t rows;
	size_t row_bytes;
	gguf_rows_fn *fill;
	void *user;
};

struct gguf_write {
	char *path;
	int is_temporary;                 /* path is a temporary name */
	char target[PATH_MAX];            /* path, or its target if it is a link */
	char tmp[PATH_MAX + 32];          /* in the same directory, until the file is complete */
	struct buf keys, table;           /* encoded as in the file */
	uint64_t n_keys, alignment, data; /* data: bytes of the tensors so far, padded */
	struct out_tensor *tensors;
	uint32_t n_tensors, cap;
	const struct file_shard *from; /* shard whose tensors are copied; NULL: none */
};

int gguf_write_new(struct gguf_write **out, const char *path, infer_error *err)
{
	struct gguf_write *w = mem_zalloc(MEM_FILE, 1, sizeof *w);

	*out = NULL;
	if (w)
		w->path = mem_strndup(MEM_FILE, path, strlen(path));
	if (!w || !w->path) {
		gguf_write_free(w);
		return err_set(err, INFER_ENOMEM, "%s: no memory", file_label(path));
	}
	buf_init(&w->keys, MEM_FILE);
	buf_init(&w->table, MEM_FILE);
	w->alignment = 32;
	*out = w;
	return INFER_OK;
}

void gguf_write_free(struct gguf_write *w)
{
	if (!w)
		return;
	mem_free(w->path);
	buf_fini(&w->keys);
	buf_fini(&w->table);
	mem_free(w->tensors);
	mem_free(w);
}

void gguf_write_temporary(struct gguf_write *w) { w->is_temporary = 1; }

static void put_u32(struct buf *b, uint32_t v) { buf_put(b, &v, 4); }
static void put_u64(struct buf *b, uint64_t v) { buf_put(b, &v, 8); }

void gguf_put_str(struct buf *b, const char *s, size_t n)
{
	put_u64(b, n);
	buf_put(b, s, n);
}

static void put_key(struct gguf_write *w, const char *key, size_t n, int type)
{
	gguf_put_str(&w->keys, key, n);
	put_u32(&w->keys, (uint32_t)type);
	w->n_keys++;
}

static void put_scalar(struct gguf_write *w, const char *key, int type, const void *v, size_t n)
{
	put_key(w, key, strlen(key), type);
	buf_put(&w->keys, v, n);
}

void gguf_write_u16(struct gguf_write *w, const char *key, uint16_t v)
{
	put_scalar(w, key, INFER_META_U16, &v, 2);
}
void gguf_write_u32(struct gguf_write *w, const char *key, uint32_t v)
{
	put_scalar(w, key, INFER_META_U32, &v, 4);
}
void gguf_write_i32(struct gguf_write *w, const char *key, int32_t v)
{
	put_scalar(w, key, INFER_META_I32, &v, 4);
}
void gguf_write_f32(struct gguf_write *w, const char *key, float v)
{
	put_scalar(w, key, INFER_META_F32, &v, 4);
}
void gguf_write_u64(struct gguf_write *w, const char *key, uint64_t v)
{
	put_scalar(w, key, INFER_META_U64, &v, 8);
}
void gguf_write_f64(struct gguf_write *w, const char *key, double v)
{
	put_scalar(w, key, INFER_META_F64, &v, 8);
}

void gguf_write_bool(struct gguf_write *w, const char *key, int v)
{
	unsigned char b = v != 0;

	put_scalar(w, key, INFER_META_BOOL, &b, 1);
}

void gguf_write_str(struct gguf_write *w, const char *key, const char *s, size_t n)
{
	put_key(w, key, strlen(key), INFER_META_STR);
	gguf_put_str(&w->keys, s, n);
}

static void put_array(struct gguf_write *w, int elem_type, uint64_t count, const void *bytes,
                      size_t n)
{
	put_u32(&w->keys, (uint32_t)elem_type);
	put_u64(&w->keys, count);
	buf_put(&w->keys, bytes, n);
}

void gguf_write_array(struct gguf_write *w, const char *key, int elem_type, uint64_t count,
                      const void *bytes, size_t n)
{
	put_key(w, key, strlen(key), INFER_META_ARR);
	put_array(w, elem_type, count, bytes, n);
}

void gguf_write_copy(struct gguf_write *w, const struct infer_meta *m)
{
	const struct file_value *v = file_value(m);

	put_key(w, m->key.at, m->key.len, m->type);
	if (m->type == INFER_META_ARR)
		put_array(w, m->elem_type, m->count, v->at, v->bytes);
	else
		buf_put(&w->keys, v->at, v->bytes);
}

void gguf_write_alignment(struct gguf_write *w, uint32_t alignment)
{
	must(alignment >= 8 && !(alignment & (alignment - 1)) && !w->n_tensors);
	gguf_write_u32(w, "general.alignment", alignment);
	w->alignment = alignment;
}

int gguf_write_tensor(struct gguf_write *w, const char *name, int type, int n_dims,
                      const int64_t *ne, gguf_rows_fn *rows, void *user, infer_error *err)
{
	const struct infer_type_info *info = infer_type_info(type);
	struct out_tensor *t;

	if (!info || n_dims < 1 || n_dims > 4 || !*name || strlen(name) > 63)
		return err_set(
			err, INFER_EINVAL,
			"tensor %s: a name, type or number of dimensions that no file can have",
			name);
	if (ne[0] % info->block)
		return err_set(err, INFER_EINVAL,
		               "tensor %s: rows of %lld elements are not whole blocks of %s (%d)",
		               name, (long long)ne[0], info->name, info->block);
	if (w->n_tensors == w->cap) {
		t = mem_realloc(MEM_FILE, w->tensors, w->cap ? w->cap * 2 : 32, sizeof *t);
		if (!t)
			return err_set(err, INFER_ENOMEM, "no memory for tensor %s", name);
		w->tensors = t;
		w->cap = w->cap ? w->cap * 2 : 32;
	}
	t = &w->tensors[w->n_tensors++];
	*t = (struct out_tensor){ type, 1, type_row_bytes(type, ne[0]), rows, user };
	gguf_put_str(&w->table, name, strlen(name));
	put_u32(&w->table, (uint32_t)n_dims);
	for (int i = 0; i < n_dims; i++) {
		put_u64(&w->table, (uint64_t)ne[i]);
		t->rows *= i ? ne[i] : 1;
	}
	put_u32(&w->table, (uint32_t)info->gguf_id);
	put_u64(&w->table, w->data);
	w->data += num_round_up((size_t)t->rows * t->row_bytes, w->alignment);
	return INFER_OK;
}

void gguf_write_tensors_of(struct gguf_write *w, const infer_file *f)
{
	const struct file_shard *s = &f->shards[0];
	const struct file_value *last = f->meta.n ? &f->meta.at[f->meta.n - 1] : NULL;
	const unsigned char *table = last ? last->at + last->bytes : s->at + 24;

	must(s->at && !w->n_tensors);
	w->from = s;
	w->n_tensors = (uint32_t)num_u64(s->at + 8);
	buf_put(&w->table, table, (size_t)(s->at + s->header_bytes - table));
}

static int write_bytes(int fd, const struct gguf_write *w, const void *p, size_t n,
                       infer_error *err)
{
	while (n) {
		ssize_t k = write(fd, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_errno(err, errno, "%s: writing", file_label(w->tmp));
		p = (const char *)p + k;
		n -= (size_t)k;
	}
	return INFER_OK;
}

static int write_padding(int fd, const struct gguf_write *w, uint64_t at, infer_error *err)
{
	static const char zeros[512];
	size_t n = num_round_up(at, w->alignment) - at;

	while (n) {
		size_t k = n < sizeof zeros ? n : sizeof zeros;
		TRY(write_bytes(fd, w, zeros, k, err));
		n -= k;
	}
	return INFER_OK;
}

static int write_tensor(int fd, const struct gguf_write *w, const struct out_tensor *t,
                        infer_error *err)
{
	int64_t at_once =
			t->row_bytes && t->row_bytes < CHUNK ? (int64_t)(CHUNK / t->row_bytes) : 1,
		n;
	void *chunk =
		mem_alloc(MEM_FILE, (size_t)num_min(at_once, num_max(t->rows, 1)), t->row_bytes);
	int rc = INFER_OK;

	if (!chunk)
		return err_set(err, INFER_ENOMEM, "no memory for a row of %zu bytes", t->row_bytes);
	for (int64_t row = 0; !rc && row < t->rows; row += n) {
		n = num_min(at_once, t->rows - row);
		rc = t->fill(t->user, row, n, chunk, err);
		if (!rc)
			rc = write_bytes(fd, w, chunk, (size_t)n * t->row_bytes, err);
	}
	mem_free(chunk);
	return rc ? rc : write_padding(fd, w, (uint64_t)t->rows * t->row_bytes, err);
}

uint64_t gguf_write_data(const struct gguf_write *w) { return w->data; }

static int table_nomem(const struct gguf_write *w, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "%s: no memory for keys and tensor table",
	               file_label(w->path));
}

int gguf_write_head(const struct gguf_write *w, struct buf *out, infer_error *err)
{
	unsigned char head[24] = { 'G', 'G', 'U', 'F', 3 };
	uint64_t n_tensors = w->n_tensors;
	size_t from = out->len;

	if (w->keys.bad || w->table.bad)
		return table_nomem(w, err);
	memcpy(head + 8, &n_tensors, 8);
	memcpy(head + 16, &w->n_keys, 8);
	buf_put(out, head, sizeof head);
	buf_put(out, w->keys.at, w->keys.len);
	buf_put(out, w->table.at, w->table.len);
	while (n_tensors && (out->len - from) % w->alignment && !out->bad)
		buf_putc(out, 0);
	return out->bad ? table_nomem(w, err) : INFER_OK;
}

/* Copy the tensor data of another file. */
static int copy_data(int fd, const struct gguf_write *w, infer_error *err)
{
	const struct file_shard *s = w->from;
	size_t at = num_round_up(s->header_bytes, w->alignment);

	return at < s->bytes ? write_bytes(fd, w, s->at + at, s->bytes - at, err) : INFER_OK;
}

static int write_file(int fd, const struct gguf_write *w, infer_error *err)
{
	struct buf head;

	buf_init(&head, MEM_FILE);
	int rc = gguf_write_head(w, &head, err);

	if (!rc)
		rc = write_bytes(fd, w, head.at, head.len, err);
	buf_fini(&head);
	TRY(rc);
	for (uint32_t i = 0; !w->from && i < w->n_tensors; i++)
		TRY(write_tensor(fd, w, &w->tensors[i], err));
	if (w->from)
		TRY(copy_data(fd, w, err));
	if (fsync(fd))
		return err_errno(err, errno, "%s: fsync", file_label(w->tmp));
	return INFER_OK;
}

int gguf_write_end(struct gguf_write *w, infer_error *err)
{
	int fd = -1, rc;

	if (w->keys.bad || w->table.bad)
		return table_nomem(w, err);
	if (!w->is_temporary)
		TRY(replace_target(w->target, w->path, err));
	else if (snprintf(w->target, sizeof w->target, "%s", w->path) >= (int)sizeof w->target)
		return err_errno(err, ENAMETOOLONG, "%s", file_label(w->path));
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		snprintf(w->tmp, sizeof w->tmp, "%s.%d.%d.tmp", w->target, (int)getpid(), i);
		fd = open(w->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		          w->is_temporary ? 0666 : (mode_t)replace_mode(w->target, 0666));
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return err_errno(err, errno, "%s", file_label(w->tmp));
	rc = write_file(fd, w, err);
	if (!rc && !w->is_temporary)
		replace_keep(fd, w->target);
	if (close(fd) && !rc)
		rc = err_errno(err, errno, "%s: writing", file_label(w->tmp));
	if (!rc && rename(w->tmp, w->target))
		rc = err_errno(err, errno, "%s", file_label(w->path));
	if (rc)
		unlink(w->tmp);
	return rc;
}
