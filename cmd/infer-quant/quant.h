/* infer-quant/quant.h - what the files of infer-quant share. */
#ifndef INFER_QUANT_QUANT_H
#define INFER_QUANT_QUANT_H
#include <infer/quant.h>
#include "base/buf.h"
#include "common/model.h"
#include "common/opt.h"
#include "common/start.h"

#include <string.h>

struct quant_opts {
	struct start start;
	struct engine_args engine; /* of evaluations, but for threads */
	const char *type, *imatrix, *method, *recipe, *save_recipe;
	const char *model, *ref, *beside, *choices, *record, *out, *into;
	struct opt_list keep, texts, calibration;
	uint64_t shard_bytes, max_bytes;
	double bpw;
	int64_t zstd; /* the level */
	int copy, dry_run, verify, json, show, merge, report;
};

/* Options that say what rewrite writes were given. */
static inline int quant_writes(const struct quant_opts *o)
{
	return o->type || o->copy || o->keep.n || o->imatrix || o->method || o->dry_run ||
	       o->shard_bytes || o->zstd || o->verify || o->report || o->recipe || o->save_recipe ||
	       o->max_bytes || o->bpw > 0 || o->calibration.n;
}

/* The text that GPTQ reads and types are chosen by. */
static inline const struct opt_list *quant_calibration(const struct quant_opts *o)
{
	return o->calibration.n ? &o->calibration : &o->texts;
}

/* GPTQ rounds the weights. */
static inline int quant_gptq(const struct quant_opts *o)
{
	return o->method && !strcmp(o->method, "gptq");
}

/* Options of the engine and texts may be needed: a recipe may aim at a size, too. */
static inline int quant_measures(const struct quant_opts *o)
{
	return o->report || o->recipe || o->max_bytes || o->bpw > 0 || quant_gptq(o);
}

/* A file that is to be written must be none of those that are read: those of the options, and model.
 * option: as out_is_not has it; path NULL: none is written */
int quant_check_out(const struct quant_opts *o, const char *option, const char *path,
                    const char *model, infer_error *err);
/* What is not finite comes from a weight that is not: if f has one, err names it.  Returns rc. */
int quant_explain(int rc, const infer_file *f, infer_error *err);
/* A name from a file: characters that do not show are escaped. */
void quant_put_name(struct buf *b, const char *name);

/* The subjects: a file each, and a line in main.c.  Each prints its own errors and returns the exit
 * code.  rest: the words behind that of the subject. */
int eval(const struct quant_opts *o, const struct opt_rest *rest);
int imatrix(const struct quant_opts *o, const struct opt_rest *rest);
/* Measure the written model beside its source: open both before the work, then compare. */
int eval_check(const struct quant_opts *o, const char *in, infer_error *err);
int eval_written(const struct quant_opts *o, const struct opt_rest *rest, const char *in,
                 const char *out);
int rewrite(const struct quant_opts *o, const struct opt_rest *rest);

/* ---- size_target.c ---- */

int size_target_check(const struct quant_opts *o, infer_error *err);
/* A recipe with the type of every tensor.  from: NULL: the options say the size */
int size_target_search(infer_recipe **out, const infer_recipe *from, const infer_file *in,
                       const struct quant_opts *o, infer_error *err);
#endif
