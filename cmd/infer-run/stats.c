/* infer-run/stats.c - the line of --stats, and the totals of a batch. */
#include "run.h"
#include "common/progress.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/jwrite.h"
#include "base/os.h"

#include <stdio.h>
#include <unistd.h>

static double ms(int64_t ns) { return (double)ns / 1e6; }
static double per_s(int64_t n, int64_t ns) { return ns > 0 ? (double)n * 1e9 / (double)ns : 0; }

static void put_token_usage(struct jwrite *w, const struct infer_usage *u)
{
	jw_object(w, NULL);
	jw_int(w, "prompt_tokens", u->prompt_tokens);
	jw_int(w, "completion_tokens", u->completion_tokens);
	jw_int(w, "cached_tokens", u->cached_tokens);
	jw_int(w, "preemptions", u->preemptions);
	jw_int(w, "chunks", u->chunks);
	jw_num(w, "queue_ms", ms(u->queue_ns));
	jw_num(w, "prefill_ms", ms(u->prefill_ns));
	jw_num(w, "ttft_ms", ms(u->first_token_ns));
	jw_num(w, "decode_ms", ms(u->decode_ns));
	jw_num(w, "prefill_tok_s", per_s(u->prompt_tokens - u->cached_tokens, u->prefill_ns));
	jw_num(w, "decode_tok_s", per_s(u->completion_tokens - 1, u->decode_ns));
	jw_end(w);
}

static void put_engine(struct jwrite *w, const struct infer_engine_stats *s,
                       const struct infer_engine_info *info, uint64_t token_bytes)
{
	char digest[17];

	jw_uint(w, "steps", s->steps);
	jw_uint(w, "rows", s->rows);
	jw_uint(w, "rows_max", s->rows_max);
	jw_num(w, "rows_per_step", s->steps ? (double)s->rows / (double)s->steps : 0);
	jw_uint(w, "prefill_rows", s->prefill_rows);
	jw_uint(w, "decode_rows", s->decode_rows);
	jw_uint(w, "chunks", s->chunks);
	jw_uint(w, "preemptions", s->preemptions);
	jw_uint(w, "swaps", s->swaps);
	jw_uint(w, "cached_tokens", s->cached_tokens);
	jw_uint(w, "evicted_pages", s->evicted_pages);
	jw_uint(w, "kv_pages", s->kv_pages);
	jw_uint(w, "kv_pages_used", s->kv_pages_used);
	jw_uint(w, "kv_page_bytes", s->kv_page_bytes);
	jw_uint(w, "kv_reserved_bytes", s->kv_reserved_bytes);
	jw_uint(w, "workspace_bytes", s->workspace_bytes);
	jw_uint(w, "barriers", s->barriers);
	jw_uint(w, "decode_allocs", s->decode_allocs);
	jw_num(w, "compute_ms", ms(s->compute_ns));
	jw_uint(w, "token_bytes", token_bytes);
	jw_str(w, "isa", info->isa);
	jw_int(w, "threads", info->threads);
	jw_int(w, "ctx", info->ctx);
	snprintf(digest, sizeof digest, "%016llx", (unsigned long long)s->digest);
	jw_str(w, "digest", digest);
}

static void put_process(struct jwrite *w, const struct run *r)
{
	struct os_usage u;

	os_usage(&u);
	if (r->started_ns)
		jw_num(w, "since_exec_ms", clock_ms(r->started_ns, clock_now_ns()));
	jw_num(w, "load_ms", r->load_ms);
	jw_uint(w, "minor_faults", u.minor_faults);
	jw_uint(w, "major_faults", u.major_faults);
	jw_uint(w, "peak_rss_bytes", u.peak_rss_bytes);
	jw_num(w, "user_ms", u.user_ms);
	jw_num(w, "system_ms", u.system_ms);
}

