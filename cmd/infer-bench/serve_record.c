/* infer-bench/serve_record.c - serve: a measurement as a record and as a table. */
#include "serve.h"
#include "common/say.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "base/os.h"

#include <string.h>

static const char *loop_name(const struct serve *s)
{
	return s->o->trace ? "trace" : s->load.closed ? "closed" : "open";
}

static void put_workload(struct jwrite *w, const struct serve *s)
{
	const struct bench_opts *o = s->o;

	jw_object(w, "workload");
	jw_str(w, "api", s->load.chat ? "chat" : "completions");
	jw_str(w, "loop", loop_name(s));
	if (o->rate > 0)
		jw_num(w, "rate", o->rate);
	if (s->load.clients)
		jw_int(w, "clients", s->load.clients);
	jw_int(w, "requests", s->work.n);
	jw_int(w, "warmup", o->warmup);
	if (o->trace) {
		jw_str(w, "trace", o->trace);
	} else {
		jw_str(w, "prompt", o->prompts ? o->prompts : "512");
		jw_str(w, "output", o->output ? o->output : o->tokens ? o->tokens : "128");
	}
	jw_int(w, "shared_prefix", o->shared_prefix);
	jw_int(w, "seed", o->seed);
	jw_bool(w, "stream", 1);
	jw_bool(w, "ignore_eos", !o->may_stop);
	jw_int(w, "clipped", s->clipped);
	if (s->targets.n) {
		jw_array(w, "adapters");
		for (size_t i = 0; i < s->targets.n; i++)
			jw_str(w, NULL, s->targets.names[i]);
		jw_end(w);
	}
	jw_end(w);
}

/* Write the counts of each adapter; nothing if there are none. */
static void put_targets(struct jwrite *w, const struct targets *t)
{
	if (!t->n)
		return;
	jw_array(w, "adapters");
	for (size_t i = 0; i < t->n; i++) {
		jw_object(w, NULL);
		jw_str(w, "name", t->names[i]);
		jw_int(w, "completed", t->counts[i].completed);
		jw_int(w, "failed", t->counts[i].failed);
		jw_int(w, "prompt_tokens", t->counts[i].prompt_tokens);
		jw_int(w, "completion_tokens", t->counts[i].completion_tokens);
		jw_end(w);
	}
	jw_end(w);
}

static void put_or_null(struct jwrite *w, const char *key, double v)
{
	if (v < 0)
		jw_null(w, key);
	else
		jw_num(w, key, v);
}

static void put_counts(struct jwrite *w, const struct serve *s)
{
	jw_object(w, "counts");
	jw_int(w, "completed", s->completed);
	jw_int(w, "failed", s->failed);
	jw_int(w, "short", s->short_answers);
	jw_int(w, "prompt_tokens", s->prompt_tokens);
	jw_int(w, "completion_tokens", s->completion_tokens);
	jw_int(w, "cached_tokens", s->cached_tokens);
	jw_int(w, "chunks", s->chunks);
	jw_int(w, "by_timings", s->by_timings);
	jw_int(w, "without_rate", s->without_rate);
	jw_bool(w, "usage", s->has_usage);
	if (s->agree >= 0) {
		jw_num(w, "server_prompt_tokens", s->after.prompt_tokens - s->before.prompt_tokens);
		jw_num(w, "server_completion_tokens",
		       s->after.completion_tokens - s->before.completion_tokens);
		jw_bool(w, "agree", s->agree);
	} else {
		jw_null(w, "agree");
	}
	jw_end(w);
}

static double tok_s(const struct serve *s)
{
	return s->wall_s > 0 ? (double)s->completion_tokens / s->wall_s : 0;
}

/* Write a metric that has one value for the whole run, in the form of the other metrics. */
static void put_single(struct jwrite *w, const char *name, const char *unit, int higher, double v)
{
	double room;

	infer_metric_put(w, &(struct infer_metric){ .name = name,
	                                            .unit = unit,
	                                            .higher = higher,
	                                            .values = &v,
	                                            .scratch = &room,
	                                            .n = 1 });
}

static void put_metrics(struct jwrite *w, const struct serve *s)
{
	struct infer_metric m;
	double cost = s->o->price / 3600 * 1e6;

	jw_object(w, "metrics");
	for (int i = 0; serve_metric(s, i, &m); i++)
		infer_metric_put(w, &m);
	put_single(w, "tok_s", "tok/s", 1, tok_s(s));
	if (s->wall_s > 0)
		put_single(w, "requests_s", "requests/s", 1, (double)s->completed / s->wall_s);
	if (s->limit_s > 0 && s->wall_s > 0)
		put_single(w, "fraction", "of the limit", 1, s->limit_s / s->wall_s);
	if (s->prompt_tokens && s->has_usage)
		put_single(w, "hit_rate", "of prompt tokens", 1,
		           (double)s->cached_tokens / (double)s->prompt_tokens);
	if (s->peak_bytes >= 0)
		put_single(w, "peak_memory_bytes", "bytes", 0, s->peak_bytes);
	if (s->energy_j >= 0)
		put_single(w, "energy_j", "J", 0, s->energy_j);
	if (s->gpu_energy_j >= 0)
		put_single(w, "gpu_energy_j", "J", 0, s->gpu_energy_j);
	if (cost > 0 && tok_s(s) > 0)
		put_single(w, "cost_per_million_tokens", "of --price", 0, cost / tok_s(s));
	jw_end(w);
}

