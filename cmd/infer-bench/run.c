/* infer-bench/run.c - run: measure prefill and decode of a model, and the ceilings of the machine in
 * between. */
#include "bench.h"
#include "first.h"
#include "forecast.h"
#include "hash.h"
#include "numbers.h"
#include "seen.h"
#include "still.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include <infer/runner.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

/* One measurement. */
struct test {
	int decode;
	int32_t tokens, depth, batch;
	double predicted; /* tokens per second; 0: no prediction */
};

struct run {
	const struct bench_opts *o;
	const struct forecast *plan; /* NULL: none */
	const struct opt_rest *rest;
	const char *path;
	infer_model *model;
	struct adapters adapters;
	infer_engine *engine;
	infer_runner *runner;
	infer_probe *probe;
	struct append out;
	struct sampling sampling;
	const char *const *sha256;
	int n_sha256;
	int32_t *ids;
	size_t cap;
	/* Values by turn. ordered: scratch for sorting; rates: memory read, fma, int8 dot, bf16 tiles. */
	double *tok_s, *cpu_us, *fraction, *ordered[3], *rates[4]; /* [repeat] */
	double *clock, *waited; /* [repeat]; see still.h; waited below 0: unknown */
	double *seen_room;      /* [4][repeat] */
	struct seen seen;
	struct arena mem;
	uint64_t prompts; /* prompts so far; seeds the next prompt, so that no two are alike */
	uint64_t turns, all_turns;
	int shown;
};

static void draw_ids(int32_t *ids, int32_t n, uint64_t seed, int32_t n_vocab)
{
	for (int32_t i = 0; i < n; i++)
		ids[i] = (int32_t)(rng_unit(seed, (uint64_t)i) * n_vocab);
}

/* Return the time by --clock: elapsed, or the processor time of all threads divided by their number. */
static int64_t clock_ns(const struct run *r)
{
	return r->o->clock == CLOCK_CPU ? clock_process_ns() / infer_probe_threads(r->probe)
	                                : clock_now_ns();
}

static int task_error(const infer_task *t, infer_error *err)
{
	const struct infer_fault *f = infer_task_fault(t);

	return f->kind ? err_set(err, f->error.code, "%s", f->error.message) : INFER_OK;
}

/* Start a job. Its prompt is t->depth tokens that all jobs share, and `tail` tokens of its own. */
static int start_job(struct run *r, const struct test *t, int32_t tail, int32_t max_tokens,
                     infer_error *err)
{
	struct infer_model_info info;
	infer_job *j = arena_alloc(&r->mem, 1, sizeof *j);
	infer_task *begun;

	if (!j)
		return err_nomem(err);
	*j = (infer_job){ .n = 1,
		          .logprobs = -1,
		          .request = { .prompt = r->ids,
		                       .n_prompt = (size_t)(t->depth + tail),
		                       .max_tokens = max_tokens,
		                       .sample = r->sampling.o,
		                       .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT } };
	infer_model_info(r->model, &info);
	adapters_use(j, &r->adapters);
	draw_ids(r->ids, t->depth, SEED, info.n_vocab);
	draw_ids(r->ids + t->depth, tail, SEED + ++r->prompts, info.n_vocab);
	TRY(infer_runner_start(&begun, r->runner, j, NULL, 0, err));
	return task_error(begun, err);
}

/* Run one step. Add to *ended the number of requests that ended, and to *cached their tokens from the prefix
 * cache. */
static int run_one_step(struct run *r, int *ended, int64_t *cached, infer_error *err)
{
	struct infer_got got;

	TRY(infer_runner_step(r->runner, err));
	for (;;) {
		TRY(infer_runner_next(r->runner, &got, err));
		if (!got.task)
			return INFER_OK;
		if (!infer_task_ended(got.task))
			continue;
		TRY(task_error(got.task, err));
		*cached += got.event->usage.cached_tokens;
		infer_task_free(got.task);
		++*ended;
	}
}

