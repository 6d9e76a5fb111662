/* file/file.c - open a model file and look up its contents. */
#include "file/file.h"
#include "base/err.h"
#include "base/num.h"
#include "base/sha256.h"
#include "demo/demo.h"
#include "type/type.h"

#include <string.h>

static const struct format *const formats[] = {
#define FORMAT(x) &format_##x,
#include "file/format_list.h"
#undef FORMAT
};

const char *file_quote(char out[FILE_QUOTE], const char *s, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		size_t need = c > 31 && c < 127 ? 1 : 4;
		if (to + need + sizeof "..." > FILE_QUOTE) {
			memcpy(out + to, "...", 3);
			to += 3;
			break;
		}
		if (need == 1) {
			out[to] = (char)c;
		} else {
			memcpy(out + to, "\\x", 2);
			out[to + 2] = "0123456789abcdef"[c >> 4];
			out[to + 3] = "0123456789abcdef"[c & 15];
		}
		to += need;
	}
	out[to] = '\0';
	return out;
}

const char *file_label(const char *path)
{
	enum { KEEP = 96 };
	size_t n = strlen(path);

	if (n <= KEEP)
		return path;
	path += n - KEEP;
	while ((*path & 0xc0) == 0x80)
		path++;
	return path;
}

/* Make space for one more element of `size` bytes in *at.  The capacity doubles, so memory is
 * proportional to the bytes read. */
static int grow_array(void **at, uint32_t *cap, uint32_t n, size_t size)
{
	if (n < *cap)
		return INFER_OK;
	if (n >= UINT32_MAX / 2)
		return INFER_ENOMEM;
	uint32_t more = n ? n * 2 : 32;
	void *p = mem_realloc(MEM_FILE, *at, more, size);
	if (!p)
		return INFER_ENOMEM;
	*at = p;
	*cap = more;
	return INFER_OK;
}

int file_meta_init(struct file_meta *m, infer_error *err)
{
	*m = (struct file_meta){ 0 };
	if (map_init(&m->map, MEM_FILE, 64))
		return err_set(err, INFER_ENOMEM, "no memory for the metadata of a model file");
	return INFER_OK;
}

void file_meta_fini(struct file_meta *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		mem_free(m->at[i].mark);
	mem_free(m->at);
	map_fini(&m->map);
	*m = (struct file_meta){ 0 };
}

int file_meta_add(struct file_meta *m, const struct file_value *v)
{
	int rc = map_put(&m->map, v->meta.key.at, v->meta.key.len, m->n);

	if (rc)
		return rc == INFER_ENOMEM ? INFER_ENOMEM : INFER_EFORMAT;
	TRY(grow_array((void **)&m->at, &m->cap, m->n, sizeof *m->at));
	m->at[m->n++] = *v;
	return INFER_OK;
}

const struct infer_meta *file_meta_get(const struct file_meta *m, const char *key)
{
	const uint32_t *i = map_get(&m->map, key, strlen(key));

	return i ? &m->at[*i].meta : NULL;
}

int file_tensor_add(struct infer_file *f, const struct infer_tensor *t)
{
	int rc = map_put(&f->tensor_map, t->name.at, t->name.len, f->n_tensors);

	if (rc)
		return rc == INFER_ENOMEM ? INFER_ENOMEM : INFER_EFORMAT;
	TRY(grow_array((void **)&f->tensors, &f->cap_tensors, f->n_tensors, sizeof *f->tensors));
	f->tensors[f->n_tensors++] = *t;
	return INFER_OK;
}

static void trim_array(void **at, uint32_t *cap, uint32_t n, size_t size)
{
	void *p = n && n < *cap ? mem_realloc(MEM_FILE, *at, n, size) : NULL;

	if (p) {
		*at = p;
		*cap = n;
	}
}

void file_trim(struct infer_file *f)
{
	trim_array((void **)&f->meta.at, &f->meta.cap, f->meta.n, sizeof *f->meta.at);
	trim_array((void **)&f->tensors, &f->cap_tensors, f->n_tensors, sizeof *f->tensors);
}

