/* infer-inspect/tensors.h - what the files of tensors share: a row of the table, and statistics. */
#ifndef INFER_INSPECT_TENSORS_H
#define INFER_INSPECT_TENSORS_H
#include "inspect.h"

/* Values by their distance from 0 in units of the root mean square: BINS of half a unit, the first and
 * last with all beyond 4. */
enum { TENSOR_BINS = 16 };
struct tensor_stats {
	uint64_t n, bad, zeros, outliers; /* bad: not finite, and not counted otherwise */
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
