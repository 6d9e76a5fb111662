/* infer-serve/ops/metrics.c - counters and histograms, and their text for Prometheus. */
#include "infer-serve/ops/metrics.h"
#include "base/err.h"

#include <stddef.h>
#include <stdio.h>

static const int statuses[METRICS_STATUSES] = { 200, 400, 401, 403, 404, 405, 408, 413,
	                                        415, 429, 499, 500, 501, 503, 0 };

#define SECONDS \
	{ \
		.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92 \
	}
#define FIRST \
	{ \
		.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10 \
	}
#define SHORT \
	{ \
		1e-5, 1e-4, 2.5e-4, 5e-4, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, \
			10 \
	}
#define EACH \
	{ \
		.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5 \
	}
#define TOKENS \
	{ \
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144 \
	}
/* bounds: upper bounds of the buckets, ascending; 0 ends them */
static const struct {
	const char *name, *help;
	double bounds[METRICS_BOUNDS];
} rows[METRICS_HISTOGRAMS] = {
	[METRICS_E2E] = { "e2e_request_latency_seconds", "From a request's head to its last token.",
	                  SECONDS },
	[METRICS_TTFT] = { "time_to_first_token_seconds",
	                   "From a request's head to its first token.", FIRST },
	[METRICS_INTER] = { "inter_token_latency_seconds", "Between two tokens of an answer.",
	                    EACH },
	[METRICS_QUEUE] = { "request_queue_time_seconds", "Waiting for the engine.", SECONDS },
	[METRICS_PREFILL] = { "request_prefill_time_seconds", "Computing the prompt (prefill).",
	                      SECONDS },
	[METRICS_DECODE] = { "request_decode_time_seconds", "From the first token to the last.",
	                     SECONDS },
	[METRICS_PROMPT] = { "request_prompt_tokens", "Tokens of a prompt.", TOKENS },
	[METRICS_GENERATION] = { "request_generation_tokens", "Tokens of an answer.", TOKENS },
	[METRICS_INFERENCE] = { "request_inference_time_seconds", "Prefill and generation.",
	                        SECONDS },
	[METRICS_STEP] = { "iteration_tokens", "Tokens in a step of the engine.", TOKENS },
	[METRICS_CONSTRAINT] = { "request_constraint_time_seconds",
	                         "Computing the tokens that a constraint allows, per "
	                         "constrained answer.",
	                         SHORT },
	[METRICS_N] = { "request_params_n",
	                "Samples that requests ask for.",
	                { 1, 2, 5, 10, 20, 50, 128 } },
	[METRICS_MAX] = { "request_params_max_tokens", "max_tokens of requests that set it.",
	                  TOKENS },
};

static int n_bounds(enum metrics_histogram h)
{
	int n = 0;

	while (n < METRICS_BOUNDS && rows[h].bounds[n] > 0)
		n++;
	return n;
}

void metrics_observe(struct metrics *m, enum metrics_histogram h, double value)
{
	struct histogram *to = &m->h[h];

	to->count++;
	to->sum += value;
	for (int i = 0; i < n_bounds(h); i++)
		if (value <= rows[h].bounds[i]) {
			to->bucket[i]++;
			return;
		}
}

void metrics_request(struct metrics *m, int endpoint, int status)
{
	int row = endpoint < 0 ? METRICS_ENDPOINTS - 1 : endpoint, i = 0;

	must(row < METRICS_ENDPOINTS);
	while (i < METRICS_STATUSES - 1 && statuses[i] != status)
		i++;
	m->requests[row][i]++;
}

void metrics_sample(struct metrics *m, const struct infer_usage *u, int finish, int first)
{
	m->generation_tokens += (uint64_t)u->completion_tokens;
	if (first) {
		m->prompt_tokens += (uint64_t)u->prompt_tokens;
		m->cached_tokens += (uint64_t)u->cached_tokens;
		metrics_observe(m, METRICS_PROMPT, (double)u->prompt_tokens);
		metrics_observe(m, METRICS_QUEUE, (double)u->queue_ns * 1e-9);
		metrics_observe(m, METRICS_PREFILL, (double)u->prefill_ns * 1e-9);
	}
	metrics_observe(m, METRICS_DECODE, (double)u->decode_ns * 1e-9);
	metrics_observe(m, METRICS_INFERENCE, (double)(u->prefill_ns + u->decode_ns) * 1e-9);
	metrics_observe(m, METRICS_GENERATION, (double)u->completion_tokens);
	if (finish >= 0 && finish < METRICS_FINISHES)
		m->finished[finish]++;
}

