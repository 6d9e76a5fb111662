/* infer-run/batch.c - --batch and --lines: answer many requests. */
#include "earlier.h"
#include "order.h"
#include "outfile.h"
#include "plain.h"
#include "prompt.h"
#include "source.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include <infer/runner.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/seen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	WAITING = 2,             /* queued and running samples per sequence of the engine */
	REMEMBERED = 1 << 19,    /* a pipe: newest ids that are checked for duplicates */
	SYNC_MS = 1000,          /* period of syncs to disk */
	WINDOW = 1024,           /* --ordered: most answers that wait for an earlier one */
	WINDOW_BYTES = 64 << 20, /* --ordered: most bytes of such answers */
};

struct batch {
	struct run *run;
	infer_records *writer;
	struct outfile out; /* the file of --resume */
	struct source in;
	int begun;   /* 1: a line that is not blank was read */
	int ordered; /* answers are written in the order of the requests */
	int text;    /* answers are written as text, not as records */
	struct order order;
	struct buf line, scratch;
	struct infer_job_opts opts;
	int had_tools; /* 1: a request had tools */
	struct infer_str *stop;
	infer_job_reader *reader;
	struct chat chat;
	struct seen ids;
	struct earlier earlier;
	int32_t most; /* stop reading at this many queued and running samples */
	uint64_t requests, failed, cut;
	uint64_t full;        /* text answers that the context cut */
	int64_t first_full;   /* line number of the first such answer */
	uint64_t unsatisfied; /* text answers that -n cut before they satisfied the constraint */
	int64_t first_unsatisfied;
	int64_t synced_ns, began_ns;
};

/* ---- answers */

/* If rc is an error, return it; otherwise write the records of the writer. */
static int send_records(struct batch *b, int rc, infer_error *err)
{
	TRY(rc);
	return b->run->o->resume ? outfile_add(&b->out, b->writer, err)
	                         : records_send(b->writer, STDOUT_FILENO, NULL, err);
}

/* Text output: print the error of a request to stderr, and an empty line as its answer. */
static int text_fault(const infer_job *j, const struct infer_fault *f, infer_error *err)
{
	say_error("line %lld: %s", (long long)j->line, f->error.message);
	return say_out("\n", 1, err);
}

static int answer_fault(struct batch *b, const infer_job *j, const struct infer_fault *f,
                        infer_error *err)
{
	b->requests++;
	b->failed++;
	return b->text ? text_fault(j, f, err)
	               : send_records(b, infer_write_fault(b->writer, j, f, err), err);
}

static int text_answer(struct batch *b, const infer_job *j, const struct infer_choice *c,
                       infer_error *err)
{
	if (run_cut(b->run, c) && !b->full++)
		b->first_full = j->line;
	if (run_unsatisfied(b->run, c) && !b->unsatisfied++)
		b->first_unsatisfied = j->line;
	buf_clear(&b->line);
	if (j->request.embed)
		embed_line(&b->line, c);
	else
		plain_line(&b->line, &b->scratch, c);
	return b->line.bad ? err_nomem(err) : say_out(b->line.at, b->line.len, err);
}

/* Write the answer of a task, or its error. */
static int write_answer(struct batch *b, const infer_task *t, infer_error *err)
{
	struct infer_answer a = { .created = (int64_t)time(NULL), .load_ms = b->run->load_ms };
	struct infer_run_info info;

	infer_task_answer(t, &a);
	for (int32_t i = 0; i < a.job->n; i++)
		b->cut += a.choices[i].finish == INFER_FINISH_LENGTH;
	b->requests++;
	if (b->text)
		return text_answer(b, a.job, a.choices, err);
	run_info(&info, b->run);
	info.sample = &a.job->request.sample;
	info.breakers = a.job->breaker_texts;
	info.n_breakers = a.job->n_breaker_texts;
	info.bad_words = a.job->bad_words;
	info.n_bad_words = a.job->n_bad_words;
	info.seed_random = 0;
	info.options_sha256 = b->earlier.options;
	return send_records(b, infer_write_answer(b->writer, &a, &info, err), err);
}

/* Write the answer and free the task. */
static int finish_task(struct batch *b, infer_task *t, infer_error *err)
{
	const struct infer_fault *f = infer_task_fault(t);
	int rc = run_unchanged(b->run, INFER_OK, err);

	if (!rc)
		rc = f->kind ? answer_fault(b, infer_task_job(t), f, err) : write_answer(b, t, err);
	infer_task_free(t);
	return rc;
}

/* Estimate the bytes of a stored answer. */
static size_t answer_bytes(const infer_task *t)
{
	struct infer_answer a = { 0 };

	infer_task_answer(t, &a);
	size_t bytes = 1024 + a.job->request.n_prompt * 16;

	for (int32_t i = 0; !a.job->fault.kind && i < a.job->n; i++)
		bytes += a.choices[i].text.len + a.choices[i].n_tokens * sizeof *a.choices->tokens;
	return bytes;
}

