/* infer-bench/serve.h - measure a server; used by serve and ab. */
#ifndef INFER_BENCH_SERVE_H
#define INFER_BENCH_SERVE_H
#include "bench.h"
#include "forecast.h"
#include "load.h"
#include "scrape.h"
#include "targets.h"

/* Measurements, f64, of the requests that did not fail, in the order of the workload. */
enum serve_series { S_TTFT, S_TPOT, S_E2E, S_LAG, S_PREFILL, S_DECODE, S_ITL, S_COUNT };
struct serve {
	const struct bench_opts *o;
	const struct forecast *plan; /* NULL: none */
	const char *url;
	struct workload work;
	struct load load;
	struct buf name; /* name of the server's model */
	struct targets targets;
	int64_t ctx, clipped;
	struct scraped before, after;
	double energy_j, peak_bytes, gpu_energy_j, gpu_bytes; /* -1: unknown */
	infer_model *model;                                   /* the model of -m; NULL: none */
	const char *const *sha256; /* [n_sha256], digests of the files of model */
	int n_sha256;
	struct arena mem;

	/* results */
	double *series[S_COUNT], *scratch;
	size_t n[S_COUNT];
	int64_t completed, failed, prompt_tokens, completion_tokens, cached_tokens, chunks;
	int64_t short_answers; /* answers with fewer tokens than requested */
	/* Answers read in too few pieces to show their rate: it is the server's own, or not counted. */
	int64_t by_timings, without_rate;
	int has_usage;
	int agree; /* 1: the server's counters agree with the answers; 0: they differ; -1: no counters */
	double wall_s;
	int64_t created_ms; /* when the last request had ended, since 1970 */
	double limit_s; /* least time for the computed tokens at the plan's limits; 0: unknown */
};
/* Connect to the server and measure its tokens per word. The caller calls serve_close, on failure too.
 * Errors: those of workload_make, client_open, scrape_model, targets_read and load_once. */
int serve_open(struct serve *s, const struct bench_opts *o, const char *url, infer_error *err);
/* Send the warm-up and all requests, and fill the series. INFER_ENET: no request was answered */
int serve_run(struct serve *s, infer_error *err);
void serve_close(struct serve *s);
/* Set *m to metric i. Returns 0 if i is beyond the last metric. */
int serve_metric(const struct serve *s, int i, struct infer_metric *m);

/* serve_record.c: write the record; print the table. */
int serve_write(infer_records *out, const struct serve *s, const struct opt_rest *rest,
                infer_error *err);
int serve_show(const struct serve *s, infer_error *err);
#endif