/* Put the first t->depth tokens into the prefix cache. */
static int prime_cache(struct run *r, const struct test *t, infer_error *err)
{
	int ended = 0;
	int64_t cached = 0;

	if (!t->depth)
		return INFER_OK;
	TRY(start_job(r, t, 0, 0, err));
	while (!ended)
		TRY(run_one_step(r, &ended, &cached, err));
	return INFER_OK;
}

/* Measure one turn of prefill: tokens per second, and processor time per token. */
static int once_prefill(struct run *r, const struct test *t, double *tok_s, double *cpu_us,
                        infer_error *err)
{
	int ended = 0;
	int64_t cached = 0, from, cpu, ns = 0, cpu_ns = 0;
	double tokens;

	TRY(prime_cache(r, t, err));
	for (int32_t i = 0; i < t->batch; i++)
		TRY(start_job(r, t, t->tokens, 1, err));
	while (ended < t->batch) {
		TRY(seen_sample(&r->seen, !ns, err));
		cpu = clock_process_ns();
		from = clock_ns(r);
		TRY(run_one_step(r, &ended, &cached, err));
		ns += clock_ns(r) - from;
		cpu_ns += clock_process_ns() - cpu;
	}
	TRY(seen_sample(&r->seen, 1, err));
	tokens = (double)((int64_t)t->batch * (t->tokens + t->depth) - cached);
	*tok_s = tokens * 1e9 / (double)ns;
	*cpu_us = (double)cpu_ns * 1e-3 / tokens;
	return INFER_OK;
}

/* Measure one turn of decode: only steps in which every sequence decodes. */
static int once_decode(struct run *r, const struct test *t, double *tok_s, double *cpu_us,
                       infer_error *err)
{
	struct infer_engine_stats a, b;
	int ended = 0;
	int64_t cached = 0, from, cpu, ns = 0, cpu_ns = 0, steps = 0;

	TRY(prime_cache(r, t, err));
	for (int32_t i = 0; i < t->batch; i++)
		TRY(start_job(r, t, 1, t->tokens + t->batch, err));
	infer_engine_stats(r->engine, &b);
	while (ended < t->batch) {
		a = b;
		TRY(seen_sample(&r->seen, 0, err));
		cpu = clock_process_ns();
		from = clock_ns(r);
		TRY(run_one_step(r, &ended, &cached, err));
		from = clock_ns(r) - from;
		cpu = clock_process_ns() - cpu;
		infer_engine_stats(r->engine, &b);
		if (b.prefill_rows != a.prefill_rows ||
		    b.decode_rows - a.decode_rows != (uint64_t)t->batch || steps == t->tokens)
			continue;
		ns += from;
		cpu_ns += cpu;
		steps++;
	}
	TRY(seen_sample(&r->seen, 1, err));
	if (!steps)
		return err_set(err, INFER_EDEVICE, "no step decoded all sequences");
	if (!ns)
		return err_set(err, INFER_EDEVICE, "%lld steps are too few for the clock: raise -n",
		               (long long)steps);
	*tok_s = (double)(steps * t->batch) * 1e9 / (double)ns;
	*cpu_us = (double)cpu_ns * 1e-3 / (double)(steps * t->batch);
	return INFER_OK;
}

/* Add the cost of a step of the model and its adapters. */
static int add_step_cost(struct infer_cost *c, const struct run *r,
                         const struct infer_engine_info *info, const struct infer_load *load,
                         infer_error *err)
{
	TRY(infer_cost_add(c, r->model, info, load, err));
	for (int32_t i = 0; i < r->adapters.n_uses; i++)
		infer_cost_adapt(c, r->adapters.uses[i].lora, load);
	return INFER_OK;
}