/* Write the answer of a task now or, with --ordered, after those before it. */
static int request_end(struct batch *b, infer_task *t, uintptr_t ticket, infer_error *err)
{
	if (!b->ordered)
		return finish_task(b, t, err);
	order_put(&b->order, ticket, t, answer_bytes(t));
	while ((t = order_next(&b->order)))
		TRY(finish_task(b, t, err));
	return INFER_OK;
}

/* Start a job, or answer it at once if it is a fault. Takes the job. */
static int request_start(struct batch *b, infer_job *j, infer_error *err)
{
	uint64_t ticket = 0;
	infer_task *t;
	int rc = b->ordered ? order_take(&b->order, &ticket) : INFER_OK;

	if (!rc)
		rc = infer_runner_start(&t, b->run->runner, j, (void *)(uintptr_t)ticket,
		                        INFER_TASK_OWNS_JOB, err);
	if (rc) {
		infer_job_free(j);
		return err_nomem(err);
	}
	return infer_task_ended(t) ? request_end(b, t, (uintptr_t)ticket, err) : INFER_OK;
}

static int take_events(struct batch *b, infer_error *err)
{
	struct infer_got got;

	for (;;) {
		TRY(infer_runner_next(b->run->runner, &got, err));
		if (!got.task)
			return INFER_OK;
		if (infer_task_ended(got.task))
			TRY(request_end(b, got.task, (uintptr_t)got.user, err));
	}
}

/* ---- lines */

/* Turn a job with a duplicate id into a fault without an id. */
static void set_duplicate(infer_job *j)
{
	j->fault = (struct infer_fault){ .param = "id", .kind = INFER_FAULT_INVALID };
	err_set(&j->fault.error, INFER_EINVAL, "line %lld: the id '%.80s' occurs twice",
	        (long long)j->line, j->id);
	j->id = NULL;
}

/* Check the id of a job. *skip: 1 if it is not a request, or is already answered. */
static int check_job(struct batch *b, infer_job *j, int *skip, infer_error *err)
{
	int rc = j->id && !b->in.text ? seen_add(&b->ids, j->id, strlen(j->id)) : INFER_OK, done;

	if (rc == INFER_EINVAL)
		set_duplicate(j);
	done = rc == INFER_ENOMEM ? -1 : earlier_has(&b->earlier, j);
	if (done < 0)
		return err_nomem(err);
	*skip = j->is_other || done;
	return INFER_OK;
}

/* Start or skip a job. Takes the job. */
static int start_job(struct batch *b, infer_job *j, infer_error *err)
{
	int skip = 0, rc = check_job(b, j, &skip, err);

	if (!rc && !skip && j->reply.tools && !b->had_tools) {
		b->had_tools = 1;
		rc = chat_warn_calls(&b->chat, NULL, err);
	}
	if (!rc && !skip)
		return request_start(b, j, err);
	infer_job_free(j);
	return rc;
}

/* Set *e to the error for a line that is too long. */
static void line_too_long(const struct batch *b, infer_error *e)
{
	struct infer_engine_info info;

	infer_engine_info(b->run->engine, &info);
	if (b->in.text)
		err_set(e, INFER_ENOMEM,
		        "longer than %zu bytes, more than a context of %d tokens can hold",
		        b->in.in.longest, (int)info.ctx);
	else
		err_set(e, INFER_EINVAL, "the line is longer than %zu bytes", b->in.in.longest);
}

/* Refuse a file that is one JSON array. Some of its lines could be valid requests. */
static int check_array(const struct batch *b, const char *at, size_t n, infer_error *err)
{
	while (n && (*at == ' ' || *at == '\t'))
		at++, n--;
	if (!n || *at != '[')
		return INFER_OK;
	return err_set(
		err, INFER_EFORMAT,
		"%s: line %lld: requests must be objects, one per line, not an array; jq -c '.[]' "
		"writes an array as lines",
		b->in.in.name, (long long)b->in.in.number);
}

static int start_line(struct batch *b, enum lines_got got, const char *at, size_t n,
                      infer_error *err)
{
	int64_t number = b->in.in.number;
	uint32_t flags = b->in.text ? INFER_LINE_TEXT : 0;
	infer_error e;
	infer_job *j;

	if (got == LINES_LONG) {
		line_too_long(b, &e);
		TRY(infer_line_bad(&j, number, flags, &e, err));
	} else if (!b->in.text && lines_blank(at, n)) {
		return INFER_OK;
	} else {
		if (!b->in.text && !b->begun++)
			TRY(check_array(b, at, n, err));
		TRY(infer_line_read(&j, at, n, number, flags, b->reader, err));
	}
	return start_job(b, j, err);
}

