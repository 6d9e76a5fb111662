/* file/gguf_write.h - write a GGUF v3 file: keys and tensors are declared, then everything is
 * written at once to a temporary name in the same directory and renamed.  Confined.
 *
 *	gguf_write_new(&w, "out.gguf", err);
 *	gguf_write_str(w, "general.architecture", "llama", 5);
 *	gguf_write_tensor(w, "output.weight", INFER_Q4_K, 2, ne, make_rows, user, err);
 *	gguf_write_end(w, err);
 *	gguf_write_free(w); */
#ifndef FILE_GGUF_WRITE_H
#define FILE_GGUF_WRITE_H
#include <infer/file.h>
#include "base/buf.h"

struct gguf_write;

/* Fill dst with rows row ... row + n - 1 of a tensor (a row: ne[0] elements, in the tensor's type).
 * Called in order, each row once.  A failure ends the writing. */
typedef int gguf_rows_fn(void *user, int64_t row, int64_t n, void *dst, infer_error *err);

/* path is copied; INFER_ENOMEM */
int gguf_write_new(struct gguf_write **out, const char *path, infer_error *err);
/* NULL is fine.  Without gguf_write_end nothing is written. */
void gguf_write_free(struct gguf_write *w);

/* Add keys, in the order of the file.  gguf_write_end reports memory failures. */
void gguf_write_u16(struct gguf_write *w, const char *key, uint16_t v);
void gguf_write_u64(struct gguf_write *w, const char *key, uint64_t v);
void gguf_write_u32(struct gguf_write *w, const char *key, uint32_t v);
void gguf_write_i32(struct gguf_write *w, const char *key, int32_t v);
void gguf_write_f32(struct gguf_write *w, const char *key, float v);
void gguf_write_f64(struct gguf_write *w, const char *key, double v);
void gguf_write_bool(struct gguf_write *w, const char *key, int v);
void gguf_write_str(struct gguf_write *w, const char *key, const char *s, size_t n);
/* bytes: `count` elements, encoded as in the file; append strings with gguf_put_str */
void gguf_write_array(struct gguf_write *w, const char *key, int elem_type, uint64_t count,
                      const void *bytes, size_t n);
void gguf_put_str(struct buf *b, const char *s, size_t n);
/* Copy a key of another file, unchanged. */
void gguf_write_copy(struct gguf_write *w, const struct infer_meta *m);
/* Set the alignment, and add its key; 32 if it is not called. */
void gguf_write_alignment(struct gguf_write *w, uint32_t alignment);

/* Add a tensor, in the order of the file.  INFER_EINVAL: the name has 64 bytes or more, or a row is
 * not whole blocks. */
int gguf_write_tensor(struct gguf_write *w, const char *name, int type, int n_dims,
                      const int64_t *ne, gguf_rows_fn *rows, void *user, infer_error *err);

/* Write the tensors of f's first shard, table and data unchanged, instead of adding tensors.
 * Borrowed until gguf_write_free. */
void gguf_write_tensors_of(struct gguf_write *w, const infer_file *f);

/* Treat the path as a temporary name: replace any file or link, without keeping permissions. */
void gguf_write_temporary(struct gguf_write *w);

/* Return the bytes of the tensors so far, with padding: the offset of the next one's data. */
uint64_t gguf_write_data(const struct gguf_write *w);
/* Append the bytes of the file up to the data of the first tensor, for a caller that writes the
 * data itself.  INFER_ENOMEM */
int gguf_write_head(const struct gguf_write *w, struct buf *out, infer_error *err);

/* Write the file.  An existing file is replaced only when the new one is complete, and its owner
 * and permissions are kept (base/replace.h).  If the path is a link, its target is replaced.
 * INFER_EIO, INFER_ENOMEM, or the result of a rows function. */
int gguf_write_end(struct gguf_write *w, infer_error *err);
#endif