void file_aux(struct infer_file *f, const struct infer_tensor *of, enum infer_aux role,
              const struct infer_tensor *companion)
{
	f->tensors[of - f->tensors].aux[role] = companion;
	f->tensors[companion - f->tensors].of = of;
}

/* Return the role of an auxiliary tensor by the suffix of its name, INFER_AUX_ROLES for other
 * tensors.  *stem: bytes of the name before the suffix */
static enum infer_aux role_of(struct infer_str name, size_t *stem)
{
	static const struct {
		const char *end;
		enum infer_aux role;
	} roles[] = { { ".scale", INFER_AUX_SCALE }, { ".order", INFER_AUX_ORDER } };

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		size_t n = strlen(roles[i].end);

		*stem = name.len - n;
		if (name.len > n && !memcmp(name.at + *stem, roles[i].end, n))
			return roles[i].role;
	}
	return INFER_AUX_ROLES;
}

void file_find_aux(struct infer_file *f)
{
	static const char weight[] = ".weight";
	char name[160];

	for (uint32_t i = 0; i < f->n_tensors; i++) {
		const struct infer_tensor *of;
		size_t stem;
		enum infer_aux role = role_of(f->tensors[i].name, &stem);

		if (role == INFER_AUX_ROLES || stem > sizeof name - sizeof weight)
			continue;
		memcpy(name, f->tensors[i].name.at, stem);
		memcpy(name + stem, weight, sizeof weight);
		of = infer_file_tensor(f, name);
		if (of)
			file_aux(f, of, role, &f->tensors[i]);
	}
}

static int add_shard(struct infer_file *f, infer_error *err)
{
	struct file_shard *p = mem_realloc(MEM_FILE, f->shards, (size_t)f->n_shards + 1, sizeof *p);

	if (!p)
		return err_set(err, INFER_ENOMEM, "no memory for shard %d of a model file",
		               f->n_shards + 1);
	f->shards = p;
	p[f->n_shards] = (struct file_shard){ 0 };
	return INFER_OK;
}

int file_add_shard(struct infer_file *f, const char *path, infer_error *err)
{
	TRY(add_shard(f, err));
	struct file_shard *s = &f->shards[f->n_shards];
	s->path = mem_strndup(MEM_FILE, path, strlen(path));
	if (!s->path)
		return err_set(err, INFER_ENOMEM, "%s: no memory", file_label(path));
	int rc = os_file_map(&s->map, path, err);
	if (rc) {
		mem_free(s->path);
		return rc;
	}
	s->at = s->map.at;
	s->bytes = s->map.bytes;
	f->n_shards++;
	return INFER_OK;
}

int file_take_shard(struct infer_file *f, struct file_shard *s, infer_error *err)
{
	TRY(add_shard(f, err));
	f->shards[f->n_shards++] = *s;
	*s = (struct file_shard){ 0 };
	return INFER_OK;
}

void file_drop_shard(struct file_shard *s)
{
	struct os_file own = { .at = s->own, .bytes = s->own_bytes };

	file_unmap(&own);
	file_unmap(&s->map);
	mem_free(s->path);
	*s = (struct file_shard){ 0 };
}

void file_drop(struct infer_file *f)
{
	if (f->format && f->format->close)
		f->format->close(f);
	for (int i = 0; i < f->n_shards; i++)
		file_drop_shard(&f->shards[i]);
	mem_free(f->shards);
	file_meta_fini(&f->meta);
	mem_free(f->tensors);
	map_fini(&f->tensor_map);
	if (f->gathered)
		os_release(f->gathered, f->gathered_bytes);
	*f = (struct infer_file){ .format = f->format, .path = f->path, .watch = f->watch };
}

static int new_file(struct infer_file **out, const char *path, infer_error *err)
{
	struct infer_file *f = mem_zalloc(MEM_FILE, 1, sizeof *f);

	if (f)
		f->path = mem_strndup(MEM_FILE, path, strlen(path));
	if (!f || !f->path) {
		mem_free(f);
		return err_set(err, INFER_ENOMEM, "%s: no memory", file_label(path));
	}
	*out = f;
	return INFER_OK;
}

