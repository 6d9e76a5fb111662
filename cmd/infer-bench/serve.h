/* infer-bench/serve.h - a server measured: what serve, ab and the record share. */
#ifndef INFER_BENCH_SERVE_H
#define INFER_BENCH_SERVE_H
#include "bench.h"
#include "forecast.h"
#include "load.h"
#include "scrape.h"

/* Arrays of doubles over the requests that did not fail, in the order of the plan. */
enum serve_series { S_TTFT, S_TPOT, S_E2E, S_LAG, S_PREFILL, S_DECODE, S_ITL, S_COUNT };
struct serve {
	const struct bench_opts *o;
	const struct forecast *plan; /* NULL: none */
	const char *url;
	struct workload work;
	struct load load;
	struct buf name; /* of the server's model */
	int64_t ctx, clipped;
	struct scraped before, after;
	double energy_j, peak_bytes, gpu_energy_j, gpu_bytes; /* -1: not known */
	infer_model *model;                                   /* with -m */
	const char *const *sha256;                            /* [n_sha256] of its files */
	int n_sha256;
	struct arena mem;

	/* what came of it */
	double *series[S_COUNT], *scratch;
	size_t n[S_COUNT];
	int64_t completed, failed, prompt_tokens, completion_tokens, cached_tokens, chunks;
	int64_t short_answers; /* that have fewer tokens than were asked for */
	int has_usage, agree;  /* agree: 1, 0, or -1: the server has no counters */
	double wall_s;
	double limit_s; /* the least time for the tokens that were computed, by the plan; 0: unknown */
};
/* The server is there, and its tokens for words are known. */
int serve_open(struct serve *s, const struct bench_opts *o, const char *url, infer_error *err);
/* All requests; the series after that. */
int serve_run(struct serve *s, infer_error *err);
void serve_close(struct serve *s);
/* Metric i, for i from 0; 0: past the last. */
int serve_metric(const struct serve *s, int i, struct infer_metric *m);

/* serve_record.c */
int serve_write(infer_records *out, const struct serve *s, const struct opt_rest *rest,
                infer_error *err);
int serve_show(const struct serve *s, infer_error *err);
#endif