/* Compute the bytes and operations of a whole test. */
static int add_costs(struct infer_cost *c, const struct run *r, const struct test *t,
                     infer_error *err)
{
	struct infer_engine_info info;
	int64_t chunk;

	*c = (struct infer_cost){ 0 };
	infer_engine_info(r->engine, &info);
	chunk = info.prefill_chunk;
	if (t->decode)
		return add_step_cost(c, r, &info,
		                     &(struct infer_load){ t->batch, t->batch, t->batch,
		                                           t->depth + 2 + t->tokens / 2 },
		                     err);
	for (int64_t left = (int64_t)t->tokens * t->batch, at = 0, n; left; left -= n, at += n) {
		n = left < chunk ? left : chunk;
		int64_t pos = t->depth + (at + n / 2) % t->tokens;
		TRY(add_step_cost(c, r, &info,
		                  &(struct infer_load){ n, left == n ? t->batch : 0, 1, pos },
		                  err));
	}
	return INFER_OK;
}

static int engine_open(struct run *r, const struct test *t, infer_error *err)
{
	struct infer_engine_opts eo;
	struct infer_model_info info;

	infer_runner_free(r->runner);
	r->runner = NULL;
	infer_engine_close(&r->engine);
	TRY(engine_args_take(&eo, &r->o->engine, err));
	infer_model_info(r->model, &info);
	if (!eo.ctx && info.ctx_train && t->depth > info.ctx_train - t->tokens)
		return err_set(err, INFER_ENOMEM,
		               "%d tokens after %d do not fit the model's context of %d; the depth "
		               "must be "
		               "at most %d",
		               (int)t->tokens, (int)t->depth, (int)info.ctx_train,
		               t->tokens < info.ctx_train ? (int)(info.ctx_train - t->tokens) : 0);
	eo.log = say_log;
	eo.max_seqs = t->batch;
	eo.lora_rank = infer_adapters_rank(r->adapters.set);
	if (!eo.ctx)
		eo.ctx = t->depth + t->tokens + t->batch + 2;
	TRY(infer_engine_open(&r->engine, r->model, &eo, err));
	return infer_runner_new(&r->runner, r->engine, r->model, err);
}

static int ids_reserve(struct run *r, const struct test *t, infer_error *err)
{
	size_t n = (size_t)t->depth + (size_t)t->tokens + 1;

	if (n > r->cap) {
		r->ids = arena_alloc(&r->mem, n, sizeof *r->ids);
		r->cap = r->ids ? n : 0;
	}
	return r->ids ? INFER_OK
	              : err_set(err, INFER_ENOMEM, "out of memory for a prompt of %zu tokens", n);
}

/* Measure the ceilings. Arithmetic has a fixed ceiling that other load can only hide, so the best turn
 * counts. Memory bandwidth varies with other load, so only the turns next to the test count. */
static int ceilings(struct run *r, struct infer_ceilings *top, infer_error *err)
{
	TRY(infer_probe_ceilings(r->probe, infer_model_file(r->model), top, err));
	top->fma.median = top->fma.most;
	top->dot.median = top->dot.most;
	top->tile_bf16.median = top->tile_bf16.most;
	return INFER_OK;
}

static void store_rates(struct run *r, int64_t at, const struct infer_ceilings *top)
{
	r->rates[0][at] = top->mapped.median;
	r->rates[1][at] = top->fma.median;
	r->rates[2][at] = top->dot.median;
	r->rates[3][at] = top->tile_bf16.median;
}

/* Measure turn i of a test, and how much of the machine it had; turn -1 is not stored. */
static int measure_turn(struct run *r, const struct test *t, double *tok_s, double *cpu_us,
                        int64_t i, infer_error *err)
{
	struct still_time from, to;
	int known = still_read(&from);

	TRY((t->decode ? once_decode : once_prefill)(r, t, tok_s, cpu_us, err));
	known &= still_read(&to);
	if (i < 0)
		return INFER_OK;
	r->waited[i] = known ? still_share(&from, &to) : -1;
	r->clock[i] = still_core_clock();
	return INFER_OK;
}

/* Measure ceilings and test in alternation. The first turn reads the weights into memory and is not
 * counted. */
