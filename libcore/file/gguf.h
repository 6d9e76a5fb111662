/* file/gguf.h - read one shard of a GGUF file; for gguf.c and split.c. */
#ifndef FILE_GGUF_H
#define FILE_GGUF_H
#include "base/arena.h"
#include "file/file.h"

/* Check all of shard `shard` and append its tensors to f, its metadata to *meta, which the caller
 * has initialised. */
int gguf_read(struct infer_file *f, int shard, struct file_meta *meta, const char *path,
              infer_error *err);

/* Compute the size of a file from its first n bytes; at: aligned to 8.
 * bytes: size of the file, including the padding after the last tensor, which the file may lack; 0:
 * the header is longer than n.  need: then, the bytes required for the next step. */
struct gguf_size {
	size_t need, bytes;
};
int gguf_measure(struct gguf_size *out, const unsigned char *at, size_t n, const char *path,
                 infer_error *err);

/* Like file_add_shard; a compressed file is unpacked. */
int gguf_add_shard(struct infer_file *f, const char *path, infer_error *err);

/* Read all shards of a split file in order.  f has one shard, which may be any of them. */
int gguf_read_split(struct infer_file *f, infer_error *err);
/* Storage of names that are not on disk: f->own; NULL: there are none. */
struct gguf_names {
	struct arena mem;
	const char *note;
};
/* If f was made by Ollama's converter and differs from the public converter's file in names and
 * keys alone, give its keys and tensors the names of the latter.
 * INFER_EFORMAT: a key or tensor exists under both names. */
int gguf_read_ollama(struct infer_file *f, infer_error *err);
void gguf_close(struct infer_file *f);
#endif
