/* infer-quant/quant.h - what the files of infer-quant share. */
#ifndef INFER_QUANT_QUANT_H
#define INFER_QUANT_QUANT_H
#include <infer/quant.h>
#include "common/model.h"
#include "common/opt.h"
#include "common/start.h"

struct quant_opts {
	struct start start;
	struct engine_args engine; /* of evaluations, but for threads */
	const char *type, *imatrix;
	const char *model, *ref, *choices, *into;
	struct opt_list keep, texts;
	uint64_t shard_bytes;
	int64_t zstd; /* the level */
	int copy, dry_run, verify, json;
};

/* The subjects: a file each, and a line in main.c.  Each prints its own errors and returns the exit
 * code.  rest: the words behind that of the subject. */
int eval(const struct quant_opts *o, const struct opt_rest *rest);
int rewrite(const struct quant_opts *o, const struct opt_rest *rest);
#endif