/* Write the phases from the start of the process to the first token. stats_print adds the later phases. */
static void put_phases(struct jwrite *w, const struct run *r, const struct infer_engine_stats *s,
                       const struct infer_usage *first)
{
	const struct stats *st = &r->stats;
	struct infer_model_info m;

	infer_model_info(r->model, &m);
	jw_object(w, "phases");
	jw_num(w, "exec_ms", ms(r->o->exec_ns));
	jw_num(w, "options_ms", clock_ms(r->o->main_ns, r->opened_ns) - r->load_ms);
	jw_num(w, "file_ms", ms(m.file_ns));
	jw_num(w, "tokenizer_ms", ms(m.tokenizer_ns));
	jw_num(w, "bind_ms", ms(m.open_ns - m.tokenizer_ns - m.file_ns));
	jw_num(w, "plan_ms", ms(s->open_ns));
	if (st->ready_ns && first) {
		jw_num(w, "prompt_ms", clock_ms(r->opened_ns, st->ready_ns));
		jw_num(w, "prefill_ms", ms(first->prefill_ns));
		jw_num(w, "first_token_ms",
		       clock_ms(r->o->main_ns, st->ready_ns) + ms(first->first_token_ns));
		jw_num(w, "first_touch_ms", st->first.system_ms - st->ready.system_ms);
		jw_uint(w, "first_touch_faults",
		        st->first.minor_faults + st->first.major_faults - st->ready.minor_faults -
		                st->ready.major_faults);
	}
	jw_end(w);
}

void stats_ready(struct run *r)
{
	os_usage(&r->stats.ready);
	r->stats.ready_ns = clock_now_ns();
}

void stats_first(struct run *r) { os_usage(&r->stats.first); }

void stats_take(struct run *r, const struct infer_usage *usage, size_t n)
{
	struct jwrite *w = &r->stats.w;
	struct infer_engine_stats s;
	struct infer_engine_info info;
	struct infer_model_info m;

	infer_engine_stats(r->engine, &s);
	infer_engine_info(r->engine, &info);
	infer_model_info(r->model, &m);
	buf_init(&r->stats.text, MEM_BASE);
	r->stats.taken = 1;
	infer_record_open(w, &r->stats.text, INFER_KIND_STATS, INFER_RECORD_FIRST);
	jw_int(w, "seed", (int64_t)r->sampling.o.seed);
	put_process(w, r);
	put_phases(w, r, &s, n ? &usage[0] : NULL);
	put_engine(w, &s, &info, m.token_bytes);
	jw_array(w, "runs");
	for (size_t i = 0; i < n; i++)
		put_token_usage(w, &usage[i]);
	jw_end(w);
}

void stats_print(struct stats *s, double exit_ms)
{
	if (!s->taken)
		return;
	jw_num(&s->w, "exit_ms", exit_ms);
	infer_record_close(&s->w);
	if (s->text.bad)
		say_error("out of memory for --stats");
	else if (write(STDERR_FILENO, s->text.at, s->text.len) < 0) {
		/* stderr is closed: there is no way to report it */
	}
	buf_fini(&s->text);
	s->taken = 0;
}

static uint64_t tokens(const struct run *r)
{
	struct infer_engine_stats s;

	infer_engine_stats(r->engine, &s);
	return s.prefill_rows + s.decode_rows;
}

void stats_tell(const struct run *r, uint64_t done, uint64_t all, uint64_t failed)
{
	progress_requests(failed, tokens(r));
	progress_at(NULL, done, all);
}

void stats_sum_up(const struct run *r, int64_t began_ns, uint64_t requests, uint64_t failed)
{
	double s = clock_ms(began_ns, clock_now_ns()) / 1e3;
	char time[32];
	uint64_t n = tokens(r);

	progress_time(time, sizeof time, s);
	say_summary("%llu requests done, %llu failed; %llu tokens at %.0f/s in %s",
	            (unsigned long long)requests, (unsigned long long)failed, (unsigned long long)n,
	            s > 0 ? (double)n / s : 0, time);
}