static int open_known(struct infer_file *f, const struct os_stat *st, const unsigned char *head,
                      size_t n, infer_error *err)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (formats[i]->knows(f->path, st, head, n)) {
			f->format = formats[i];
			return formats[i]->open(f, err);
		}
	return file_refuse(f->path, head, n, err);
}

static int open_path(struct infer_file *f, infer_error *err)
{
	unsigned char head[FILE_HEAD];
	struct os_stat st;
	size_t n;

	TRY(os_look(&st, f->path, head, sizeof head, &n, err));
	return open_known(f, &st, head, n, err);
}

int infer_file_open(infer_file **out, const char *path, infer_error *err)
{
	return infer_file_open_watched(out, path, NULL, err);
}

int infer_file_open_watched(infer_file **out, const char *path, const struct infer_watch *w,
                            infer_error *err)
{
	struct infer_file *f;
	int rc;

	*out = NULL;
	if (!strcmp(path, DEMO_NAME)) {
		size_t n;
		const void *bytes = demo_get(&n);

		return infer_file_open_bytes(out, bytes, n, path, err);
	}
	TRY(new_file(&f, path, err));
	f->watch = w;
	rc = open_path(f, err);
	f->watch = NULL;
	if (rc)
		infer_file_close(&f);
	*out = f;
	return rc;
}

int infer_file_open_bytes(infer_file **out, const void *bytes, size_t n, const char *name,
                          infer_error *err)
{
	const struct os_stat memory = { .kind = OS_MEMORY, .bytes = n };
	struct infer_file *f;
	int rc;

	*out = NULL;
	if ((uintptr_t)bytes % 8)
		return err_set(err, INFER_EINVAL,
		               "%s: the address of a model in memory must be a multiple of 8",
		               file_label(name));
	TRY(new_file(&f, name, err));
	rc = add_shard(f, err);
	if (!rc) {
		f->shards[f->n_shards++] = (struct file_shard){ .at = bytes, .bytes = n };
		rc = open_known(f, &memory, bytes, n < FILE_HEAD ? n : FILE_HEAD, err);
	}
	if (rc)
		infer_file_close(&f);
	*out = f;
	return rc;
}

void infer_file_close(infer_file **f)
{
	if (!*f)
		return;
	file_drop(*f);
	mem_free((*f)->path);
	mem_free(*f);
	*f = NULL;
}

const char *infer_file_path(const infer_file *f) { return f->path; }

void infer_file_info(const infer_file *f, struct infer_file_info *info)
{
	*info = (struct infer_file_info){
		.format = f->format->name,
		.version = f->version,
		.n_shards = f->n_shards,
		.n_meta = f->meta.n,
		.n_tensors = f->n_tensors,
		.private_bytes = f->private_bytes,
	};
	for (int i = 0; i < f->n_shards; i++) {
		const struct file_shard *s = &f->shards[i];

		info->file_bytes += s->bytes;
		if (s->own) {
			info->packed_bytes += s->map.bytes;
			info->private_bytes += s->bytes;
		}
	}
}

int infer_file_gguf(const infer_file *f, struct infer_gguf_info *info, infer_error *err)
{
	*info = (struct infer_gguf_info){ 0 };
	if (f->format != &format_gguf)
		return err_set(err, INFER_EUNSUP, "%s: a file of the format %s, not gguf",
		               file_label(f->path), f->format->name);
	info->alignment = f->alignment;
	info->header_bytes = f->shards[0].header_bytes;
	return INFER_OK;
}

const struct infer_meta *infer_file_meta_at(const infer_file *f, uint64_t i)
{
	return i < f->meta.n ? &f->meta.at[i].meta : NULL;
}

const struct infer_meta *infer_file_meta(const infer_file *f, const char *key)
{
	return file_meta_get(&f->meta, key);
}

const struct infer_tensor *infer_file_tensor_at(const infer_file *f, uint64_t i)
{
	return i < f->n_tensors ? &f->tensors[i] : NULL;
}

const struct infer_tensor *infer_file_tensor(const infer_file *f, const char *name)
{
	const uint32_t *i = map_get(&f->tensor_map, name, strlen(name));

	return i ? &f->tensors[*i] : NULL;
}

/* Bytes processed between two calls of a watch. */
enum { WATCHED = 4 << 20 };

