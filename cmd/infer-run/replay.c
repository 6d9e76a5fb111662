/* infer-run/replay.c - --replay: run the requests of records again and compare the answers. */
#include "run.h"
#include "lines.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include <infer/replay.h>
#include <infer/runner.h>
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Queued and running samples per sequence of the engine, as in a batch. */
enum { WAITING = 2 };

struct replay {
	struct run run;
	struct run_opts opts; /* the options, with engine options from the first record */
	struct lines in;
	int fd;              /* the file; -1: standard input */
	infer_replay *first; /* the first record, until its request is started */
	infer_replay *running[WAITING * BATCH_SEQS]; /* records whose requests are running */
	char kv_type[64], act_type[64];
	struct engine_place place;
	struct chat chat;
	infer_job_reader *reader;
	infer_records *writer; /* -o jsonl; NULL: text */
	struct infer_engine_info engine;
	char engine_kv[64];               /* KV cache types, as in records */
	int ctx_counts;                   /* 1: the answers depend on the context size */
	uint64_t records, others, differ; /* replayed; skipped (other kinds); different */
	uint64_t text, ids, logprobs;     /* records in which these were compared */
	int64_t line;                     /* line number of the first record that differs */
	char why[512];                    /* how that record differs */
};

/* ---- verdicts ---- */

/* Count a comparison and write its record. */
static int count_verdict(struct replay *a, const infer_replay *p,
                         const struct infer_replay_verdict *v, const struct infer_run_info *info,
                         infer_error *err)
{
	struct infer_replay_made made;

	infer_replay_made(p, &made);
	a->records++;
	a->text += !!(v->compared & INFER_REPLAY_TEXT);
	a->ids += !!(v->compared & INFER_REPLAY_TOKENS);
	a->logprobs += !!(v->compared & INFER_REPLAY_LOGPROBS);
	a->differ += v->differs != 0;
	if (!v->compared)
		return err_set(err, INFER_EINVAL,
		               "%s: line %lld: the record of '%.80s' has nothing to compare",
		               a->in.name, (long long)made.line, made.id);
	if (v->differs && (!a->line || made.line < a->line)) {
		const char *now = infer_version();

		a->line = made.line;
		snprintf(a->why, sizeof a->why, "the record of '%.80s': %s%s%.40s%s", made.id,
		         v->sentence, strcmp(now, made.version) ? " (made by version " : "",
		         strcmp(now, made.version) ? made.version : "",
		         strcmp(now, made.version) ? ")" : "");
	}
	return a->writer ? records_put(infer_write_replay(a->writer, p, v, info, err), a->writer,
	                               STDOUT_FILENO, err)
	                 : INFER_OK;
}

/* Return the entry of a->running that contains the record p; if p is NULL, a free entry. */
static infer_replay **find_running(struct replay *a, const infer_replay *p)
{
	infer_replay **at = a->running;

	while (*at != p)
		at++;
	return at;
}

/* Compare the answer of a task with its record. Frees both. */
static int task_end(struct replay *a, infer_task *t, infer_replay *p, infer_error *err)
{
	const struct infer_fault *f = infer_task_fault(t);
	const infer_job *j = infer_task_job(t);
	struct infer_replay_verdict v;
	struct infer_replay_made made;
	struct infer_answer answer = { 0 };
	struct infer_run_info info;
	int rc = run_unchanged(&a->run, INFER_OK, err);

	infer_replay_made(p, &made);
	if (!rc && f->kind)
		rc = err_set(err, f->error.code, "%s: line %lld: the record of '%.80s': %s",
		             a->in.name, (long long)made.line, made.id, f->error.message);
	infer_task_answer(t, &answer);
	if (!rc)
		rc = infer_replay_compare(p, &answer, &v, err);
	run_info(&info, &a->run);
	info.sample = &j->request.sample;
	info.breakers = j->breaker_texts;
	info.n_breakers = j->n_breaker_texts;
	info.bad_words = j->bad_words;
	info.n_bad_words = j->n_bad_words;
	info.seed_random = 0;
	info.loras = j->request.loras;
	info.lora_names = j->lora_names;
	info.n_loras = j->request.n_loras;
	if (!rc)
		rc = count_verdict(a, p, &v, &info, err);
	*find_running(a, p) = NULL;
	infer_task_free(t);
	infer_replay_free(p);
	return rc;
}