void metrics_job(struct metrics *m, const infer_job *j)
{
	metrics_observe(m, METRICS_N, (double)infer_job_each(j));
	if (j->request.max_tokens >= 0)
		metrics_observe(m, METRICS_MAX, (double)j->request.max_tokens);
}

void metrics_engine_add(struct metrics_engine *m, const struct infer_engine_stats *s)
{
	m->steps += s->steps;
	m->preemptions += s->preemptions;
	m->swaps += s->swaps;
	m->recomputes += s->recomputes;
	m->swap_out_bytes += s->swap_out_bytes;
	m->swap_in_bytes += s->swap_in_bytes;
}

/* ---- the text ---- */

static void put_family(struct buf *to, const char *name, const char *type, const char *help)
{
	buf_printf(to, "# HELP infer_%s %s\n# TYPE infer_%s %s\n", name, help, name, type);
}

/* Append the value of a label, with backslash, quote and newline escaped. */
static void put_label(struct buf *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_putc(to, '\\');
		if (*text == '\n')
			buf_puts(to, "\\n");
		else
			buf_putc(to, *text);
	}
}

/* Append infer_NAME{model_name="MODEL": the caller appends further labels and the closing brace. */
static void begin_sample(struct buf *to, const char *name, const char *model)
{
	buf_printf(to, "infer_%s{model_name=\"", name);
	put_label(to, model);
	buf_putc(to, '"');
}

/* A metric with one value per model, read at offset `at` of struct metrics_now (AT_NOW) or of its struct
 * metrics. */
enum at { AT_NOW, AT_METRICS };
enum as { AS_U64, AS_I64, AS_DOUBLE, AS_INT };
struct value {
	const char *name, *type, *help;
	size_t at;
	enum at where;
	enum as as;
};
#define NOW(f, as) offsetof(struct metrics_now, f), AT_NOW, as
#define SUM(f) offsetof(struct metrics, f), AT_METRICS, AS_U64
static const struct value values[] = {
	{ "prompt_tokens_total", "counter", "Tokens of prompts.", SUM(prompt_tokens) },
	{ "prompt_tokens_cached_total", "counter", "Tokens of prompts that were in the cache.",
	  SUM(cached_tokens) },
	{ "prefix_cache_queries_total", "counter", "Tokens that were looked up in the cache.",
	  SUM(prompt_tokens) },
	{ "prefix_cache_hits_total", "counter", "Tokens that the cache had.", SUM(cached_tokens) },
	{ "generation_tokens_total", "counter", "Generated tokens.", SUM(generation_tokens) },
	{ "engine_steps_total", "counter", "Steps of the engine.", NOW(engines.steps, AS_U64) },
	{ "num_preemptions_total", "counter", "Sequences that were preempted.",
	  NOW(engines.preemptions, AS_U64) },
	{ "swap_out_bytes_total", "counter",
	  "Bytes copied out of the cache for preempted sequences.",
	  NOW(engines.swap_out_bytes, AS_U64) },
	{ "swap_in_bytes_total", "counter", "Bytes copied back into the cache.",
	  NOW(engines.swap_in_bytes, AS_U64) },
	{ "swap_used_bytes", "gauge", "Bytes of preempted sequences that are swapped out.",
	  NOW(swap_bytes, AS_U64) },
	{ "num_requests_running", "gauge", "Samples that are computed.", NOW(running, AS_I64) },
	{ "num_requests_waiting", "gauge", "Requests that wait.", NOW(waiting, AS_I64) },
	{ "kv_cache_usage_ratio", "gauge", "Part of the cache that running sequences use.",
	  NOW(kv_used, AS_DOUBLE) },
	{ "kv_cache_idle_ratio", "gauge",
	  "Part of the cache that holds prefixes of earlier requests.", NOW(kv_idle, AS_DOUBLE) },
	{ "model_loaded", "gauge", "1: the model is loaded.", NOW(loaded, AS_INT) },
	{ "model_accounted_bytes", "gauge", "Memory that a loaded model of several may take.",
	  NOW(bytes, AS_U64) },
};

static double read_metric(const struct value *v, const struct metrics_now *now)
{
	const char *at = (v->where == AT_NOW ? (const char *)now : (const char *)now->of) + v->at;

	switch (v->as) {
	case AS_U64:
		return (double)*(const uint64_t *)(const void *)at;
	case AS_I64:
		return (double)*(const int64_t *)(const void *)at;
	case AS_INT:
		return *(const int *)(const void *)at;
	case AS_DOUBLE:
		break;
	}
	return *(const double *)(const void *)at;
}

