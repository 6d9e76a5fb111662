/* infer-quant/quant.h - what the files of infer-quant share. */
#ifndef INFER_QUANT_QUANT_H
#define INFER_QUANT_QUANT_H
#include <infer/quant.h>
#include "common/opt.h"
#include "common/start.h"

struct quant_opts {
	struct start start;
	const char *type, *imatrix;
	struct opt_list keep;
	uint64_t shard_bytes;
	int64_t threads;
	int copy, dry_run, verify, json;
};

/* The subjects: a file each, and a line in main.c.  Each prints its own errors and returns the exit
 * code.  rest: the words behind that of the subject. */
int rewrite(const struct quant_opts *o, const struct opt_rest *rest);
#endif
