/* infer-bench/forecast.h - what infer-inspect plan predicts, and the options of a run that measures
 * it. */
#ifndef INFER_BENCH_FORECAST_H
#define INFER_BENCH_FORECAST_H
#include "bench.h"
#include "base/arena.h"

struct forecast {
	struct arena mem;
	const char *model;
	char kv_type[64];
	int32_t users, prompt, output;
	double prefill_tok_s; /* of a prompt alone; 0: the plan does not predict it */
	double decode_tok_s;  /* of all users in a step; likewise */
};
/* Read the record of kind plan in a file of JSON lines; path "-": standard input.  *f is the
 * caller's on failure too.
 * INFER_EFORMAT  no such record, or one without what a run needs
 * INFER_EUNSUP   a plan for accelerators: the engine has none to measure
 * INFER_EIO, INFER_ENOMEM */
int forecast_read(struct forecast *f, const char *path, infer_error *err);
void forecast_fini(struct forecast *f);
/* The options of o, and for those that are not given the plan's.  Borrows from both. */
struct bench_opts forecast_opts(const struct forecast *f, const struct bench_opts *o);
#endif
