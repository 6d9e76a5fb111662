/* infer-bench/forecast.h - the predictions of infer-inspect plan, and the options that measure them. */
#ifndef INFER_BENCH_FORECAST_H
#define INFER_BENCH_FORECAST_H
#include "bench.h"
#include "base/arena.h"

/* The predicted time of a step, and the part of it that memory reads take. */
struct forecast_step {
	double ms, memory_ms;
};
struct forecast {
	struct arena mem;
	const char *model;
	char kv_type[64], prompt_text[16], output_text[16]; /* as values of options */
	int32_t users, prompt, output;
	int32_t adapter_rank; /* sum of the ranks of the adapters that all users have; 0: none */
	double gpu_part;
	/* Predictions; 0: the plan has none. */
	double prefill_tok_s; /* prefill of one prompt at a time */
	double decode_tok_s;  /* decode steps of all users */
	double all_tok_s;     /* output of all users, prefill included */
	/* Upper limits of prefill_tok_s and all_tok_s; 0: the plan has none. */
	double limit_prefill_tok_s, limit_all_tok_s;
	/* Rates of the machine that the predictions assume; 0: not in the plan. */
	double memory_gb_s, i8_gop_s;
	struct forecast_step prefill, decode;
};
/* Read the record of kind plan from a file of JSON lines; path "-": standard input. The caller calls
 * forecast_fini, on failure too.
 * INFER_EFORMAT  there is no such record, or it lacks a field that a run needs
 * INFER_EIO, INFER_ENOMEM */
int forecast_read(struct forecast *f, const char *path, infer_error *err);
void forecast_fini(struct forecast *f);
/* Set *out to the options of o; options that are not given are set from the plan, for run (forecast_run) or
 * serve (forecast_serve). Borrows from f and o.
 * INFER_EUNSUP  the plan is for accelerators, which run cannot measure
 * INFER_EINVAL  the plan is with adapters, and the options have none */
int forecast_run(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o,
                 infer_error *err);
/* Return the time of a step at the measured rates / its predicted time. memory_gb_s 0: use the plan's rate.
 * Returns 0 if a rate or time is unknown. */
double forecast_longer(const struct forecast *f, const struct forecast_step *s, double memory_gb_s,
                       double i8_gop_s);
void forecast_serve(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o);
#endif
