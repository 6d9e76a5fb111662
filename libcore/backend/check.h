/* backend/check.h - what every backend checks before it uses a graph or a step. */
#ifndef BACKEND_CHECK_H
#define BACKEND_CHECK_H
#include "backend/backend.h"

struct backend_checked {
	int64_t n_ids; /* rows of the smallest table that token ids choose from */
	int has_edges; /* the graph has RECV or SEND */
};
/* Check a graph with its weights, frequency tables and sizes.  INFER_EINVAL: they contradict each
 * other; INFER_EUNSUP names an operation or a type that no backend computes. */
int backend_check(struct backend_checked *out, const struct backend_model *m,
                  const struct backend_size *size, infer_error *err);
/* Check a step.  INFER_EINVAL: the engine passed a wrong one, a bug of ours. */
int backend_check_step(const struct backend_checked *c, const struct backend_size *size,
                       const struct backend_step *s, infer_error *err);
/* Check what rows want of the backend `name`, which gives at most `top` tokens of a row (0: want TOP
 * is refused).  INFER_EUNSUP: it does not compute that. */
int backend_check_wants(const struct backend_step *s, const char *name, int top, infer_error *err);
#endif