/* ---- running ---- */

static int take_events(struct replay *a, infer_error *err)
{
	struct infer_got got;

	for (;;) {
		TRY(infer_runner_next(a->run.runner, &got, err));
		if (!got.task)
			return INFER_OK;
		if (infer_task_ended(got.task))
			TRY(task_end(a, got.task, got.user, err));
	}
}

static int run_engine_step(struct replay *a, infer_error *err)
{
	TRY(run_step(&a->run, err));
	return take_events(a, err);
}

static int refuse_record(const struct replay *a, const struct infer_replay_made *made,
                         infer_error *err, const char *what, const char *name)
{
	return err_set(err, INFER_EINVAL,
	               "%s: line %lld: the record of '%.80s' was made with %s%.60s", a->in.name,
	               (long long)made->line, made->id, what, name);
}

/* Apply the adapters of a record of --score. */
static int apply_adapters(struct replay *a, const struct infer_replay_made *made, infer_error *err)
{
	struct adapters *to = &a->run.adapters;
	struct infer_lora_info info;

	to->n_uses = 0;
	for (size_t k = 0; k < made->n_adapters; k++) {
		const struct infer_replay_adapter *of = &made->adapters[k];
		size_t i = 0;

		for (; i < to->n; i++) {
			infer_lora_info(to->list[i].lora, &info);
			if (!strcmp(info.sha256, of->sha256))
				break;
		}
		if (i == to->n || to->n_uses == INFER_LORA_USES)
			return refuse_record(a, made, err,
			                     "an adapter that --lora does not give: ", of->name);
		to->names[to->n_uses] = to->list[i].name;
		to->uses[to->n_uses++] = (struct infer_lora_use){ to->list[i].lora, of->scale };
	}
	return INFER_OK;
}

/* Run a record of --score. No other request may run, because this consumes all events. */
static int run_score(struct replay *a, infer_replay *p, infer_error *err)
{
	struct infer_replay_verdict v;
	struct infer_replay_made made;
	struct infer_run_info info;
	float *logprobs = NULL;
	int rc = INFER_OK;

	infer_replay_made(p, &made);
	while (!rc && infer_runner_busy(a->run.runner))
		rc = run_engine_step(a, err);
	if (!rc)
		rc = apply_adapters(a, &made, err);
	if (!rc)
		rc = score_ids(&logprobs, &a->run, made.tokens, made.n_tokens, err);
	if (!rc)
		infer_replay_compare_scores(p, logprobs, made.n_tokens, &v);
	run_info(&info, &a->run);
	if (!rc)
		rc = count_verdict(a, p, &v, &info, err);
	a->run.adapters.n_uses = 0;
	mem_free(logprobs);
	infer_replay_free(p);
	return rc;
}

/* Check that the record was made with this model and with the same arithmetic. */
static int check_origin(const struct replay *a, const struct infer_replay_made *made,
                        infer_error *err)
{
	char ctx[24];

	if (!infer_file_is(infer_model_file(a->run.model), made->model_id))
		return refuse_record(a, made, err, "another model, with id ", made->model_id);
	if (strcmp(made->kv_type, a->engine_kv))
		return refuse_record(a, made, err, "--kv-type ", made->kv_type);
	if (strcmp(made->act_type, a->engine.act_type == INFER_BF16 ? "bf16" : "f32"))
		return refuse_record(a, made, err, "--act-type ", made->act_type);
	if (strcmp(made->placement, a->engine.placement))
		return refuse_record(a, made, err, "the placement ", made->placement);
	snprintf(ctx, sizeof ctx, "%d", (int)made->ctx);
	if (made->ctx != a->engine.ctx &&
	    (a->ctx_counts || !made->ctx_least || made->ctx_least > a->engine.ctx))
		return refuse_record(a, made, err, "--ctx ", ctx);
	return INFER_OK;
}