static int measure_test(struct run *r, const struct test *t, struct infer_bench *b,
                        infer_error *err)
{
	struct infer_cost c;
	struct infer_ceilings top;
	int64_t n = r->o->repeat;
	double units = t->decode ? t->batch : (double)t->batch * t->tokens, tok_s, cpu_us;

	progress_name("%s %d, %d behind, %d at once:", t->decode ? "decode" : "prefill",
	              (int)t->tokens, (int)t->depth, (int)t->batch);

	TRY(ids_reserve(r, t, err));
	TRY(engine_open(r, t, err));
	TRY(add_costs(&c, r, t, err));
	seen_begin(&r->seen, r->plan, t->decode, r->probe, infer_model_file(r->model), r->seen_room,
	           (size_t)n);
	for (int64_t i = -1; i < n; i++) {
		if (i >= 0)
			TRY(ceilings(r, &top, err));
		seen_turn(&r->seen);
		TRY(measure_turn(r, t, &tok_s, &cpu_us, i, err));
		progress_at(NULL, ++r->turns, r->all_turns);
		if (i < 0)
			continue;
		seen_put(&r->seen, i, tok_s);
		r->tok_s[i] = tok_s;
		r->cpu_us[i] = cpu_us;
		r->fraction[i] = tok_s * infer_cost_seconds(&c, &top, &b->limit) / units;
		store_rates(r, i, &top);
	}
	memcpy(r->ordered[0], r->tok_s, (size_t)n * sizeof(double));
	memcpy(r->ordered[1], r->fraction, (size_t)n * sizeof(double));
	*b = (struct infer_bench){
		.decode = t->decode,
		.tokens = t->tokens,
		.depth = t->depth,
		.batch = t->batch,
		.threads = infer_probe_threads(r->probe),
		.repeat = (int32_t)n,
		.created_ms = still_unix_ms(),
		.cpu_time = r->o->clock == CLOCK_CPU,
		.predicted_tok_s = t->predicted,
		.tok_s = bench_spread(r->tok_s, n),
		.fraction = bench_spread(r->fraction, n),
		.weight_bytes = c.weight_bytes / units,
		.kv_bytes = c.kv_bytes / units,
		.ops = (c.fma_ops + c.dot_ops + c.bf16_ops + c.attn_ops) / units,
		.ceilings = { .mapped = bench_spread(r->rates[0], n),
		              .fma = bench_spread(r->rates[1], n),
		              .dot = bench_spread(r->rates[2], n),
		              .tile_bf16 = bench_spread(r->rates[3], n) },
		.sha256 = r->sha256,
		.n_sha256 = r->n_sha256,
		.turns_tok_s = r->ordered[0],
		.turns_fraction = r->ordered[1],
		.turns_cpu_us = r->cpu_us,
		.scratch = r->ordered[2],
		.commit = bench_commit(),
	};
	b->limit_tok_s = units / infer_cost_seconds(&c, &b->ceilings, &b->limit);
	return INFER_OK;
}

static int test(struct run *r, const struct test *t, infer_error *err)
{
	struct infer_run_info info = { .model = r->model,
		                       .sample = &r->sampling.o,
		                       .loras = r->adapters.uses,
		                       .lora_names = r->adapters.names,
		                       .n_loras = r->adapters.n_uses,
		                       .flags = r->rest->record.at,
		                       .n_flags = r->rest->record.n };
	struct infer_bench b = { 0 };
	struct infer_adjusted adjusted;
	int rc = measure_test(r, t, &b, err);

	if (!rc) {
		b.core_clock = bench_spread(r->clock, r->o->repeat);
		b.waited = bench_spread(r->waited, r->o->repeat);
	}
	if (!rc && engine_has_gpu(r->engine)) /* b.limit_tok_s is for the CPU */
		b.limit_tok_s = 0;
	if (!rc && seen_end(&adjusted, &r->seen, r->o->repeat) && b.limit_tok_s > 0)
		b.adjusted = &adjusted;
	if (!rc)
		rc = infer_file_check_unchanged(infer_model_file(r->model), err);
	TRY(rc);
	info.engine = r->engine;
	if (r->out.file)
		TRY(infer_write_bench(r->out.file, &b, &info, err));
	if (r->out.out)
		TRY(infer_write_bench(r->out.out, &b, &info, err));
	TRY(append_send(&r->out, err));
	if (r->out.out)
		return INFER_OK;
	if (!r->shown++)
		TRY(run_show_adapters(&r->adapters, err));
	return run_show(&b, r->shown == 1, r->plan != NULL, err);
}

