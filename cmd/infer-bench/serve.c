/* infer-bench/serve.c - serve: measure a server. */
#include "hash.h"
#include "nvml.h"
#include "serve.h"
#include "still.h"
#include "common/progress.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FEW_WORDS = 16, MORE_WORDS = 80, SETTLE_MS = 1500, ROOM = 4 };
/* Fewest reads that show the rate of an answer whose pieces were read together. */
enum { LEAST_READS = 6 };

/* Measure the tokens per word of a prompt, and the tokens around it, with two prompts. */
static int calibrate(struct serve *s, infer_error *err)
{
	struct workload *w = &s->work;
	int64_t few, more;

	TRY(load_once(&s->load, FEW_WORDS, &few, err));
	TRY(load_once(&s->load, MORE_WORDS, &more, err));
	if (more <= few) {
		say_warning("the server does not count prompt tokens: a word counts as one token");
		return INFER_OK;
	}
	w->tokens_per_word = (double)(more - few) / (MORE_WORDS - FEW_WORDS);
	w->tokens_beside = (double)few - FEW_WORDS * w->tokens_per_word;
	if (w->tokens_beside < 0)
		w->tokens_beside = 0;
	return INFER_OK;
}

/* Shorten the prompt, then the answer, of requests that exceed the context of the server. */
static void clip_requests(struct serve *s)
{
	for (int64_t i = 0; s->ctx > ROOM && i < s->work.n; i++) {
		struct planned *p = &s->work.at[i];
		int64_t room = s->ctx - ROOM;

		if (p->text || (int64_t)p->tokens + p->max_tokens <= room)
			continue;
		s->clipped++;
		if (p->max_tokens > room / 2)
			p->max_tokens = (int32_t)(room / 2);
		if (p->tokens > room - p->max_tokens)
			p->tokens = (int32_t)(room - p->max_tokens);
	}
	if (s->clipped)
		say_warning("%lld of %lld requests are longer than the context of %lld tokens, and "
		            "were shortened",
		            (long long)s->clipped, (long long)s->work.n, (long long)s->ctx);
}

static int model_open(struct serve *s, infer_error *err)
{
	struct infer_model_opts mo = { .log = say_log, .watch = model_watch };
	const char *path;

	if (!s->o->model)
		return INFER_OK;
	TRY(model_path(&path, s->o->model, MODEL_NAMED, err));
	TRY(infer_model_open(&s->model, path, &mo, err));
	return hash_files(infer_model_file(s->model), &s->mem, &s->sha256, &s->n_sha256, err);
}

int serve_open(struct serve *s, const struct bench_opts *o, const char *url, infer_error *err)
{
	struct workload_ask w = { .prompt = o->prompts,
		                  .output = o->output ? o->output : o->tokens,
		                  .output_option = o->output ? "--output" : "-n",
		                  .trace = o->trace,
		                  .rate = o->rate,
		                  .requests = o->requests ? o->requests : 100,
		                  .requests_given = o->requests > 0,
		                  .shared = o->shared_prefix,
		                  .seed = o->seed };

	*s = (struct serve){ .o = o,
		             .url = url,
		             .peak_bytes = -1,
		             .energy_j = -1,
		             .gpu_energy_j = -1,
		             .gpu_bytes = -1 };
	arena_init(&s->mem, MEM_BASE);
	buf_init(&s->name, MEM_BASE);
	buf_init(&s->load.gaps, MEM_BASE);
	TRY(workload_make(&s->work, &w, err));
	TRY(client_open(&s->load.http, &(struct client_server){ url, o->key_file, o->timeout },
	                err));
	TRY(model_open(s, err));
	s->load.work = &s->work;
	s->load.chat = o->api == API_CHAT;
	s->load.path = s->load.chat ? "/v1/chat/completions" : "/v1/completions";
	s->load.may_stop = o->may_stop;
	s->load.closed = !(o->rate > 0) && !o->trace;
	s->load.clients = o->clients ? o->clients : s->load.closed ? 1 : 0;
	if (o->alias)
		buf_put(&s->name, o->alias, strlen(o->alias) + 1);
	else
		TRY(scrape_model(s->load.http, &s->name, &s->ctx, err));
	s->load.model = s->name.at;
	if (o->adapters)
		TRY(targets_read(&s->targets, s->load.http, s->load.model, o->adapters, &s->mem,
		                 err));
	s->load.models = s->targets.names;
	s->load.n_models = s->targets.n;
	TRY(calibrate(s, err));
	clip_requests(s);
	s->load.done = arena_alloc(&s->mem, (size_t)s->work.n + (size_t)o->warmup + 1,
	                           sizeof *s->load.done);
	return s->load.done ? INFER_OK : err_nomem(err);
}

/* ---- results ---- */

static void add_to_series(struct serve *s, enum serve_series to, double v)
{
	s->series[to][s->n[to]++] = v;
}

