/* infer/imatrix.h - how much the columns of weight matrices matter.   floor: quant
 *
 * While a model reads a text, an importance matrix adds up the squares of the inputs of every
 * column of every weight matrix, and counts the rows; each expert of a stack has its own sums.
 * Confined.
 *
 * Only the matrices of layers are measured, not the output matrix.  A text is cut into windows as
 * infer/eval.h says.  All tokens of a window are counted, except that the last one is not computed
 * after the attention of the last layer. */
#ifndef INFER_IMATRIX_H
#define INFER_IMATRIX_H
#include <stddef.h>
#include <stdint.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/observe.h>
#include <infer/status.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_imatrix infer_imatrix;

int infer_imatrix_new(infer_imatrix **out, infer_error *err);
void infer_imatrix_free(infer_imatrix *m); /* NULL is fine */
/* The observer to open the engine with; m must outlive the engine.  The engine should have no
 * prefix cache: tokens that come from the cache are not computed, and so not counted. */
struct infer_observer infer_imatrix_observer(infer_imatrix *m);

/* Read the windows of a text from number `from` on; the sums change when a window is finished.
 * done   NULL, or called after each window; a value other than INFER_OK ends the reading
 * INFER_EINVAL  a text shorter than a window; INFER_ENOMEM; INFER_ENAN */
struct infer_imatrix_text {
	const int32_t *ids;
	size_t n_ids;
	int32_t window; /* 0: 512 */
	size_t from;
	int (*done)(void *user, size_t windows, size_t all, infer_error *err);
	void *user;
};
int infer_imatrix_read(infer_imatrix *m, const infer_model *model, infer_engine *e,
                       const struct infer_imatrix_text *t, infer_error *err);

/* Add the sums of a file, in GGUF form or in the older one, .dat, which has means over windows: of
 * 512 tokens, or as many as the files before had.
 * INFER_EFORMAT  no importance matrix, or damaged; a tensor of another shape than those before */
int infer_imatrix_add(infer_imatrix *m, const char *path, infer_error *err);
/* Set the name of the text that the file will have; copied.  Default: that of the file added first.
 * INFER_ENOMEM */
int infer_imatrix_name(infer_imatrix *m, const char *dataset, infer_error *err);
const char *infer_imatrix_dataset(const infer_imatrix *m); /* borrowed */
/* Write a file in GGUF form, in the order of names.
 * exact: 1: a temporary file: sums as f64, so that reading them again continues where they were; a
 *        link at path is replaced, not followed */
int infer_imatrix_write(const infer_imatrix *m, const char *path, int exact, infer_error *err);

struct infer_imatrix_entry {
	const char *name;
	int64_t columns, matrices;
	const double *sums;   /* [matrices][columns] */
	const double *counts; /* [matrices] rows */
};
/* Entry i in the order of names; 0: there are no more. */
int infer_imatrix_entry(const infer_imatrix *m, size_t i, struct infer_imatrix_entry *e);
/* Statistics of an entry. */
struct infer_imatrix_sum {
	double least, most;          /* rows of a matrix */
	double mean_square, largest; /* of the columns; the share of the largest column */
};
void infer_imatrix_sum(struct infer_imatrix_sum *s, const struct infer_imatrix_entry *e);
uint64_t infer_imatrix_windows(const infer_imatrix *m, int32_t *window);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