static int tests(struct run *r, infer_error *err)
{
	struct numbers sizes[2] = { { .n = 0 } }, depths = { .n = 0 }, batches = { .n = 0 };
	const char *const given[] = { r->o->prompts, r->o->tokens };

	TRY(numbers_parse(&sizes[0], given[0] ? given[0] : given[1] ? "0" : "512", "-p", 0, err));
	TRY(numbers_parse(&sizes[1], given[1] ? given[1] : given[0] ? "0" : "128", "-n", 0, err));
	TRY(numbers_parse(&depths, r->o->depth ? r->o->depth : "0", "--depth", 0, err));
	TRY(numbers_parse(&batches, r->o->seqs ? r->o->seqs : "1", "--seqs", 1, err));
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < sizes[kind].n; i++)
			if (sizes[kind].at[i])
				r->all_turns +=
					(uint64_t)(batches.n * depths.n * (r->o->repeat + 1));
	progress_begin("", PROGRESS_ITEMS, r->all_turns);
	for (int b = 0; b < batches.n; b++)
		for (int d = 0; d < depths.n; d++)
			for (int kind = 0; kind < 2; kind++)
				for (int i = 0; i < sizes[kind].n; i++)
					if (sizes[kind].at[i])
						TRY(test(r,
						         &(struct test){ kind, sizes[kind].at[i],
						                         depths.at[d],
						                         batches.at[b], 0 },
						         err));
	return INFER_OK;
}

/* Measure what the plan predicts: the prefill of one prompt, then the decode of all users. */
static int planned_tests(struct run *r, infer_error *err)
{
	const struct forecast *f = r->plan;
	const struct test prefill = { 0, f->prompt, 0, 1, f->prefill_tok_s },
			  decode = { 1, f->output, f->prompt, f->users, f->decode_tok_s };

	r->all_turns = (uint64_t)((f->prompt > 0) + (f->output > 0)) * (uint64_t)(r->o->repeat + 1);
	progress_begin("", PROGRESS_ITEMS, r->all_turns);
	if (f->prompt)
		TRY(test(r, &prefill, err));
	return f->output ? test(r, &decode, err) : INFER_OK;
}

static int model_open(struct run *r, infer_error *err)
{
	struct infer_model_opts mo = { .ctx = (int32_t)r->o->engine.ctx,
		                       .log = say_log,
		                       .watch = model_watch };

	TRY(infer_model_open(&r->model, r->path, &mo, err));
	TRY(model_generates(r->model, "infer-bench run", err));
	return adapters_open(&r->adapters, &r->o->loras, 1, r->model, err);
}

