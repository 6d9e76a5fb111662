/* file/file.h - the open file, shared by the formats and the typed access.  Immutable once open. */
#ifndef FILE_FILE_H
#define FILE_FILE_H
#include <infer/file.h>
#include "base/map.h"
#include "base/os.h"

struct file_shard {
	struct os_file map; /* mapped file; zero if the bytes are the caller's */
	char *path;         /* NULL if the bytes are the caller's */
	void *own;          /* unpacked bytes of a compressed file, whose map.at is NULL */
	size_t own_bytes;
	const unsigned char *at;
	size_t bytes, header_bytes; /* header_bytes: metadata and tensor table */
};

/* A key and its value in GGUF's packing, which every format produces: numbers little-endian and
 * unaligned; a string is its length, u64, and its bytes; array elements have no header.
 * mark: offsets of the strings FILE_MARK, 2 * FILE_MARK ... of an array; NULL: none. */
enum { FILE_MARK = 64 };
struct file_value {
	struct infer_meta meta; /* first: can be cast to its file_value */
	const unsigned char *at;
	size_t bytes;
	size_t *mark; /* owned; see above */
};

/* The metadata of one shard, in file order. */
struct file_meta {
	struct file_value *at;
	uint32_t n, cap;
	struct map map; /* key -> index in at */
};

/* The ids of infer_file_id and infer_file_is, computed by the first call.  Nothing else in an open
 * file changes. */
struct file_ids {
	_Atomic int state; /* enum state of id.c; 0: not computed */
	char id[65], older[65];
};

struct format;
struct infer_file {
	const struct format *format;
	char *path; /* path of the first shard */
	struct file_shard *shards;
	int n_shards;
	struct file_meta meta; /* metadata of the first shard */
	struct infer_tensor *tensors;
	uint32_t n_tensors, cap_tensors;
	struct map tensor_map; /* name -> index in tensors */
	uint32_t version;
	uint64_t alignment;     /* GGUF: alignment of the first shard */
	void *own;              /* data of the format, which its close frees */
	uint64_t private_bytes; /* bytes of tensors that are copied, not mapped */
	/* [n_tensors] the ne[2] matrices of each tensor whose data is NULL because they are not
	 * contiguous; NULL: no such tensor.  Owned by the format */
	const void *const *const *parts;
	void *gathered; /* memory of infer_file_gather */
	size_t gathered_bytes;
	const char *const *notes; /* [n_notes] sentences about the opening, for -v */
	int n_notes;
	const struct infer_watch *watch; /* used during the opening; may be NULL */
	struct file_ids ids;
};

/* One row per format. */
struct format {
	const char *name;
	/* True if this format opens path.  st: kind of file, OS_MEMORY for bytes without a file;
	 * head: its first n bytes, at most FILE_HEAD, none for a directory. */
	int (*knows)(const char *path, const struct os_stat *st, const unsigned char *head,
	             size_t n);
	/* Map the files of f->path with file_add_shard, and check all of them.  Bytes in memory are
	 * f's first shard already. */
	int (*open)(struct infer_file *f, infer_error *err);
	void (*close)(struct infer_file *f); /* NULL: nothing to free */
};
enum { FILE_HEAD = 4096 };

#define FORMAT(x) extern const struct format format_##x;
#include "file/format_list.h"
#undef FORMAT

/* Fail for a file of no known format.  The message names its kind, found by its first bytes, and
 * what to do.
 * INFER_EUNSUP: a known kind; INFER_EFORMAT: any other. */
int file_refuse(const char *path, const unsigned char *head, size_t n, infer_error *err);

/* Map a file and append it to f->shards. */
int file_add_shard(struct infer_file *f, const char *path, infer_error *err);
/* Append the shard *s, which was removed from f before.  Zeroes *s on success. */
int file_take_shard(struct infer_file *f, struct file_shard *s, infer_error *err);
void file_drop_shard(struct file_shard *s); /* a zeroed *s is fine */
static inline void file_tell(const struct infer_watch *w, uint64_t done, uint64_t all)
{
	if (w && w->fn)
		w->fn(w->user, done, all);
}
/* Return the matrices of t if they are not contiguous, else NULL. */
static inline const void *const *file_parts(const struct infer_file *f,
                                            const struct infer_tensor *t)
{
	return t->data || !f->parts ? NULL : f->parts[t - f->tensors];
}
/* Return bytes [from, from + n) of the data of t: in place, or copied to room if they are in
 * several separate matrices. */
const void *file_span(const struct infer_file *f, const struct infer_tensor *t, size_t from,
                      size_t n, void *room);
/* True if the data of t is a copy in private memory, not mapped from its shard. */
static inline int file_is_copy(const struct infer_file *f, const struct infer_tensor *t)
{
	const struct file_shard *s = &f->shards[t->shard];

	return s->own || (t->data && (const unsigned char *)t->data != s->at + t->offset);
}
/* Unmap a file; a large one on several cores. */
void file_unmap(struct os_file *f);
void file_drop(struct infer_file *f); /* free shards, metadata and tensors */

int file_meta_init(struct file_meta *m, infer_error *err);
void file_meta_fini(struct file_meta *m); /* a zeroed *m is fine */
/* Append a copy of *v.  INFER_EFORMAT: its key exists (without a message), INFER_ENOMEM. */
int file_meta_add(struct file_meta *m, const struct file_value *v);
const struct infer_meta *file_meta_get(const struct file_meta *m, const char *key);
static inline const struct file_value *file_value(const struct infer_meta *m)
{
	return (const struct file_value *)m;
}
extern const uint8_t file_meta_size[]; /* [INFER_META_...] bytes of an element; 0: not fixed */
int file_tensor_add(struct infer_file *f, const struct infer_tensor *t); /* errors as above */
/* Free unused memory of the tables; afterwards tensors do not move. */
void file_trim(struct infer_file *f);
/* After file_trim, record auxiliary tensors.  file_find_aux: "X.scale" and "X.order" belong to
 * "X.weight", if both exist.  file_aux: `companion` belongs to `of`. */
void file_find_aux(struct infer_file *f);
void file_aux(struct infer_file *f, const struct infer_tensor *of, enum infer_aux role,
              const struct infer_tensor *companion);

/* Format text of a file for a message: printable ASCII unchanged, other bytes as \xNN, cut with
 * "..." to fit; returns out. */
enum { FILE_QUOTE = 80 };
const char *file_quote(char out[FILE_QUOTE], const char *s, size_t n);
/* Return the end of a long path, so that a message has room for the error.  Borrowed from path. */
const char *file_label(const char *path);
#endif