/* Start the request of a record. Takes the record. */
static int start_record(struct replay *a, infer_replay *p, infer_error *err)
{
	struct infer_replay_made made;
	infer_job *j = NULL;
	infer_task *t;
	int rc;

	infer_replay_made(p, &made);
	rc = check_origin(a, &made, err);
	if (!rc && made.tokens)
		return run_score(a, p, err);
	if (!rc)
		rc = infer_replay_job(&j, p, a->reader, err);
	if (!rc && j->fault.kind)
		rc = err_set(err, j->fault.error.code,
		             "%s: line %lld: the request in the record of '%.80s': %s", a->in.name,
		             (long long)made.line, made.id, j->fault.error.message);
	if (!rc)
		rc = infer_runner_start(&t, a->run.runner, j, p, INFER_TASK_OWNS_JOB, err);
	if (rc) {
		infer_job_free(j);
		infer_replay_free(p);
		return rc;
	}
	*find_running(a, NULL) = p;
	return infer_task_ended(t) ? task_end(a, t, p, err) : INFER_OK;
}

/* ---- records ---- */

static int is_blank_line(const char *at, size_t n)
{
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\t' || at[n - 1] == '\r'))
		n--;
	return !n;
}

/* Read the next record that can be replayed. *p is NULL if none arrived within wait_ms, or *over is 1. */
static int next_record(struct replay *a, infer_replay **p, int wait_ms, int *over, infer_error *err)
{
	infer_error why;
	enum lines_got got;
	const char *at;
	size_t n;

	for (*p = NULL; !*p && !*over;) {
		TRY(lines_next(&a->in, wait_ms, &got, &at, &n, err));
		*over = got == LINES_END;
		if (got == LINES_LONG)
			return err_set(err, INFER_EFORMAT, "%s: line %lld is longer than %d bytes",
			               a->in.name, (long long)a->in.number, LINES_LONGEST);
		if (got == LINES_NONE)
			break;
		if (got != LINES_LINE || is_blank_line(at, n))
			continue;
		int rc = infer_replay_read(p, at, n, a->in.number, &why);

		if (rc)
			return err_set(err, rc, "%s: %s", a->in.name, why.message);
		a->others += !*p;
	}
	return INFER_OK;
}

/* Start records until the engine has enough. */
static int start_records(struct replay *a, int *over, infer_error *err)
{
	infer_replay *p = a->first;

	a->first = NULL;
	while (p || (!*over && infer_runner_samples(a->run.runner) < WAITING * BATCH_SEQS)) {
		if (!p)
			TRY(next_record(a, &p, infer_runner_busy(a->run.runner) ? 0 : -1, over,
			                err));
		if (!p)
			return INFER_OK;
		TRY(start_record(a, p, err));
		p = NULL;
	}
	return INFER_OK;
}

static int run_records(struct replay *a, infer_error *err)
{
	int over = 0;

	progress_begin("replay", PROGRESS_ITEMS, 0);
	while (!over || infer_runner_busy(a->run.runner)) {
		TRY(start_records(a, &over, err));
		if (infer_runner_busy(a->run.runner))
			TRY(run_engine_step(a, err));
		stats_tell(&a->run, a->records, 0, 0);
	}
	return INFER_OK;
}

/* ---- before and after ---- */

static int open_input(struct replay *a, const char *path, infer_error *err)
{
	int from_stdin = !strcmp(path, "-");

	a->fd = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (!from_stdin && a->fd < 0)
		return err_errno(err, errno, "%s", path);
	lines_init(&a->in, from_stdin ? STDIN_FILENO : a->fd, from_stdin ? "standard input" : path);
	return INFER_OK;
}

/* Read the first record, and set from it the engine options that the user has not given. */
static int read_first(struct replay *a, infer_error *err)
{
	struct infer_replay_made made;
	int over = 0;

	TRY(next_record(a, &a->first, -1, &over, err));
	if (!a->first)
		return err_set(err, INFER_EINVAL, "%s: has no record that can be run again",
		               a->in.name);
	infer_replay_made(a->first, &made);
	snprintf(a->kv_type, sizeof a->kv_type, "%s", made.kv_type);
	if (!a->opts.engine.kv_type && *a->kv_type)
		a->opts.engine.kv_type = a->kv_type;
	snprintf(a->act_type, sizeof a->act_type, "%s", made.act_type);
	if (!a->opts.engine.act_type)
		a->opts.engine.act_type = a->act_type;
	engine_args_place(&a->opts.engine, made.placement, &a->place);
	if (!a->opts.engine.ctx && made.ctx > 0)
		a->opts.engine.ctx = made.ctx;
	return INFER_OK;
}

