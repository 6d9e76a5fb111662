/* infer/imatrix.h - importance matrix: how much each weight column matters.   floor: quant
 *
 * While a model reads a text, the squares of the inputs of every column of every weight matrix are
 * summed, and the rows counted; each expert has its own sums.  Confined.
 *
 * Only matrices of layers are measured, not the output matrix.  A text is cut into windows as for
 * infer/eval.h.  All tokens of a window count, except that the last one is not computed after the
 * attention of the last layer. */
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

int infer_imatrix_new(infer_imatrix **out, infer_error *err); /* INFER_ENOMEM */
void infer_imatrix_free(infer_imatrix *m);                    /* NULL is fine */
/* Return the observer to open the engine with; m must outlive the engine.  Open the engine without
 * a prefix cache: tokens from the cache are not computed, and so not counted. */
struct infer_observer infer_imatrix_observer(infer_imatrix *m);

/* A text to read from window `from` on; the sums change when a window is finished.
 * done: NULL, or called after each window; a result other than INFER_OK ends the reading. */
struct infer_imatrix_text {
	const int32_t *ids;
	size_t n_ids;
	int32_t window; /* 0: 512 */
	size_t from;
	int (*done)(void *user, size_t windows, size_t all, infer_error *err);
	void *user;
};
/* Read a text.  INFER_EINVAL: it is shorter than a window.  INFER_ENOMEM, INFER_ENAN, and codes of
 * `done` and of the engine */
int infer_imatrix_read(infer_imatrix *m, const infer_model *model, infer_engine *e,
                       const struct infer_imatrix_text *t, infer_error *err);

/* Add the sums of a file, GGUF or the older .dat.  A .dat file contains means over windows; these
 * count as windows of 512 tokens, or of the size in files added before.
 * INFER_EFORMAT: not an importance matrix, or damaged; a tensor's shape differs from that in a file
 *                added before.  Also fails as infer_file_open.  On failure m may have part of
 *                it. */
int infer_imatrix_add(infer_imatrix *m, const char *path, infer_error *err);
/* Set the name of the text to write to the file; copied.  Default: that of the file added first.
 * INFER_ENOMEM */
int infer_imatrix_name(infer_imatrix *m, const char *dataset, infer_error *err);
const char *infer_imatrix_dataset(const infer_imatrix *m); /* borrowed; "": none */
/* Write a file in GGUF form, in the order of names.
 * exact: 1: a temporary file with f64 sums, from which infer_imatrix_add continues exactly; a link
 * at path is replaced, not followed.
 * INFER_EIO INFER_ENOMEM */
int infer_imatrix_write(const infer_imatrix *m, const char *path, int exact, infer_error *err);

struct infer_imatrix_entry {
	const char *name;
	int64_t columns, matrices;
	const double *sums;   /* [matrices][columns] */
	const double *counts; /* [matrices] rows */
};
/* Get entry i in the order of names.  1: *e is filled, borrowed until m changes; 0: there is no
 * entry i. */
int infer_imatrix_entry(const infer_imatrix *m, size_t i, struct infer_imatrix_entry *e);
/* Statistics of an entry. */
struct infer_imatrix_sum {
	double least, most;          /* rows counted for a matrix */
	double mean_square, largest; /* mean over the columns; fraction in the largest */
};
void infer_imatrix_sum(struct infer_imatrix_sum *s, const struct infer_imatrix_entry *e);
/* Return the number of windows read; *window: tokens of each. */
uint64_t infer_imatrix_windows(const infer_imatrix *m, int32_t *window);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
