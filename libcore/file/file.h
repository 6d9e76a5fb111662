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
	const unsigned char *at;
	size_t bytes, header_bytes; /* header: metadata and tensor table */
};

/* the metadata of one shard, in file order */
struct file_meta {
	struct infer_meta *at;
	uint32_t n, cap;
	struct map map; /* key -> index */
};

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
	uint64_t alignment; /* of the first shard */
};

/* One row per format.  open finds f with its one shard mapped, and checks it whole; it may take
 * others in. */
struct format {
	const char *name;
	int (*knows)(const unsigned char *at, size_t n); /* by its magic: nonzero is yes */
	int (*open)(struct infer_file *f, infer_error *err);
};

#define FORMAT(x) extern const struct format format_##x;
#include "file/format_list.h"
#undef FORMAT

/* mapped, the last of f->shards */
int file_add_shard(struct infer_file *f, const char *path, infer_error *err);
void file_drop(struct infer_file *f); /* back to a file without shards, metadata and tensors */

int file_meta_init(struct file_meta *m, infer_error *err);
void file_meta_fini(struct file_meta *m); /* a zeroed *m is fine */
/* A copy of *v behind the others.  INFER_EFORMAT where its key is there already (the caller says
 * so), INFER_ENOMEM. */
int file_meta_add(struct file_meta *m, const struct infer_meta *v);
const struct infer_meta *file_meta_get(const struct file_meta *m, const char *key);
int file_tensor_add(struct infer_file *f, const struct infer_tensor *t); /* the same */
void file_trim(struct infer_file *f); /* give back what the tables have over */

/* Text of a file for a message: printable ASCII as it is, other bytes as \xNN, cut with "..." to
 * what fits; returns out. */
enum { FILE_QUOTE = 80 };
const char *file_quote(char out[FILE_QUOTE], const char *s, size_t n);
/* Where a path is long, the end of it, so that a message keeps room for what is wrong; borrowed
 * from path. */
const char *file_label(const char *path);
#endif
