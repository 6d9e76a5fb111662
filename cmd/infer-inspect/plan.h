/* infer-inspect/plan.h - shared by the files of plan: the plan of the model as it is, and better
 * ways to run it. */
#ifndef INFER_INSPECT_PLAN_H
#define INFER_INSPECT_PLAN_H
#include <infer/dims.h>
#include <infer/plan.h>
#include "inspect.h"

/* aims of strategies; one more strategy may need another engine */
enum { AIMS = 3, STRATEGIES = AIMS + 1 };

/* Values of strategy.type that are not a weight type. */
enum { TYPE_OF_FILE = -1, TYPE_NONE = -2 };

/* The program that runs a strategy. */
enum runs {
	RUNS_HERE, /* this build */
	RUNS_CUDA, /* a build of this program with CUDA */
	RUNS_OTHER /* another engine */
};
enum grade { RUNS_WELL, RUNS_SLOWLY, RUNS_HARDLY, RUNS_UNKNOWN };

/* A way to run the model. */
struct strategy {
	int type; /* type of quantised weights; TYPE_OF_FILE: as in the file */
	struct infer_plan_ask ask;
	struct infer_plan plan;
	double loss;     /* published increase of perplexity by the type, per cent */
	int runs;        /* enum runs */
	const char *aim; /* the aim it was chosen for, one of aims[] */
	char why[200];
};
struct planned {
	const struct inspect_opts *o;
	const struct infer_machine *m;
	infer_model *model; /* NULL: planned from dimensions */
	struct infer_dims dims;
	const char *path;  /* of the model, in command lines */
	const char *named; /* as the user named it */
	struct infer_shape shape;
	double lora_bytes; /* of adapters, in shape.weight_bytes */
	int type;          /* type that most weights of the file have */
	struct strategy asked;
	/* with --device cuda: memory of the engine on the GPU and on the host */
	struct infer_engine_need on_gpu;
	struct strategy best[STRATEGIES];
	int n_best, fits; /* fits: 1 if any strategy fits into memory */
	int pick, grade;  /* the strategy that the verdict names, and its enum grade */
	struct strategy
		near; /* if there is no strategy: the nearest that fits; type TYPE_NONE: none */
};

/* Search for better strategies: set best, n_best, fits and near of *p (plan_best.c). */
void plan_best(struct planned *p);
const char *plan_type_name(int type); /* value for infer-quant --type */
/* Return the type with that name, or of MXFP4, BF16, F16 and F32; -1 for all others. */
int plan_find_type(const char *name);
/* Return how the strategy is run on the machine: enum runs (plan_lines.c). */
int plan_runs(const struct infer_machine *m, const struct infer_setup *how);
/* Choose p->pick and p->grade.  Append the verdict, a sentence without a full stop, and the command to
 * run, both without a line break (plan_verdict.c). */
void plan_judge(struct planned *p);
void plan_verdict(struct buf *out, const struct planned *p);
void plan_command(struct buf *out, const struct planned *p);
const char *plan_grade_name(int grade);
/* Append a time: milliseconds with so many decimals, or seconds from one second on. */
void plan_put_time(struct buf *out, double ms, int decimals);
/* Find out whether `word` names a model whose weights are not needed: a size class with or without a type, a
 * config.json or another .json file, or a model of the hub that is not in the cache, whose config.json is downloaded.  Sets *without to 1,
 * and *config to the path of the config.json, NULL for a size class (plan_dims.c).  Errors as model_config;
 * INFER_EINVAL: neither, nor a file; the message explains the forms. */
int plan_find_config(int *without, const char **config, const char *word, infer_error *err);
/* Set p->dims, p->shape, p->type, p->path and p->named from such a word.  path: storage for p->path. */
int plan_take_dims(struct planned *p, const char *word, struct buf *path, infer_error *err);
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
