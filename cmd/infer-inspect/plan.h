/* infer-inspect/plan.h - what the files of plan share: what was asked, what comes of it, and what would
 * be better. */
#ifndef INFER_INSPECT_PLAN_H
#define INFER_INSPECT_PLAN_H
#include <infer/plan.h>
#include "inspect.h"

enum { STRATEGIES = 3 };

/* A way to run the model. */
struct strategy {
	int type; /* of the weights; -1: as the file is */
	struct infer_plan_ask ask;
	struct infer_plan plan;
	const char *aim; /* what it is the best in */
	char why[200];
};
struct planned {
	const struct inspect_opts *o;
	const struct infer_machine *m;
	infer_model *model;
	const char *path;
	struct infer_shape shape;
	int type; /* of most weights of the file */
	struct strategy asked;
	/* with --device cuda: what the engine takes there, and of the host */
	struct infer_engine_need on_gpu;
	struct strategy best[STRATEGIES];
	int n_best, fits; /* fits: some strategy does */
	struct strategy
		near; /* where nothing is asked that fits: the nearest that does; type -2: none */
};

/* plan_best.c: fill best, n_best, fits and near of what was asked */
void plan_best(struct planned *p);
const char *plan_type_name(int type); /* as infer-quant --type takes it */
/* plan_text.c, plan_json.c */
void plan_text(struct buf *out, const struct planned *p);
void plan_json(struct buf *out, const struct planned *p);
/* plan_table.c */
int plan_table(struct buf *out, struct planned *p, infer_error *err);
/* plan_lines.c: the command lines of a strategy */
void plan_quant_line(struct buf *out, const struct planned *p, const struct strategy *s);
void plan_run_line(struct buf *out, const struct planned *p, const struct strategy *s);
void plan_serve_line(struct buf *out, const struct planned *p, const struct strategy *s);
/* Which engine would be better on that hardware, and why; NULL: none that is known. */
const char *plan_other_engine(const struct planned *p);
#endif