static int open_run(struct run *r, infer_error *err)
{
	const struct bench_opts *o = r->o;
	struct infer_probe_opts po = { .threads = (int32_t)o->engine.threads,
		                       .repeat = 3,
		                       .flags = (o->quick ? INFER_PROBE_QUICK : INFER_PROBE_LONG) |
		                                (o->clock == CLOCK_CPU ? 0 : INFER_PROBE_WALL) };
	struct infer_engine_opts eo;
	struct sampling_args sa = { .seed = { SEED, 1 } };
	size_t n = (size_t)o->repeat;
	double *all;

	TRY(model_path(&r->path, o->model, MODEL_NAMED, err));
	if (o->engine.isa)
		TRY(isa_check(o->engine.isa, err));
	sig_mapped(r->path);
	TRY(model_open(r, err));
	TRY(sampling_take(&r->sampling, &sa, r->model, err));
	TRY(engine_args_take(&eo, &o->engine, err));
	po.flags |= eo.act_type == INFER_BF16 ? INFER_PROBE_BF16 : 0;
	TRY(infer_probe_open(&r->probe, &po, err));
	TRY(append_open(&r->out, o->json, o->record, err));
	if (o->follows && r->out.out)
		infer_records_continue(r->out.out);
	all = arena_alloc(&r->mem, 16 * n, sizeof *all);
	if (!all)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu turns", n);
	r->tok_s = all;
	r->fraction = all + n;
	for (size_t i = 0; i < 4; i++)
		r->rates[i] = all + (2 + i) * n;
	for (size_t i = 0; i < 3; i++)
		r->ordered[i] = all + (6 + i) * n;
	r->cpu_us = all + 9 * n;
	r->seen_room = all + 10 * n;
	r->clock = all + 14 * n;
	r->waited = all + 15 * n;
	return o->json || o->record ? hash_files(infer_model_file(r->model), &r->mem, &r->sha256,
	                                         &r->n_sha256, err)
	                            : INFER_OK;
}

/* Measure the time to the first token. Close the model before, because a mapped file stays in memory; open it
 * again after. */
static int first_token(struct run *r, int cold, double weight_bytes, infer_error *err)
{
	struct first f = { .cold = cold, .ms = r->tok_s, .room = r->fraction };

	infer_runner_free(r->runner);
	r->runner = NULL;
	infer_engine_close(&r->engine);
	infer_model_close(&r->model);
	TRY(first_measure(&f, r->o, r->path, weight_bytes, err));
	TRY(model_open(r, err));
	if (r->out.file)
		TRY(first_write(r->out.file, &f, r->o, r->model, r->sha256, r->n_sha256, err));
	if (r->out.out)
		TRY(first_write(r->out.out, &f, r->o, r->model, r->sha256, r->n_sha256, err));
	TRY(append_send(&r->out, err));
	return r->out.out ? INFER_OK : first_show(&f, r->o, err);
}

static int first_tokens(struct run *r, infer_error *err)
{
	const struct test one = { .decode = 1, .tokens = 1, .batch = 1 };
	struct infer_cost c;

	if (r->o->first == FIRST_NO)
		return INFER_OK;
	TRY(engine_open(r, &one, err));
	TRY(add_costs(&c, r, &one, err));
	if (r->o->first != FIRST_COLD)
		TRY(first_token(r, 0, c.weight_bytes, err));
	return r->o->first == FIRST_WARM ? INFER_OK : first_token(r, 1, c.weight_bytes, err);
}

static int run_all(struct run *r)
{
	infer_error err = { 0 };
	int rc, late;

	arena_init(&r->mem, MEM_BASE);
	rc = open_run(r, &err);
	if (!rc)
		rc = (r->plan ? planned_tests : tests)(r, &err);
	if (!rc)
		rc = first_tokens(r, &err);
	progress_end();
	late = append_close(&r->out, rc ? NULL : &err);
	infer_runner_free(r->runner);
	infer_engine_close(&r->engine);
	infer_probe_close(&r->probe);
	sampling_fini(&r->sampling);
	adapters_close(&r->adapters);
	infer_model_close(&r->model);
	arena_fini(&r->mem);
	return rc || late ? say_fail(&err) : EXIT_DONE;
}

int run(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct run r = { .o = o, .rest = rest, .out.fd = -1 };
	struct forecast plan;
	struct bench_opts of_plan;
	infer_error err;
	int rc;

	if (!o->plan)
		return run_all(&r);
	rc = forecast_read(&plan, o->plan, &err);
	if (!rc)
		rc = forecast_run(&of_plan, &plan, o, &err);
	if (!rc) {
		r.o = &of_plan;
		r.plan = &plan;
		rc = run_all(&r);
	} else {
		rc = say_fail(&err);
	}
	forecast_fini(&plan);
	return rc;
}
