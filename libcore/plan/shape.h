/* plan/shape.h (private) - building a shape. */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H
#include <infer/plan.h>

static inline double element_bytes(int type)
{
	const struct infer_type_info *t = infer_type_info(type);

	return (double)t->block_bytes / t->block;
}
enum { MOE_REGIONS = 5 }; /* parallel regions of a layer of experts */
/* Add one node, or count it with an equal one.  w->times must be 1, and unused bytes 0.
 * INFER_EUNSUP: there are too many kinds. */
int shape_add(struct infer_shape *s, const struct infer_work *w, infer_error *err);
/* Return the index in infer_machine.slots of a row operation of struct kern. */
int shape_slot(const char *name);
/* Return the type of rows of length k in a file that infer-quant makes in the type of a plan: the type, or one with
 * smaller blocks, as mix_fit. */
int shape_fit(int type, int64_t k);
/* Return the weights that a token is multiplied with. */
double shape_active_params(const struct infer_shape *s);
#endif