int serve_write(infer_records *out, const struct serve *s, const struct opt_rest *rest,
                infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "serve");
	jw_int(w, "created_ms", s->created_ms);
	put_workload(w, s);
	jw_str(w, "url", s->url);
	jw_str(w, "served", s->load.model);
	put_counts(w, s);
	put_targets(w, &s->targets);
	put_metrics(w, s);
	jw_num(w, "wall_s", s->wall_s);
	if (s->limit_s > 0)
		jw_num(w, "limit_tok_s", (double)s->completion_tokens / s->limit_s);
	if (s->plan && s->plan->all_tok_s > 0)
		jw_num(w, "predicted_tok_s", s->plan->all_tok_s);
	jw_int(w, "most_at_once", s->load.most_at_once);
	put_or_null(w, "cache_usage", s->after.cache_usage);
	put_or_null(w, "resident_bytes", s->after.resident_bytes);
	put_or_null(w, "energy_j", s->energy_j);
	put_or_null(w, "gpu_energy_j", s->gpu_energy_j);
	put_or_null(w, "gpu_bytes", s->gpu_bytes);
	jw_bool(w, "paired_by_request", !s->failed);
	if (s->model)
		infer_put_model(w, s->model, s->sha256, s->n_sha256);
	if (bench_commit())
		jw_str(w, "commit", bench_commit());
	infer_put_machine(w, (int32_t)s->o->engine.threads);
	jw_array(w, "flags");
	for (int i = 0; i < rest->record.n; i++)
		jw_str(w, NULL, rest->record.at[i]);
	jw_end(w);
	return infer_records_end(out, err);
}

/* ---- the table ---- */

static void show_metric(struct buf *t, const struct infer_metric *m)
{
	double lo, hi;

	if (!m->n)
		return;
	memcpy(m->scratch, m->values, m->n * sizeof *m->values);
	infer_sort(m->scratch, m->n);
	buf_printf(t, "%-14s %9.2f", m->name, infer_quantile(m->scratch, m->n, 0.5));
	if (infer_quantile_interval(m->scratch, m->n, 0.5, 0.95, &lo, &hi))
		buf_printf(t, " %9.2f-%-9.2f", lo, hi);
	else
		buf_printf(t, " %19s", "");
	buf_printf(t, " %9.2f %9.2f", infer_quantile(m->scratch, m->n, 0.95),
	           infer_quantile(m->scratch, m->n, 0.99));
	buf_puts(t, m->n < 100 ? " *\n" : "\n"); /* *: too few requests for the 99th percentile */
}

int serve_show(const struct serve *s, infer_error *err)
{
	struct infer_metric m;
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	buf_printf(&t, "%lld requests, %lld failed, %s loop, %.2f s: %.2f tok/s, %.2f requests/s\n",
	           (long long)s->work.n, (long long)s->failed, loop_name(s), s->wall_s, tok_s(s),
	           s->wall_s > 0 ? (double)s->completed / s->wall_s : 0);
	buf_printf(&t, "%lld tokens of prompts (%lld of them cached), %lld generated; server: %s\n",
	           (long long)s->prompt_tokens, (long long)s->cached_tokens,
	           (long long)s->completion_tokens,
	           s->agree < 0 ? "no counters"
	           : s->agree   ? "counts agree"
	                        : "COUNTS DIFFER");
	if (s->targets.n)
		targets_show(&s->targets, &t);
	if (s->limit_s > 0 && s->wall_s > 0)
		buf_printf(&t, "limit of the plan: %.2f tok/s, %.3f of it",
		           (double)s->completion_tokens / s->limit_s, s->limit_s / s->wall_s);
	if (s->limit_s > 0 && s->plan->all_tok_s > 0)
		buf_printf(&t, "; predicted: %.2f tok/s", s->plan->all_tok_s);
	if (s->limit_s > 0)
		buf_puts(&t, "\n");
	buf_printf(&t, "%-14s %9s %-19s %9s %9s\n", "metric", "p50", "  its 95 % interval", "p95",
	           "p99");
	for (int i = 0; serve_metric(s, i, &m); i++)
		show_metric(&t, &m);
	if (s->work.n < 100)
		buf_puts(&t,
		         "* fewer than 100 measurements: p99 is hardly more than the greatest\n");
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}
