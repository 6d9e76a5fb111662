/* file/gguf.h - read one shard of a GGUF file; for gguf.c and split.c. */
#ifndef FILE_GGUF_H
#define FILE_GGUF_H
#include "base/arena.h"
#include "file/file.h"

/* Check all of shard `shard` and append its tensors to f, its metadata to *meta (initialised by the
 * caller). */
int gguf_read(struct infer_file *f, int shard, struct file_meta *meta, const char *path,
              infer_error *err);

/* Compute the size of a file from the first n bytes of its header; at: a multiple of 8.  bytes:
 * with the padding after the last tensor, which may be missing in the file; 0: need is set, the
 * bytes required to go on. */
struct gguf_size {
	size_t need, bytes;
};
int gguf_measure(struct gguf_size *out, const unsigned char *at, size_t n, const char *path,
                 infer_error *err);

/* Like file_add_shard; a compressed file is unpacked. */
int gguf_add_shard(struct infer_file *f, const char *path, infer_error *err);

/* Read a split file; f's one shard is part of it: start again with its first shard, and add all. */
int gguf_read_split(struct infer_file *f, infer_error *err);
/* Storage of names that are not on disk: f->own, or NULL if there are none. */
struct gguf_names {
	struct arena mem;
	const char *note;
};
/* If f was made by Ollama's converter and differs from the public converter's file in names and
 * keys alone, give its keys and tensors the names of the latter.
 * INFER_EFORMAT: a name in both forms. */
int gguf_read_ollama(struct infer_file *f, infer_error *err);
void gguf_close(struct infer_file *f);
#endif