static void put_values(struct buf *to, const struct metrics_now *now, int n)
{
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		put_family(to, values[i].name, values[i].type, values[i].help);
		for (int k = 0; k < n; k++) {
			begin_sample(to, values[i].name, now[k].model);
			buf_printf(to, "} %.17g\n", read_metric(&values[i], &now[k]));
		}
	}
}

static void put_histogram(struct buf *to, enum metrics_histogram h, const struct metrics_now *now)
{
	const struct histogram *of = &now->of->h[h];
	char name[80];
	uint64_t below = 0;

	snprintf(name, sizeof name, "%s_bucket", rows[h].name);
	for (int i = 0; i < n_bounds(h); i++) {
		below += of->bucket[i];
		begin_sample(to, name, now->model);
		buf_printf(to, ",le=\"%g\"} %llu\n", rows[h].bounds[i], (unsigned long long)below);
	}
	begin_sample(to, name, now->model);
	buf_printf(to, ",le=\"+Inf\"} %llu\n", (unsigned long long)of->count);
	snprintf(name, sizeof name, "%s_sum", rows[h].name);
	begin_sample(to, name, now->model);
	buf_printf(to, "} %.9g\n", of->sum);
	snprintf(name, sizeof name, "%s_count", rows[h].name);
	begin_sample(to, name, now->model);
	buf_printf(to, "} %llu\n", (unsigned long long)of->count);
}

static void put_requests(struct buf *to, const struct metrics_now *now,
                         const struct metrics_process *p)
{
	for (int e = 0; e < METRICS_ENDPOINTS; e++)
		for (int i = 0; i < METRICS_STATUSES; i++) {
			if (!now->of->requests[e][i])
				continue;
			begin_sample(to, "http_requests_total", now->model);
			buf_printf(to, ",endpoint=\"%s\",status=\"%d\"} %llu\n", p->endpoint(e),
			           statuses[i], (unsigned long long)now->of->requests[e][i]);
		}
}

static void put_resumed(struct buf *to, const struct metrics_now *now)
{
	begin_sample(to, "preemptions_resumed_total", now->model);
	buf_printf(to, ",way=\"copied\"} %llu\n", (unsigned long long)now->engines.swaps);
	begin_sample(to, "preemptions_resumed_total", now->model);
	buf_printf(to, ",way=\"recomputed\"} %llu\n", (unsigned long long)now->engines.recomputes);
}

static void put_finish_reasons(struct buf *to, const struct metrics_now *now)
{
	static const char *const finishes[METRICS_FINISHES] = { "stop", "length", "cancelled",
		                                                "error" };

	for (int i = 0; i < METRICS_FINISHES; i++) {
		begin_sample(to, "request_success_total", now->model);
		buf_printf(to, ",finished_reason=\"%s\"} %llu\n", finishes[i],
		           (unsigned long long)now->of->finished[i]);
	}
}

void metrics_put(struct buf *to, const struct metrics_now *now, int n,
                 const struct metrics_process *p)
{
	put_values(to, now, n);
	put_family(to, "preemptions_resumed_total", "counter",
	           "Preempted sequences that were resumed, by how their cache was restored.");
	for (int k = 0; k < n; k++)
		put_resumed(to, &now[k]);
	put_family(to, "request_success_total", "counter", "Answers by how they ended.");
	for (int k = 0; k < n; k++)
		put_finish_reasons(to, &now[k]);
	put_family(to, "http_requests_total", "counter",
	           "Requests by endpoint and status; 499: the client left.");
	for (int k = 0; k <= n; k++)
		put_requests(to, &now[k], p);
	for (int h = 0; h < METRICS_HISTOGRAMS; h++) {
		put_family(to, rows[h].name, "histogram", rows[h].help);
		for (int k = 0; k < n; k++)
			put_histogram(to, h, &now[k]);
	}
	put_family(to, "otlp_spans_dropped_total", "counter", "Spans that were dropped.");
	buf_printf(to, "infer_otlp_spans_dropped_total %llu\n",
	           (unsigned long long)p->spans_dropped);
	/* the standard names of Prometheus for process metrics */
	buf_printf(to,
	           "# HELP process_resident_memory_bytes Memory in use, mapped files "
	           "included.\n# TYPE process_resident_memory_bytes gauge\n"
	           "process_resident_memory_bytes %llu\n"
	           "# HELP process_start_time_seconds When the process started.\n"
	           "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %lld\n",
	           (unsigned long long)p->resident_bytes, (long long)p->started);
}
