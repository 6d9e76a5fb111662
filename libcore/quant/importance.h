/* quant/importance.h - (private) importances of the columns of weight matrices: mean squares of
 * their inputs, read from an importance matrix ("imatrix"). */
#ifndef QUANT_IMPORTANCE_H
#define QUANT_IMPORTANCE_H
#include <infer/file.h>

struct importance;
/* Read a file: GGUF with general.type "imatrix", or the older .dat.  Immutable.
 * INFER_EIO INFER_ENOMEM; INFER_EFORMAT: damaged, or a value that is negative or not finite */
int importance_open(struct importance **out, const char *path, infer_error *err);
void importance_free(struct importance *m); /* NULL is fine */

/* Return the *n importances of a tensor, borrowed: the columns of its first matrix, then of the
 * next ones.  NULL: the tensor has none. */
const float *importance_get(const struct importance *m, struct infer_str tensor, size_t *n);
/* Return the number of rows that the least measured matrix of the tensor was measured over.  Sets
 * *matrix to its index.  Infinity: the file does not record it; 0: it lacks the tensor. */
float importance_rows(const struct importance *m, struct infer_str tensor, uint64_t *matrix);
uint32_t importance_entries(const struct importance *m);
uint32_t importance_chunks(const struct importance *m);          /* number of windows measured */
struct infer_str importance_dataset(const struct importance *m); /* len 0: no name */
/* Compute the SHA-256 of all values, in hex. */
void importance_sha256(const struct importance *m, char hex[65]);

/* Compute the weight of each element's squared error, for the encoder of the type.
 * src      f32 [n], the elements: whole blocks
 * columns  f32 [n], importance of each element's column
 * w        f32 [n], out; may be columns */
void importance_weigh(float *w, int type, const float *src, const float *columns, size_t n);
/* Compute weights without importances: the mean square of the block, scaled, plus x^2 for element
 * x.  Returns 0, with w unchanged, for types in which that does not reduce the divergence. */
int importance_alone(float *w, int type, const float *src, size_t n);
#endif
