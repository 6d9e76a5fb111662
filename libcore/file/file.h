/* file/file.h - what the formats and the typed access share: the open file.  Immutable once
 * open. */
#ifndef FILE_FILE_H
#define FILE_FILE_H
#include <infer/file.h>
#include "base/map.h"
#include "base/os.h"

struct file_shard {
	struct os_file map; /* zero where the bytes are somebody else's */
	char *path;         /* NULL there */
	void *own;          /* of a compressed file: what it is unpacked into; map.at is NULL */
	size_t own_bytes;
	const unsigned char *at;
	size_t bytes, header_bytes; /* header: metadata and tensor table */
};

/* A key and its value as GGUF packs values, which is how every format gives them: numbers
 * little-endian and unaligned, a string as its length, u64, and its bytes; elements without a head.
 * mark: where every FILE_MARK-th string of an array begins, but the first; NULL: to be walked to. */
enum { FILE_MARK = 64 };
struct file_value {
	struct infer_meta meta; /* first: a pointer to it is one to its value */
	const unsigned char *at;
	size_t bytes;
	size_t *mark; /* owned */
};

/* the metadata of one shard, in file order */
struct file_meta {
	struct file_value *at;
	uint32_t n, cap;
	struct map map; /* key -> index */
};

/* The digests of infer_file_id and infer_file_is, computed at the first call of one of them: the only
 * part of an open file that changes. */
struct file_ids {
	_Atomic int state; /* of id.c; 0: not computed */
	char id[65], older[65];
};

struct format;
struct infer_file {
	const struct format *format;
	char *path; /* of the first shard */
	struct file_shard *shards;
	int n_shards;
	struct file_meta meta; /* of the first shard */
	struct infer_tensor *tensors;
	uint32_t n_tensors, cap_tensors;
	struct map tensor_map; /* name -> index */
	uint32_t version;
	uint64_t alignment;     /* GGUF only: of the first shard */
	void *own;              /* of the format, which frees it in close */
	uint64_t private_bytes; /* of tensors that are copies, not in a shard */
	/* [n_tensors] the ne[2] matrices of each tensor whose data is NULL; NULL: there is none; of the
	 * format */
	const void *const *const *parts;
	void *gathered; /* of infer_file_gather */
	size_t gathered_bytes;
	const char *const *notes; /* [n_notes] sentences about how it was opened, for -v */
	int n_notes;
	const struct infer_watch *watch; /* while it is opened; may be NULL */
	struct file_ids ids;
};

/* One row per format. */
struct format {
	const char *name;
	/* Nonzero if this format opens path.  st: the kind of file, OS_MEMORY for bytes without
	 * one; head: its first n bytes, at most FILE_HEAD, and none for a directory. */
	int (*knows)(const char *path, const struct os_stat *st, const unsigned char *head,
	             size_t n);
	/* Map what belongs to f->path with file_add_shard, one file or several, and check it whole.
	 * Bytes in memory are f's first shard already. */
	int (*open)(struct infer_file *f, infer_error *err);
	void (*close)(struct infer_file *f); /* NULL: there is nothing of its own */
};
enum { FILE_HEAD = 4096 };

#define FORMAT(x) extern const struct format format_##x;
#include "file/format_list.h"
#undef FORMAT

/* Fail for a file that no format knows.  The message says what kind of file its first bytes show,
 * and what helps.  INFER_EUNSUP: a known kind; INFER_EFORMAT: any other */
int file_refuse(const char *path, const unsigned char *head, size_t n, infer_error *err);

/* mapped, the last of f->shards */
int file_add_shard(struct infer_file *f, const char *path, infer_error *err);
/* *s, which was one of f's, as the last of them; on success it is zero. */
int file_take_shard(struct infer_file *f, struct file_shard *s, infer_error *err);
void file_drop_shard(struct file_shard *s); /* a zeroed *s is fine */
static inline void file_tell(const struct infer_watch *w, uint64_t done, uint64_t all)
{
	if (w && w->fn)
		w->fn(w->user, done, all);
}
/* The matrices of t, if they are apart; else NULL. */
static inline const void *const *file_parts(const struct infer_file *f,
                                            const struct infer_tensor *t)
{
	return t->data || !f->parts ? NULL : f->parts[t - f->tensors];
}
/* Bytes [from, from + n) of the data of t: where they are, or copied to room if they are in several
 * matrices that are apart. */
const void *file_span(const struct infer_file *f, const struct infer_tensor *t, size_t from,
                      size_t n, void *room);
/* True if the data of t is a copy in private memory, not that of its shard as it is on disk. */
static inline int file_is_copy(const struct infer_file *f, const struct infer_tensor *t)
{
	const struct file_shard *s = &f->shards[t->shard];

	return s->own || (t->data && (const unsigned char *)t->data != s->at + t->offset);
}
/* Unmap it; a large mapping is taken down on several cores. */
void file_unmap(struct os_file *f);
void file_drop(struct infer_file *f); /* back to a file without shards, metadata and tensors */

int file_meta_init(struct file_meta *m, infer_error *err);
void file_meta_fini(struct file_meta *m); /* a zeroed *m is fine */
/* A copy of *v behind the others.  INFER_EFORMAT where its key is there already (the caller says
 * so), INFER_ENOMEM. */
int file_meta_add(struct file_meta *m, const struct file_value *v);
const struct infer_meta *file_meta_get(const struct file_meta *m, const char *key);
static inline const struct file_value *file_value(const struct infer_meta *m)
{
	return (const struct file_value *)m;
}
extern const uint8_t file_meta_size[]; /* [INFER_META_...] bytes of an element; 0: not fixed */
int file_tensor_add(struct infer_file *f, const struct infer_tensor *t); /* the same */
/* Give back what the tables have over; from here on tensors stay where they are. */
void file_trim(struct infer_file *f);
/* Tensor `companion` is that of `of` in its role.  After file_trim. */
/* Call it for all: "X.scale" and "X.order" are those of "X.weight" if both exist. */
void file_find_aux(struct infer_file *f);
void file_aux(struct infer_file *f, const struct infer_tensor *of, enum infer_aux role,
              const struct infer_tensor *companion);

/* Text of a file for a message: printable ASCII as it is, other bytes as \xNN, cut with "..." to
 * what fits; returns out. */
enum { FILE_QUOTE = 80 };
const char *file_quote(char out[FILE_QUOTE], const char *s, size_t n);
/* The end of a long path, so that a message has room for the error.
 * Borrowed from path. */
const char *file_label(const char *path);
#endif