/* Read and start lines until a limit is reached. Waits for a line only if nothing runs. *over: 1 at the end
 * of the input. */
static int start_lines(struct batch *b, int *over, infer_error *err)
{
	enum lines_got got;
	const char *at;
	size_t n;

	while (!*over && infer_runner_samples(b->run->runner) < b->most && !order_full(&b->order)) {
		/* wait no longer than the sync period */
		TRY(source_next(&b->in,
		                infer_runner_busy(b->run->runner) ? 0
		                : b->run->o->resume               ? SYNC_MS
		                                                  : -1,
		                &got, &at, &n, err));
		*over = got == LINES_END;
		if (got == LINES_NONE || got == LINES_END)
			break;
		TRY(start_line(b, got, at, n, err));
	}
	return INFER_OK;
}

static int sync_now(struct batch *b, infer_error *err)
{
	b->synced_ns = clock_now_ns();
	return b->run->o->resume ? outfile_sync(&b->out, err) : INFER_OK;
}

/* Run all requests. */
static int run_requests(struct batch *b, infer_error *err)
{
	const struct earlier *e = &b->earlier;
	int over = 0;

	b->synced_ns = b->began_ns = clock_now_ns();
	progress_begin("batch", PROGRESS_ITEMS, e->n_asked);
	while (!over || infer_runner_busy(b->run->runner)) {
		TRY(start_lines(b, &over, err));
		if (infer_runner_busy(b->run->runner)) {
			TRY(run_step(b->run, err));
			TRY(take_events(b, err));
		}
		stats_tell(b->run, b->requests - e->records + e->there, e->n_asked, b->failed);
		if (clock_ms(b->synced_ns, clock_now_ns()) >= SYNC_MS)
			TRY(sync_now(b, err));
	}
	return sync_now(b, err);
}

/* ---- before and after */

/* Set the model file and the digest of the options that earlier records are compared with. */
static int set_origin(struct batch *b, infer_error *err)
{
	const struct run_opts *o = b->run->o;
	const infer_file *f = infer_model_file(b->run->model);
	const infer_tokenizer *t = infer_model_tokenizer(b->run->model);
	struct infer_str source = { NULL, 0 };
	struct buf text;

	buf_init(&text, MEM_BASE);
	b->earlier.file = f;
	int rc = b->chat.template ? chat_source(&text, &o->chat, f, t, err) : INFER_OK;

	if (text.bad)
		rc = err_nomem(err);
	if (!rc) {
		source = (struct infer_str){ text.at, text.len };
		rc = infer_job_opts_sha256(b->earlier.options, &b->opts, b->run->engine,
		                           text.len ? &source : NULL, err);
	}
	buf_fini(&text);
	return rc;
}

static int fill_opts(struct batch *b, infer_error *err)
{
	const struct run *r = b->run;
	const struct run_opts *o = r->o;
	const struct sampling *s = &r->sampling;

	struct infer_engine_info info;
	const char *calls_name;

	infer_engine_info(r->engine, &info);
	TRY(run_stop(&b->stop, r, err));
	if (!o->raw)
		TRY(chat_take(&b->chat, &o->chat, infer_model_file(r->model),
		              infer_model_tokenizer(r->model), err));
	/* ChatML is for conversations; a prompt alone is continued */
	const int messages_only = b->chat.is_chatml && !chat_given(&o->chat);

	if (o->lines && b->chat.template && !messages_only && o->special)
		return err_set(err, INFER_EINVAL, PROMPT_NO_SPECIAL);
	b->opts = (struct infer_job_opts){
		.model = r->model,
		.ctx = info.ctx,
		.sample = s->o,
		.breaker_texts = s->breaker_texts,
		.n_breaker_texts = s->n_breaker_texts,
		.stop = b->stop,
		.n_stop = o->stop.n,
		.stop_tokens = r->stop_tokens,
		.n_stop_tokens = o->stop_tokens.n,
		.max_tokens = (int32_t)o->max_tokens,
		.max_tokens_given = o->max_tokens >= 0,
		.logprobs = (int32_t)o->logprobs,
		.flags = o->ignore_eos ? INFER_REQ_IGNORE_EOS : 0,
		.encode = o->special ? INFER_ENCODE_SPECIAL : 0,
		.chat = b->chat.template,
		.chat_tools = b->chat.with_tools,
		.conversation = b->chat.c,
		.reason_limit = b->chat.reason_limit,
		.raw = o->raw,
		.messages_only = messages_only,
		.grammar = r->constrain.grammar,
		.constraint = r->constrain.source,
		.calls = constrain_calls(&o->constrain, &calls_name),
		.where = " in a batch",
		.reads = o->with_request ? INFER_JOB_KEEP : 0,
		.adapters = r->adapters.set,
	};
	b->opts.calls_name = calls_name;
	if (o->embed != EMBED_NONE) {
		b->opts.reads |= INFER_JOB_EMBED;
		b->opts.no_normalize = o->no_normalize;
		TRY(embed_pooling(&b->opts.embed, o, r->model, err));
	}
	return infer_job_reader_new(&b->reader, &b->opts, err);
}