/* Add the rate of the tokens after the first read. */
static void add_decode(struct serve *s, const struct load_done *d)
{
	double tokens = (double)(d->completion_tokens - 1),
	       seconds = (double)(d->last_ns - d->first_ns) * 1e-9;

	if (d->completion_tokens < 2)
		return;
	if (d->reads < d->chunks && d->reads < LEAST_READS) {
		if (!(d->decode_ms > 0)) {
			s->without_rate++;
			return;
		}
		s->by_timings++;
		seconds = d->decode_ms * 1e-3;
	} else if (d->first_chunks > 1) {
		tokens = (double)d->completion_tokens / d->chunks * (d->chunks - d->first_chunks);
	}
	if (!(seconds > 0) || !(tokens > 0))
		return;
	add_to_series(s, S_TPOT, seconds * 1e3 / tokens);
	add_to_series(s, S_DECODE, tokens / seconds);
}

static void add_result(struct serve *s, int64_t i)
{
	const struct load_done *d = &s->load.done[i];
	double reading = (double)(d->first_ns - d->sent_ns) * 1e-9;

	targets_count(&s->targets, i, d);
	if (d->failed) {
		if (!s->failed++)
			say_warning("request %lld failed: %s", (long long)i, d->why);
		return;
	}
	s->completed++;
	s->has_usage &= d->has_usage;
	s->prompt_tokens += d->prompt_tokens;
	s->completion_tokens += d->completion_tokens;
	s->cached_tokens += d->cached_tokens;
	s->chunks += d->chunks;
	s->short_answers += d->completion_tokens < s->work.at[i].max_tokens;
	add_to_series(s, S_E2E, (double)(d->end_ns - d->due_ns) * 1e-6);
	add_to_series(s, S_LAG, (double)(d->sent_ns - d->due_ns) * 1e-6);
	if (!d->chunks)
		return;
	add_to_series(s, S_TTFT, (double)(d->first_ns - d->due_ns) * 1e-6);
	if (d->prompt_tokens > d->cached_tokens && reading > 0)
		add_to_series(s, S_PREFILL,
		              (double)(d->prompt_tokens - d->cached_tokens) / reading);
	add_decode(s, d);
}

static int results(struct serve *s, infer_error *err)
{
	size_t n = (size_t)s->work.n, gaps = s->load.gaps.len / sizeof(double),
	       most = n > gaps ? n : gaps;
	int64_t first = INT64_MAX, last = 0;

	for (int k = 0; k < S_ITL; k++)
		s->series[k] = arena_alloc(&s->mem, n + 1, sizeof(double));
	s->series[S_ITL] = arena_alloc(&s->mem, gaps + 1, sizeof(double));
	s->scratch = arena_alloc(&s->mem, most + 1, sizeof(double));
	if (s->mem.bad)
		return err_nomem(err);
	if (gaps)
		memcpy(s->series[S_ITL], s->load.gaps.at, gaps * sizeof(double));
	memset(s->n, 0, sizeof s->n);
	s->n[S_ITL] = gaps;
	s->completed = s->failed = s->prompt_tokens = s->completion_tokens = 0;
	s->cached_tokens = s->chunks = s->short_answers = 0;
	s->by_timings = s->without_rate = 0;
	s->has_usage = 1;
	for (size_t i = 0; i < s->targets.n; i++)
		s->targets.counts[i] = (struct target_counts){ 0 };
	for (int64_t i = 0; i < s->work.n; i++) {
		const struct load_done *d = &s->load.done[i];

		first = d->due_ns < first ? d->due_ns : first;
		last = d->end_ns > last ? d->end_ns : last;
		add_result(s, i);
	}
	s->wall_s = (double)(last - first) * 1e-9;
	return INFER_OK;
}

/* True if the server's counters agree with the answers. Servers count prompts with or without cached tokens. */
static int counts_agree(const struct serve *s)
{
	double in = s->after.prompt_tokens - s->before.prompt_tokens,
	       out = s->after.completion_tokens - s->before.completion_tokens,
	       all = (double)s->prompt_tokens;

	if (s->before.completion_tokens < 0 || s->after.completion_tokens < 0)
		return -1;
	return fabs(out - (double)s->completion_tokens) < 0.5 &&
	       (fabs(in - all) < 0.5 || fabs(in - all + (double)s->cached_tokens) < 0.5);
}

/* Read the counters until they do not change: servers count a request shortly after its last token. */
static int read_settled(struct serve *s, infer_error *err)
{
	for (int ms = 0; ms < SETTLE_MS; ms += 50) {
		TRY(scrape_metrics(&s->after, s->load.http, err));
		s->agree = counts_agree(s);
		if (s->agree)
			return INFER_OK;
		nanosleep(&(struct timespec){ 0, 50 * 1000000 }, NULL);
	}
	return INFER_OK;
}

