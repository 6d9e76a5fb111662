/* infer-quant/quant.h - what the files of infer-quant share. */
#ifndef INFER_QUANT_QUANT_H
#define INFER_QUANT_QUANT_H
#include <infer/quant.h>
#include "base/buf.h"
#include "common/model.h"
#include "common/opt.h"
#include "common/start.h"

struct quant_opts {
	struct start start;
	struct engine_args engine; /* of evaluations, but for threads */
	const char *type, *imatrix;
	const char *model, *ref, *choices, *record, *out;
	struct opt_list keep, texts;
	uint64_t shard_bytes;
	int64_t zstd; /* the level */
	int copy, dry_run, verify, json, show, merge;
};

/* Options that say what rewrite writes were given. */
static inline int quant_writes(const struct quant_opts *o)
{
	return o->type || o->copy || o->keep.n || o->imatrix || o->dry_run || o->shard_bytes ||
	       o->zstd || o->verify;
}

/* A name from a file: characters that do not show are escaped. */
void quant_put_name(struct buf *b, const char *name);

/* The subjects: a file each, and a line in main.c.  Each prints its own errors and returns the exit
 * code.  rest: the words behind that of the subject. */
int eval(const struct quant_opts *o, const struct opt_rest *rest);
int imatrix(const struct quant_opts *o, const struct opt_rest *rest);
int rewrite(const struct quant_opts *o, const struct opt_rest *rest);
#endif
