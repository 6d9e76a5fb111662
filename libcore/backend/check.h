/* backend/check.h - checks of graphs and steps that all backends share. */
#ifndef BACKEND_CHECK_H
#define BACKEND_CHECK_H
#include "backend/backend.h"

struct backend_checked {
	int64_t n_ids; /* limit of token ids: rows of the smallest table that they index */
	int has_edges; /* 1: the graph has RECV or SEND */
	int n_weights;
};
/* Check the graph, shapes and types of weights, RoPE tables and sizes of m.  INFER_EINVAL: they
 * contradict each other; INFER_EUNSUP names an operation or a type that no backend supports. */
int backend_check(struct backend_checked *out, const struct backend_model *m,
                  const struct backend_size *size, infer_error *err);
/* Check that m has all that an adapter changes, with the same shapes, in products, tables and norms.
 * INFER_EUNSUP: an operation that no adapter changes; INFER_EINVAL: a shape, a rank or a type. */
int backend_check_adapter(const struct backend_model *m, const struct backend_adapter *a,
                          infer_error *err);
/* Refuse adapters for a kind that cannot apply them.  INFER_EUNSUP names it. */
int backend_check_rank(const struct backend_size *size, const char *name, infer_error *err);
/* Check runs, ids and output rows of a step.  INFER_EINVAL: an error in the engine. */
int backend_check_step(const struct backend_checked *c, const struct backend_size *size,
                       const struct backend_step *s, infer_error *err);
/* Check s->want for the backend `name`, with at most `top` tokens a row (0: no TOP).
 * INFER_EUNSUP names what the backend does not compute. */
int backend_check_wants(const struct backend_step *s, const char *name, int top, infer_error *err);
#endif
