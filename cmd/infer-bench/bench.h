/* infer-bench/bench.h - options and sub-commands of infer-bench. */
#ifndef INFER_BENCH_BENCH_H
#define INFER_BENCH_BENCH_H
#include <infer/plan.h>
#include <infer/record.h>
#include "base/buf.h"
#include "common/append.h"
#include "common/lora.h"
#include "common/model.h"
#include "common/opt.h"
#include "common/sampling.h"
#include "common/start.h"

enum bench_clock { CLOCK_WALL, CLOCK_CPU };
/* The sub-commands, which are the modes of opt_check(). */
#define BENCH_SUBJECTS(X) \
	X(run, RUN) \
	X(serve, SERVE) \
	X(kernels, KERNELS) \
	X(ab, AB) X(compare, COMPARE) X(plot, PLOT) X(report, REPORT) X(convert, CONVERT)
#define BENCH_BIT_NUMBER(name, NAME) BENCH_##NAME##_BIT,
#define BENCH_BIT(name, NAME) BENCH_##NAME = 1 << BENCH_##NAME##_BIT,
enum { BENCH_SUBJECTS(BENCH_BIT_NUMBER) };
enum {
	BENCH_SUBJECTS(BENCH_BIT) BENCH_TAKE_WORDS =
		BENCH_AB | BENCH_COMPARE | BENCH_PLOT | BENCH_REPORT | BENCH_CONVERT
};
enum bench_first { FIRST_NO, FIRST_WARM, FIRST_COLD, FIRST_BOTH };
enum bench_api { API_COMPLETIONS, API_CHAT };
struct bench_opts {
	struct start start;
	struct engine_args engine;
	struct opt_list filters, loras;
	const char *model;
	const char *prompts, *tokens, *depth, *seqs; /* comma-separated numbers */
	const char *record;
	int64_t repeat;
	int json, quick, clock, first; /* clock: enum bench_clock; first: enum bench_first */
	/* serve */
	const char *url, *alias, *adapters, *key_file, *output, *trace, *out, *suite, *plan;
	double rate, timeout, price, tolerance, max_time;
	int64_t rounds, max_rounds; /* 0: not given */
	int64_t clients, requests, shared_prefix, seed, warmup, pid;
	int to;                  /* convert: enum convert_form */
	int follows;             /* not an option; 1: this process has already written records */
	int api, may_stop, kind; /* api: enum bench_api; kind: enum figure_kind */
};

/* One function per sub-command. Each prints its own errors and returns the exit code. */
int run(const struct bench_opts *o, const struct opt_rest *rest);
int kernels(const struct bench_opts *o, const struct opt_rest *rest);
int serve(const struct bench_opts *o, const struct opt_rest *rest);
int compare(const struct bench_opts *o, const struct opt_rest *rest);
int plot(const struct bench_opts *o, const struct opt_rest *rest);
int convert(const struct bench_opts *o, const struct opt_rest *rest);
int report(const struct bench_opts *o, const struct opt_rest *rest);
int ab(const struct bench_opts *o, const struct opt_rest *rest);

/* Return the median, minimum and maximum of n values. Sorts them. */
struct infer_rate bench_spread(double *of, int64_t n);

/* Print a line of the table of run. header: 1 to print the heading first; planned: 1 to compare with the
 * plan.
 * INFER_EIO INFER_ENOMEM */
int run_show(const struct infer_bench *b, int header, int planned, infer_error *err);
/* Print the adapters that are applied, with their scales; nothing if there are none.  INFER_EIO INFER_ENOMEM */
int run_show_adapters(const struct adapters *a, infer_error *err);

/* Return the commit of the source, with "-dirty" if files were modified; NULL: unknown. */
const char *bench_commit(void);
#endif
