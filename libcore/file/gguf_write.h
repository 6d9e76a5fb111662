/* file/gguf_write.h - writing a GGUF v3 file: keys and tensors are told, then everything is written
 * in one go to a temporary name beside the path and renamed.  Confined.
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

/* Fill dst with rows row ... row + n - 1 of a tensor (a row: ne[0] elements, in the tensor's type);
 * called in order, each row once.  A failure ends the writing. */
typedef int gguf_rows_fn(void *user, int64_t row, int64_t n, void *dst, infer_error *err);

/* path is copied; INFER_ENOMEM */
int gguf_write_new(struct gguf_write **out, const char *path, infer_error *err);
/* NULL is fine; without gguf_write_end nothing was written */
void gguf_write_free(struct gguf_write *w);

/* Keys, in the order of the file.  Running out of memory is told by gguf_write_end. */
void gguf_write_u16(struct gguf_write *w, const char *key, uint16_t v);
void gguf_write_u64(struct gguf_write *w, const char *key, uint64_t v);
void gguf_write_u32(struct gguf_write *w, const char *key, uint32_t v);
void gguf_write_i32(struct gguf_write *w, const char *key, int32_t v);
void gguf_write_f32(struct gguf_write *w, const char *key, float v);
void gguf_write_f64(struct gguf_write *w, const char *key, double v);
void gguf_write_bool(struct gguf_write *w, const char *key, int v);
void gguf_write_str(struct gguf_write *w, const char *key, const char *s, size_t n);
/* bytes: count elements in the layout of the file; strings are written by gguf_put_str */
void gguf_write_array(struct gguf_write *w, const char *key, int elem_type, uint64_t count,
                      const void *bytes, size_t n);
void gguf_put_str(struct buf *b, const char *s, size_t n);
/* of another file, as it is */
void gguf_write_copy(struct gguf_write *w, const struct infer_meta *m);
/* and its key; 32 where it is not called */
void gguf_write_alignment(struct gguf_write *w, uint32_t alignment);

/* A tensor, in the order of the file.  INFER_EINVAL: a name of 64 bytes or more, rows that are no
 * whole blocks. */
int gguf_write_tensor(struct gguf_write *w, const char *name, int type, int n_dims,
                      const int64_t *ne, gguf_rows_fn *rows, void *user, infer_error *err);

/* In place of tensors that are told: those of the first file of f, table and data as they are.
 * Borrowed until gguf_write_free. */
void gguf_write_tensors_of(struct gguf_write *w, const infer_file *f);

/* The path is a temporary name: whatever has it is replaced, also a link, and passes nothing on. */
void gguf_write_temporary(struct gguf_write *w);

/* The bytes of the tensors so far, with their padding: where the data of the next one begins. */
uint64_t gguf_write_data(const struct gguf_write *w);
/* The bytes of the file up to the data of the first tensor, for a caller that writes the data itself.
 * INFER_ENOMEM */
int gguf_write_head(const struct gguf_write *w, struct buf *out, infer_error *err);

/* Write it all: a file that is there already is replaced only when the new one is whole, and keeps its
 * owner and permissions (base/replace.h).  If the path is a link, that is the file it leads to.
 * INFER_EIO, INFER_ENOMEM, or what a rows function returned. */
int gguf_write_end(struct gguf_write *w, infer_error *err);
#endif
