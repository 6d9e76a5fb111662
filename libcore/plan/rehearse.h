/* plan/rehearse.h (private) - measure decode steps of a model with random weights. */
#ifndef PLAN_REHEARSE_H
#define PLAN_REHEARSE_H
#include <infer/plan.h>

struct rehearsal {
	int32_t layers,
		steps; /* the first layers, all if the model cannot be cut there; steps of a turn */
	double seconds; /* out: time of a step, median of the turns */
	/* out: positions that a row attends to on average; the shape of these layers */
	int64_t ctx;
	struct infer_shape shape;
};
/* Measure steps of r->layers layers on this machine, which is `on`.  Errors as infer_plan_rehearse. */
int rehearse_steps(struct rehearsal *r, const infer_model *m, const struct infer_machine *on,
                   const struct infer_setup *how, infer_error *err);
#endif
