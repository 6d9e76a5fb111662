/* file/gguf.h - reading one shard of a GGUF file; for gguf.c and split.c. */
#ifndef FILE_GGUF_H
#define FILE_GGUF_H
#include "base/arena.h"
#include "file/file.h"

/* Check all of shard no. `shard` and append its tensors to f; its metadata goes to *meta
 * (file_meta_init'ed by the caller). */
int gguf_read(struct infer_file *f, int shard, struct file_meta *meta, const char *path,
              infer_error *err);

/* The size of a file by its header, of which the first n bytes are there, `at` on a multiple of 8
 * bytes.  bytes: with the padding behind the last tensor, which may not be there; or need: that
 * many of its bytes are wanted first. */
struct gguf_size {
	size_t need, bytes;
};
int gguf_measure(struct gguf_size *out, const unsigned char *at, size_t n, const char *path,
                 infer_error *err);

/* Like file_add_shard; a compressed file is unpacked. */
int gguf_add_shard(struct infer_file *f, const char *path, infer_error *err);

/* f's one shard says that it is one of a split file: begin again with the first of them, and take
 * all in. */
int gguf_read_split(struct infer_file *f, infer_error *err);
/* Storage of names that are not on disk: f->own, or NULL if there are none. */
struct gguf_names {
	struct arena mem;
	const char *note;
};
/* If f is a file of Ollama's converter that differs from the public converter's in names and keys alone, give its
 * keys and tensors the names of the latter.
 * INFER_EFORMAT: it has a name in both forms */
int gguf_read_ollama(struct infer_file *f, infer_error *err);
void gguf_close(struct infer_file *f);
#endif
