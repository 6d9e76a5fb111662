/* infer-inspect/plan.h - shared by the files of plan: the plan of the model as it is, and better
 * ways to run it. */
#ifndef INFER_INSPECT_PLAN_H
#define INFER_INSPECT_PLAN_H
#include <infer/plan.h>
#include "inspect.h"

enum { STRATEGIES = 3 };

/* Values of strategy.type that are not a weight type. */
enum { TYPE_OF_FILE = -1, TYPE_NONE = -2 };

/* A way to run the model. */
struct strategy {
	int type; /* type of quantised weights; TYPE_OF_FILE: as in the file */
	struct infer_plan_ask ask;
	struct infer_plan plan;
	const char *aim; /* the aim it was chosen for, one of aims[] */
	char why[200];
};
struct planned {
	const struct inspect_opts *o;
	const struct infer_machine *m;
	infer_model *model;
	const char *path;
	struct infer_shape shape;
	int type; /* type that most weights of the file have */
	struct strategy asked;
	/* with --device cuda: memory of the engine on the GPU and on the host */
	struct infer_engine_need on_gpu;
	struct strategy best[STRATEGIES];
	int n_best, fits;     /* fits: 1 if any strategy fits into memory */
	struct strategy near; /* if none fits: the nearest that does; type TYPE_NONE: none */
};

/* Search for better strategies: set best, n_best, fits and near of *p (plan_best.c). */
void plan_best(struct planned *p);
const char *plan_type_name(int type); /* value for infer-quant --type */
/* plan_text.c, plan_json.c */
void plan_text(struct buf *out, const struct planned *p);
void plan_json(struct buf *out, const struct planned *p);
/* plan_table.c */
int plan_table(struct buf *out, struct planned *p, infer_error *err);
/* Append a command line of a strategy, with its line break (plan_lines.c). */
void plan_quant_line(struct buf *out, const struct planned *p, const struct strategy *s);
void plan_run_line(struct buf *out, const struct planned *p, const struct strategy *s);
void plan_serve_line(struct buf *out, const struct planned *p, const struct strategy *s);
/* Name an engine that would run better on that hardware, and why; NULL: none is known. */
const char *plan_other_engine(const struct planned *p);
#endif