int infer_file_sha256(const infer_file *f, int shard, char hex[65], const struct infer_watch *w,
                      infer_error *err)
{
	struct sha256 s;
	uint8_t sum[32];
	uint64_t bytes;

	hex[0] = '\0';
	if (shard < 0 || shard >= f->n_shards)
		return err_set(err, INFER_EINVAL, "%s has %d files: there is no file %d",
		               file_label(f->path), f->n_shards, shard);
	os_file_want(&f->shards[shard].map, 0, f->shards[shard].map.bytes);
	sha256_init(&s);
	bytes = f->shards[shard].bytes;
	for (uint64_t at = 0, n; at < bytes; at += n) {
		n = num_min(WATCHED, (int64_t)(bytes - at));
		sha256_add(&s, f->shards[shard].at + at, n);
		file_tell(w, at + n, bytes);
	}
	sha256_end(&s, sum);
	sha256_hex(sum, hex);
	return INFER_OK;
}

int infer_file_check_unchanged(const infer_file *f, infer_error *err)
{
	for (int i = 0; i < f->n_shards; i++)
		if (os_file_changed(&f->shards[i].map))
			return err_set(err, INFER_EIO, "%s was modified while it was in use",
			               file_label(f->shards[i].path));
	return INFER_OK;
}

/* Return the offset of the first value that is not finite among n elements, or SIZE_MAX.  done,
 * all: bytes processed before and in total, for the watch. */
static size_t find_bad(const struct infer_tensor *t, const void *data, size_t n,
                       const struct infer_watch *w, uint64_t done, uint64_t all)
{
	const struct infer_type_info *info = infer_type_info(t->type);
	size_t blocks = n / (size_t)info->block, most = WATCHED / (size_t)info->block_bytes;

	for (size_t i = 0, k; i < blocks; i += k) {
		size_t from = i * (size_t)info->block_bytes, at;

		k = blocks - i < most ? blocks - i : most;
		at = type_find_bad(t->type, (const unsigned char *)data + from,
		                   k * (size_t)info->block);
		if (at != SIZE_MAX)
			return from + at;
		file_tell(w, done + from + k * (size_t)info->block_bytes, all);
	}
	return SIZE_MAX;
}

/* Apply find_bad to a whole tensor. */
static size_t find_bad_of(const struct infer_file *f, const struct infer_tensor *t,
                          const struct infer_watch *w, uint64_t done, uint64_t all)
{
	const void *const *parts = file_parts(f, t);
	int64_t mats = parts ? t->ne[2] : 1;
	size_t n = (size_t)t->ne[0] * (size_t)t->ne[1] * (size_t)t->ne[2] * (size_t)t->ne[3] /
	           (size_t)mats,
	       each = t->bytes / (size_t)mats;

	for (int64_t i = 0; i < mats; i++) {
		size_t at =
			find_bad(t, parts ? parts[i] : t->data, n, w, done + (size_t)i * each, all);
		if (at != SIZE_MAX)
			return (size_t)i * each + at;
	}
	return SIZE_MAX;
}

int infer_file_check_finite(const infer_file *f, const struct infer_watch *w, infer_error *err)
{
	char name[FILE_QUOTE];
	uint64_t done = 0, all = 0;

	for (uint32_t i = 0; i < f->n_tensors; i++)
		all += f->tensors[i].bytes;
	for (uint32_t i = 0; i < f->n_tensors; i++) {
		const struct infer_tensor *t = &f->tensors[i];
		const char *path = f->shards[t->shard].path;
		int apart = file_parts(f, t) != NULL, is_copy = file_is_copy(f, t);
		size_t at = find_bad_of(f, t, w, done, all);

		done += t->bytes;
		if (at != SIZE_MAX)
			return err_set(err, INFER_ENAN,
			               "%s: tensor %s: the %s weight at byte %zu%s is not finite",
			               file_label(path ? path : f->path),
			               file_quote(name, t->name.at, t->name.len),
			               infer_type_info(t->type)->name,
			               apart || is_copy ? at : (size_t)t->offset + at,
			               apart     ? " of its matrices"
			               : is_copy ? " of its copy"
			                         : "");
	}
	return INFER_OK;
}