int serve_run(struct serve *s, infer_error *err)
{
	struct nvml_said before, after;
	double energy;

	s->load.done += s->work.n;
	TRY(load_run(&s->load, -1, s->o->warmup, err));
	s->load.done -= s->work.n;
	TRY(scrape_metrics(&s->before, s->load.http, err));
	nvml_read(&before);
	energy = scrape_energy_j();
	TRY(load_run(&s->load, 0, s->work.n, err));
	s->created_ms = still_unix_ms();
	s->energy_j = scrape_energy_j() - energy;
	if (energy < 0 || s->energy_j < 0)
		s->energy_j = -1;
	nvml_read(&after);
	if (before.energy_j >= 0 && after.energy_j >= before.energy_j)
		s->gpu_energy_j = after.energy_j - before.energy_j;
	s->gpu_bytes = after.memory_bytes;
	if (s->o->pid)
		s->peak_bytes = scrape_peak_bytes(s->o->pid);
	TRY(results(s, err));
	TRY(read_settled(s, err));
	if (s->plan && s->plan->limit_prefill_tok_s > 0 && s->plan->limit_all_tok_s > 0)
		s->limit_s = (double)(s->prompt_tokens - s->cached_tokens) /
		                     s->plan->limit_prefill_tok_s +
		             (double)s->completion_tokens / s->plan->limit_all_tok_s;
	if (!s->completed)
		return err_set(err, INFER_ENET, "no request of %lld was answered",
		               (long long)s->work.n);
	return INFER_OK;
}

void serve_close(struct serve *s)
{
	client_close(s->load.http);
	infer_model_close(&s->model);
	buf_fini(&s->load.gaps);
	buf_fini(&s->name);
	workload_fini(&s->work);
	arena_fini(&s->mem);
}

int serve_metric(const struct serve *s, int i, struct infer_metric *m)
{
	static const struct {
		const char *name, *unit;
		int higher;
	} rows[S_COUNT] = {
		[S_TTFT] = { "ttft_ms", "ms", 0 },
		[S_TPOT] = { "tpot_ms", "ms", 0 },
		[S_E2E] = { "e2e_ms", "ms", 0 },
		[S_LAG] = { "send_lag_ms", "ms", 0 },
		[S_PREFILL] = { "prefill_tok_s", "tok/s", 1 },
		[S_DECODE] = { "decode_tok_s", "tok/s", 1 },
		[S_ITL] = { "itl_ms", "ms", 0 },
	};

	if (i >= S_COUNT)
		return 0;
	*m = (struct infer_metric){ .name = rows[i].name,
		                    .unit = rows[i].unit,
		                    .higher = rows[i].higher,
		                    .values = s->series[i],
		                    .scratch = s->scratch,
		                    .n = s->n[i] };
	return 1;
}

static int measure_server(const struct bench_opts *o, const struct forecast *plan,
                          const struct opt_rest *rest)
{
	struct serve s;
	struct append out = { .fd = -1 };
	infer_error err = { 0 };
	int rc, late;

	progress_begin("requests", PROGRESS_ITEMS, 0);
	rc = serve_open(&s, o, o->url, &err);
	s.plan = plan;
	if (!rc)
		rc = append_open(&out, o->json, o->record, &err);
	if (!rc && o->follows && out.out)
		infer_records_continue(out.out);
	if (!rc)
		rc = serve_run(&s, &err);
	progress_end();
	if (!rc && out.file)
		rc = serve_write(out.file, &s, rest, &err);
	if (!rc && out.out)
		rc = serve_write(out.out, &s, rest, &err);
	if (!rc)
		rc = append_send(&out, &err);
	if (!rc && !out.out)
		rc = serve_show(&s, &err);
	if (!rc && s.without_rate)
		say_warning("%lld answers were read in too few pieces to show their rate; tpot_ms "
		            "and decode_tok_s are of the others",
		            (long long)s.without_rate);
	if (!rc && !s.agree)
		say_warning("the server counted %.0f prompt tokens and %.0f generated ones, its "
		            "answers %lld and %lld: is it used by others?",
		            s.after.prompt_tokens - s.before.prompt_tokens,
		            s.after.completion_tokens - s.before.completion_tokens,
		            (long long)s.prompt_tokens, (long long)s.completion_tokens);
	late = append_close(&out, rc ? NULL : &err);
	serve_close(&s);
	if (rc || late)
		return say_fail(&err);
	return s.failed ? EXIT_SOME : EXIT_DONE;
}

int serve(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct bench_opts of_plan;
	struct forecast plan;
	infer_error err;
	int rc;

	if (!o->url) {
		say_error("serve needs a server: --url http://HOST:PORT or --url unix:PATH");
		return EXIT_USAGE;
	}
	if (!o->plan)
		return measure_server(o, NULL, rest);
	rc = forecast_read(&plan, o->plan, &err);
	if (!rc)
		forecast_serve(&of_plan, &plan, o);
	rc = rc ? say_fail(&err) : measure_server(&of_plan, &plan, rest);
	forecast_fini(&plan);
	return rc;
}