/* Check that --resume is not the input of --batch, because such a batch would never end. */
static int check_out(const struct batch *b, infer_error *err)
{
	const char *out = b->run->o->resume;
	struct stat in, st;

	if (!out || fstat(b->in.in.fd, &in) || stat(out, &st) || in.st_dev != st.st_dev ||
	    in.st_ino != st.st_ino)
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "--resume %s is the file that --batch reads", out);
}

/* Open the file of --resume and read the records of earlier runs. */
static int resume_records(struct batch *b, infer_error *err)
{
	struct earlier *e = &b->earlier;

	TRY(outfile_open(&b->out, b->run->o->resume, b->writer, earlier_add, e, err));
	b->requests = e->records;
	b->failed = e->failed;
	if (e->there)
		say_summary("%llu of %llu are already answered", (unsigned long long)e->there,
		            (unsigned long long)e->n_asked);
	else if (e->records && !e->whole)
		say_summary("%llu are already answered", (unsigned long long)e->records);
	return INFER_OK;
}

static int open_batch(struct batch *b, infer_error *err)
{
	const struct run_opts *o = b->run->o;

	TRY(source_open(&b->in, o, b->run->rest, err));
	if (b->in.text) {
		const struct input_bound bound = run_bound(b->run);
		size_t most = bound.most(bound.user);

		b->in.in.longest = most > INPUT_FREE ? most : INPUT_FREE;
	}
	TRY(check_out(b, err));
	TRY(fill_opts(b, err));
	TRY(set_origin(b, err));
	if (!b->in.text)
		TRY(earlier_scan(&b->earlier, &b->in.in, b->reader, err));
	TRY(run_writer(&b->writer, b->run, err));
	if (o->resume)
		TRY(resume_records(b, err));
	earlier_end(&b->earlier);
	return run_confine(o, 0, err);
}

static void close_batch(struct batch *b)
{
	infer_records_free(b->writer);
	outfile_close(&b->out);
	infer_job_reader_free(b->reader);
	chat_fini(&b->chat);
	seen_fini(&b->ids);
	earlier_fini(&b->earlier);
	buf_fini(&b->line);
	buf_fini(&b->scratch);
	mem_free(b->stop);
	order_fini(&b->order);
	source_close(&b->in);
}

static int outcome(const struct batch *b)
{
	unsigned long long failed = b->failed, n = b->requests;

	if (b->full)
		say_warning("the context was full for %llu answers, the first that of line %lld: "
		            "they are cut",
		            (unsigned long long)b->full, (long long)b->first_full);
	if (b->unsatisfied)
		say_warning("-n %lld cut %llu answers, the first that of line %lld, before they "
		            "satisfied %s",
		            (long long)b->run->o->max_tokens, (unsigned long long)b->unsatisfied,
		            (long long)b->first_unsatisfied,
		            constrain_given(&b->run->o->constrain));
	if (!b->failed)
		return b->cut && b->run->o->fail_on_length ? EXIT_LENGTH : EXIT_DONE;
	if (b->text)
		say_error("%llu of %llu lines failed", failed, n);
	else
		say_error("%llu of %llu requests failed; the record of each says why", failed, n);
	return EXIT_SOME;
}

int batch(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct run r;
	struct batch b = { .run = &r,
		           .out.fd = -1,
		           .ordered = o->ordered || o->lines,
		           .text = o->lines && o->output == OUTPUT_TEXT,
		           .most = WAITING * BATCH_SEQS };
	int rc = run_open(&r, o, rest, &err);

	if (rc)
		return say_fail(&err);
	if (!o->sampling.seed.given)
		r.sampling.o.seed = 0; /* so that a batch has the same answers every time */
	seen_init(&b.ids, MEM_BASE, REMEMBERED);
	earlier_init(&b.earlier, o);
	buf_init(&b.line, MEM_BASE);
	buf_init(&b.scratch, MEM_BASE);
	order_init(&b.order, WINDOW, WINDOW_BYTES);
	rc = open_batch(&b, &err);
	if (!rc)
		rc = run_requests(&b, &err);
	rc = run_unchanged(&r, rc, &err);
	progress_end();
	if (!rc)
		stats_sum_up(&r, b.began_ns, b.requests - b.earlier.records,
		             b.failed - b.earlier.failed);
	int code = rc ? say_fail(&err) : outcome(&b);

	if (!rc && o->stats)
		stats_take(&r, NULL, 0);
	close_batch(&b);
	run_close(&r);
	return code;
}