/* Set what check_origin() compares records with. */
static void set_origin(struct replay *a)
{
	const infer_file *f = infer_model_file(a->run.model);
	const struct infer_engine_info *e = &a->engine;

	infer_engine_info(a->run.engine, &a->engine);
	snprintf(a->engine_kv, sizeof a->engine_kv, e->k_type == e->v_type ? "%s" : "%s,%s",
	         infer_kv_name(e->k_type), infer_kv_name(e->v_type));
	/* LongRoPE has two sets of factors; the context size selects one */
	a->ctx_counts = infer_file_tensor(f, "rope_factors_long.weight") != NULL;
}

static int open_replay(struct replay *a, infer_error *err)
{
	const struct run_opts *o = &a->opts;
	struct infer_job_opts opts;

	TRY(chat_take(&a->chat, &o->chat, infer_model_file(a->run.model),
	              infer_model_tokenizer(a->run.model), err));
	opts = (struct infer_job_opts){
		.model = a->run.model,
		.max_tokens = -1,
		.logprobs = -1,
		.chat = a->chat.template,
		.chat_tools = a->chat.with_tools,
		.conversation = a->chat.c,
		.messages_only = a->chat.is_chatml && !chat_given(&o->chat),
		.adapters = a->run.adapters.set,
	};
	TRY(infer_job_reader_new(&a->reader, &opts, err));
	set_origin(a);
	if (o->output == OUTPUT_JSONL)
		TRY(run_writer(&a->writer, &a->run, err));
	return run_confine(o, 0, err);
}

static void close_replay(struct replay *a)
{
	infer_records_free(a->writer);
	infer_job_reader_free(a->reader);
	chat_fini(&a->chat);
	infer_replay_free(a->first);
	lines_fini(&a->in);
	if (a->fd >= 0)
		close(a->fd);
}

/* Print how many records were compared, as one line, if the output is text. */
static int print_totals(const struct replay *a, infer_error *err)
{
	char line[256], differ[64] = "all the same", others[64] = "";
	unsigned long long n = a->records;

	if (a->writer)
		return INFER_OK;
	if (a->differ)
		snprintf(differ, sizeof differ, "%llu differ%s", (unsigned long long)a->differ,
		         a->differ == 1 ? "s" : "");
	if (a->others)
		snprintf(others, sizeof others, "; %llu of other kinds skipped",
		         (unsigned long long)a->others);
	int len = snprintf(line, sizeof line,
	                   "%llu record%s, %s: text of %llu, ids of %llu, log-probabilities of "
	                   "%llu%s\n",
	                   n, n == 1 ? "" : "s", differ, (unsigned long long)a->text,
	                   (unsigned long long)a->ids, (unsigned long long)a->logprobs, others);

	return say_out(line, (size_t)len, err);
}

static int run_all(struct replay *a, const struct opt_rest *rest, infer_error *err)
{
	int rc = run_open(&a->run, &a->opts, rest, err);

	if (rc) {
		close_replay(a);
		return say_fail(err);
	}
	rc = open_replay(a, err);
	if (!rc)
		rc = run_records(a, err);
	rc = run_unchanged(&a->run, rc, err);
	progress_end();
	if (!rc)
		rc = print_totals(a, err);
	int code = rc ? say_fail(err) : EXIT_DONE;

	if (!rc && a->differ) {
		say_error("%s: line %lld: %s", a->in.name, (long long)a->line, a->why);
		code = EXIT_DIFFERS;
	}
	if (!rc && a->opts.stats)
		stats_take(&a->run, NULL, 0);
	close_replay(a);
	run_close(&a->run);
	for (int i = 0; i < WAITING * BATCH_SEQS; i++)
		infer_replay_free(a->running[i]);
	return code;
}

int replay(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct replay a = { .opts = *o, .fd = -1 };
	int rc = open_input(&a, o->replay, &err);

	if (!rc)
		rc = read_first(&a, &err);
	if (!rc)
		return run_all(&a, rest, &err);
	close_replay(&a);
	return say_fail(&err);
}
