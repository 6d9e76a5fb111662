/* infer-quant/quant.h - options and sub-commands, shared by the files of infer-quant. */
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
	struct engine_args engine; /* for evaluations; writing uses only threads and isa */
	const char *type, *imatrix, *method, *recipe, *save_recipe;
	const char *model, *ref, *beside, *choices, *record, *out, *into;
	struct opt_list keep, texts, calibration, merge_lora;
	uint64_t shard_bytes, max_bytes;
	double bpw;
	int64_t zstd; /* compression level; 0: none */
	int copy, dry_run, verify, json, show, merge, report;
};

/* True if an option for writing a model was given. */
static inline int quant_writes(const struct quant_opts *o)
{
	return o->type || o->copy || o->keep.n || o->imatrix || o->method || o->dry_run ||
	       o->shard_bytes || o->zstd || o->verify || o->report || o->recipe || o->save_recipe ||
	       o->max_bytes || o->bpw > 0 || o->calibration.n || o->merge_lora.n;
}

/* Return the text for GPTQ and for the bits-per-weight search: --calibration, else -f. */
static inline const struct opt_list *quant_calibration(const struct quant_opts *o)
{
	return o->calibration.n ? &o->calibration : &o->texts;
}

/* True if the options ask for GPTQ. */
static inline int quant_gptq(const struct quant_opts *o)
{
	return o->method && !strcmp(o->method, "gptq");
}

/* True if a text and engine options may be needed. A recipe counts: it may have a size target. */
static inline int quant_measures(const struct quant_opts *o)
{
	return o->report || o->recipe || o->max_bytes || o->bpw > 0 || quant_gptq(o);
}

/* Check that the output file at path (NULL: none) is not an input: model, or a file that an option names.
 * option: as in out_is_not. INFER_EINVAL */
int quant_check_out(const struct quant_opts *o, const char *option, const char *path,
                    const char *model, infer_error *err);
/* If rc is INFER_ENAN, look for a weight of f that is not finite and name it in *err. Returns rc. */
int quant_explain(int rc, const infer_file *f, infer_error *err);
/* Append a name from a file, with control characters escaped. */
void quant_put_name(struct buf *b, const char *name);

/* The sub-commands. Each has a file and a row in main.c, prints its errors and returns the exit code.
 * rest: the arguments after the name of the sub-command. */
int eval(const struct quant_opts *o, const struct opt_rest *rest);
int imatrix(const struct quant_opts *o, const struct opt_rest *rest);
/* For --report: eval_check checks the options before the work; eval_written compares the written
 * model with its source, as eval does. */
int eval_check(const struct quant_opts *o, const char *in, infer_error *err);
int eval_written(const struct quant_opts *o, const struct opt_rest *rest, const char *in,
                 const char *out);
int rewrite(const struct quant_opts *o, const struct opt_rest *rest);

/* ---- size_target.c ---- */

/* Check the options of a size target. gptq: the method is GPTQ, which has no built-in text. */
int size_target_check(const struct quant_opts *o, int gptq, infer_error *err);
/* Choose a type for every tensor to reach the size target of `from` (NULL: of the options). *out: the
 * recipe. */
int size_target_search(infer_recipe **out, const infer_recipe *from, const infer_file *in,
                       const struct quant_opts *o, infer_error *err);
/* Return the built-in text that is measured on without -f and --calibration. */
struct infer_str sample_text(void);
#endif
