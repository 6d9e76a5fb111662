/* infer-inspect/tensors.h - rows of the tensor table, and statistics of values. */
#ifndef INFER_INSPECT_TENSORS_H
#define INFER_INSPECT_TENSORS_H
#include "inspect.h"

/* Histogram of x / rms: bins of width 0.5 from -4 to 4; the first and the last include all values outside. */
enum { TENSOR_BINS = 16 };
struct tensor_stats {
	uint64_t n, bad, zeros, outliers; /* bad: not finite, left out of all other sums */
	double least, most, sum, squares;
	uint64_t bins[TENSOR_BINS];
};
struct row {
	const struct infer_tensor *t;
	struct tensor_stats s;
};

int tensor_stats(struct tensor_stats *s, const struct infer_tensor *t, infer_error *err);
double tensor_rms(const struct tensor_stats *s);
void tensor_stats_json(struct jwrite *w, const struct tensor_stats *s);
#define TENSOR_STATS_HEAD "      least        most         rms  outliers histogram        "
void tensor_stats_text(struct buf *out, const struct tensor_stats *s);
#endif
