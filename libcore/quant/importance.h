/* quant/importance.h - (private) how much each column of a weight matrix matters: the mean
 * square of its inputs, from an importance matrix ("imatrix"). */
#ifndef QUANT_IMPORTANCE_H
#define QUANT_IMPORTANCE_H
#include <infer/file.h>

struct importance;
/* Read a file: GGUF with general.type "imatrix", or the older .dat.  Immutable.
 * INFER_EIO INFER_ENOMEM; INFER_EFORMAT: damaged, or a value that is negative or not finite */
int importance_open(struct importance **out, const char *path, infer_error *err);
void importance_free(struct importance *m); /* NULL is fine */

/* Return the values of a tensor [*n], borrowed: the columns of each of its matrices in turn.
 * NULL: none. */
const float *importance_get(const struct importance *m, struct infer_str tensor, size_t *n);
/* Return the smallest number of rows that a matrix of the tensor was measured over, and set
 * *matrix to that matrix. Infinite: the file does not record it; 0: it lacks the tensor. */
float importance_rows(const struct importance *m, struct infer_str tensor, uint64_t *matrix);
uint32_t importance_entries(const struct importance *m);
uint32_t importance_chunks(const struct importance *m); /* windows of text it was measured over */
struct infer_str importance_dataset(const struct importance *m); /* len 0: unknown */
/* The SHA-256 of all values, in hex. */
void importance_sha256(const struct importance *m, char hex[65]);

/* Compute the weight of the error of each element, for the encoder of the type.
 * src      f32 [n], the elements: whole blocks
 * columns  f32 [n], importance of the column of each element
 * w        f32 [n], out; may be columns */
void importance_weigh(float *w, int type, const float *src, const float *columns, size_t n);
/* Compute weights without importances: sigma2 + x^2, for the types in which that reduces the
 * divergence of models. Returns 0 and leaves w unchanged for other types. */
int importance_alone(float *w, int type, const float *src, size_t n);
#endif
