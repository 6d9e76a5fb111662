/* quant/importance.h - (private) how much each column of a weight matrix matters: the mean square of
 * its inputs, from an importance matrix ("imatrix"). */
#ifndef QUANT_IMPORTANCE_H
#define QUANT_IMPORTANCE_H
#include <infer/file.h>

struct importance;
/* Read a file: GGUF with general.type "imatrix", or the older .dat.  Immutable.
 * INFER_EIO INFER_ENOMEM; INFER_EFORMAT: damaged, or a value that is negative or not finite */
int importance_open(struct importance **out, const char *path, infer_error *err);
void importance_free(struct importance *m); /* NULL is fine */

/* The values of a tensor, one matrix behind the other, borrowed; *n: how many.  NULL: none. */
const float *importance_get(const struct importance *m, struct infer_str tensor, size_t *n);
/* The rows that the matrix of a tensor with the fewest was measured over, and which it is; infinite
 * where the file does not say it, 0 where it lacks the tensor. */
float importance_rows(const struct importance *m, struct infer_str tensor, uint64_t *matrix);
uint32_t importance_entries(const struct importance *m);
uint32_t importance_chunks(const struct importance *m); /* of text that it was measured over */
struct infer_str importance_dataset(const struct importance *m); /* len 0: not known */
/* of all values, in hex */
void importance_sha256(const struct importance *m, char hex[65]);

/* What an error of each of n values of src costs in a block of the type, for its encoder.
 * columns  f32 [n], the values of the columns
 * w        f32 [n], out */
void importance_weigh(float *w, int type, const float *src, const float *columns, size_t n);
/* The same where no importances are known: in types whose models diverge less so, errors of large
 * weights cost more, by their square.  0: this type has none, and w is as it was. */
int importance_alone(float *w, int type, const float *src, size_t n);
#endif
