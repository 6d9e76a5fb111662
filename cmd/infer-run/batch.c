#include "run.h"
#include "lines.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/seen.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* WAITING: samples that may wait or run for each sequence of the engine, so that a seat that falls free is taken at once.
 * REMEMBERED: ids of a pipe that are compared with the next. */
enum { WAITING = 2, REMEMBERED = 1 << 19, SYNC_MS = 1000 };

struct batch;
struct request_run;
struct sample {
	struct request_run *of;
	struct buf text, events;     /* events: struct infer_event [], their lists in `tops` */
	struct arena tops;
	infer_reply *reply;          /* of a conversation: it has the text */
	int finish;
	struct infer_usage usage;
};
/* A request whose samples wait or run. */
struct request_run {
	struct request_run *prev, *next;
	infer_job *job;
	int32_t submitted, ended;
	infer_error error;           /* of the first sample that failed */
	struct sample samples[];     /* [job->n] */
};

struct batch {
	struct run *run;
	infer_writer *writer;
	struct lines in;
	int fd;                      /* of a file, or -1 */
	struct infer_job_opts opts;
	struct infer_str *stop;
	infer_breakers *breakers;
	struct chat chat;
	struct seen ids, done, done_lines;   /* done: before this run, in --resume: names; the lines of errors without an id */
	struct seen asked, wanted;           /* of a file of requests, for --resume: ids, and names */
	int looked;                  /* they are of the whole file */
	struct buf name;
	char model_id[65], options[65];
	struct request_run *running;
	int32_t samples, most;       /* submitted and not ended; when no more lines are read */
	uint64_t requests, failed, cut;
	int64_t synced_ns;
};

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the batch");
}

/* What names a request: its id, and of which line.  NULL: no memory. */
static const struct buf *name_of(struct batch *b, const char *id, const char *sha256)
{
	buf_clear(&b->name);
	buf_put(&b->name, id, strlen(id) + 1);
	buf_puts(&b->name, sha256);
	return b->name.bad ? NULL : &b->name;
}

static int add_name(struct batch *b, struct seen *s, const char *id, const char *sha256)
{
	const struct buf *n = name_of(b, id, sha256);

	return n ? seen_add(s, n->at, n->len) : INFER_ENOMEM;
}

/* 1, 0; -1: no memory. */
static int has_name(struct batch *b, const struct seen *s, const char *id, const char *sha256)
{
	const struct buf *n = name_of(b, id, sha256);

	return n ? seen_has(s, n->at, n->len) : -1;
}

/* A record that does not say which line it answers answers every line of its id. */
static int is_done(struct batch *b, const infer_job *j)
{
	int has = has_name(b, &b->done, j->id, "");

	return has ? has : has_name(b, &b->done, j->id, j->request_sha256);
}

/* ---- answers */

static int answer_error(struct batch *b, const infer_job *j, uint32_t flags, const infer_error *e, const char *param,
                        infer_error *err)
{
	b->requests++;
	b->failed++;
	return infer_write_job_error(b->writer, j, flags, e, param, err);
}

static int answer(struct batch *b, struct request_run *q, infer_error *err)
{
	const infer_job *j = q->job;
	struct infer_completion *c = mem_zalloc(MEM_BASE, (size_t)j->n, sizeof *c);
	struct infer_run_info info;

	if (!c)
		return no_memory(err);
	for (int32_t i = 0; i < j->n; i++) {
		const struct sample *s = &q->samples[i];

		c[i] = (struct infer_completion){
			.id = j->id, .request_sha256 = j->request_sha256, .text = s->text.at ? s->text.at : "", .text_bytes = s->text.len, .finish = s->finish,
			.usage = s->usage, .load_ms = b->run->load_ms, .reply = s->reply, .flags = j->id_whole ? INFER_RECORD_ID_WHOLE : 0,
		};
		if (s->reply) {
			struct infer_reply_parts parts;

			infer_reply_get(s->reply, &parts);
			c[i].text = parts.content.at;
			c[i].text_bytes = parts.content.len;
		}
		if (j->logprobs >= 0) {
			c[i].tokens = (const struct infer_event *)(const void *)s->events.at;
			c[i].n_tokens = s->events.len / sizeof *c[i].tokens;
			c[i].flags |= INFER_RECORD_TOKENS | INFER_RECORD_LOGPROBS;
		}
		b->cut += s->finish == INFER_FINISH_LENGTH;
	}
	run_info(&info, b->run);
	info.sample = &j->request.sample;
	info.breakers = j->breaker_texts;
	info.n_breakers = j->n_breaker_texts;
	info.seed_random = 0;
	info.options_sha256 = b->options;
	b->requests++;
	int rc = infer_write_job(b->writer, j, c, &info, err);

	mem_free(c);
	return rc;
}

/* ---- requests that run */

static void request_free(struct batch *b, struct request_run *q)
{
	if (q->prev)
		q->prev->next = q->next;
	else
		b->running = q->next;
	if (q->next)
		q->next->prev = q->prev;
	for (int32_t i = 0; i < q->job->n; i++) {
		buf_fini(&q->samples[i].text);
		buf_fini(&q->samples[i].events);
		arena_fini(&q->samples[i].tops);
		infer_reply_free(q->samples[i].reply);
	}
	infer_job_free(q->job);
	mem_free(q);
}

static int request_end(struct batch *b, struct request_run *q, infer_error *err)
{
	struct infer_engine_info info;

	infer_engine_info(b->run->engine, &info);
	size_t want = q->job->request.n_prompt + (q->job->request.max_tokens != 0);
	uint32_t flags = q->error.code == INFER_ENOMEM && want > (size_t)info.ctx ? INFER_RECORD_TOO_LONG : 0;
	int rc = run_unchanged(b->run, INFER_OK, err);

	if (!rc)
		rc = q->error.code ? answer_error(b, q->job, flags, &q->error, NULL, err) : answer(b, q, err);

	request_free(b, q);
	say_progress("%llu requests", (unsigned long long)b->requests);
	return rc;
}

/* Give the engine samples up to `to`; one that it refuses has ended. */
static void submit(struct batch *b, struct request_run *q, int32_t to)
{
	while (q->submitted < to) {
		struct infer_request r = q->job->request;
		infer_error e = { 0 };

		r.sample.seed = infer_job_seed(q->job, q->submitted);
		r.user = &q->samples[q->submitted];
		q->submitted++;
		if (!infer_engine_submit(b->run->engine, &r, NULL, &e)) {
			b->samples++;
			continue;
		}
		q->ended++;
		if (!q->error.code)
			q->error = e;
	}
}

/* Takes the job.  The first sample alone: when its prompt is computed, the others find it in the prefix cache. */
static int request_start(struct batch *b, infer_job *j, infer_error *err)
{
	struct request_run *q = mem_zalloc(MEM_BASE, 1, sizeof *q + (size_t)j->n * sizeof *q->samples);

	if (!q) {
		infer_job_free(j);
		return no_memory(err);
	}
	q->job = j;
	q->next = b->running;
	if (q->next)
		q->next->prev = q;
	b->running = q;
	for (int32_t i = 0; i < j->n; i++) {
		q->samples[i].of = q;
		buf_init(&q->samples[i].text, MEM_BASE);
		buf_init(&q->samples[i].events, MEM_BASE);
		arena_init(&q->samples[i].tops, MEM_BASE);
	}
	for (int32_t i = 0; j->chat && i < j->n && !q->error.code; i++)
		if (infer_reply_new(&q->samples[i].reply, j->chat, &j->reply, &q->error) == INFER_ENOMEM)
			return err_set(err, INFER_ENOMEM, "%s", q->error.message);
	if (q->error.code)
		return request_end(b, q, err);
	submit(b, q, 1);
	return q->ended ? request_end(b, q, err) : INFER_OK;
}

static int take_event(struct batch *b, const struct infer_event *ev, infer_error *err)
{
	struct sample *s = ev->user;
	struct request_run *q = s->of;

	if (s->reply)
		TRY(infer_reply_put(s->reply, ev->text, ev->text_bytes, err));
	else
		buf_put(&s->text, ev->text, ev->text_bytes);
	if (s->text.bad)
		return no_memory(err);
	if (s->reply && ev->kind == INFER_EVENT_DONE)
		TRY(infer_reply_end(s->reply, err));
	if (ev->kind == INFER_EVENT_TOKEN && q->job->logprobs >= 0)
		TRY(event_keep(&s->events, &s->tops, ev, err));
	if (ev->kind == INFER_EVENT_DONE) {
		s->finish = ev->finish;
		s->usage = ev->usage;
		b->samples--;
		q->ended++;
		if (ev->code && !q->error.code)
			err_set(&q->error, ev->code, "%s", ev->message);
	}
	if (q->submitted < q->job->n) {
		if (q->error.code)           /* the others would fare no better */
			q->ended += q->job->n - q->submitted;
		else
			submit(b, q, q->job->n);
	}
	return q->ended >= q->job->n ? request_end(b, q, err) : INFER_OK;
}

/* ---- lines */

static int is_blank(const char *at, size_t n)
{
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\t' || at[n - 1] == '\r'))
		n--;
	return !n;
}

/* What has no id of its own is said once, under the line. */
static int refuse_line(struct batch *b, const infer_job *j, const infer_error *e, const char *param, infer_error *err)
{
	if (seen_has(&b->done_lines, &j->line, sizeof j->line))
		return INFER_OK;
	return answer_error(b, j, INFER_RECORD_NO_ID, e, param, err);
}

/* An id that was there before: it has its own answer. */
static int refuse_again(struct batch *b, const infer_job *j, infer_error *err)
{
	infer_error e;

	err_set(&e, INFER_EINVAL, "line %lld: the id '%.80s' was there before", (long long)j->line, j->id);
	return refuse_line(b, j, &e, "id", err);
}

/* Takes the job. */
static int take_job(struct batch *b, infer_job *j, infer_error *err)
{
	int rc = j->id ? seen_add(&b->ids, j->id, strlen(j->id)) : INFER_OK, done = rc || !j->id ? 0 : is_done(b, j);

	rc = done < 0 ? INFER_ENOMEM : rc;
	if (rc == INFER_ENOMEM)
		no_memory(err);
	else if (rc)
		rc = refuse_again(b, j, err);
	else if (j->is_other || done)
		rc = INFER_OK;
	else if (!j->id)
		rc = refuse_line(b, j, &j->error, j->param, err);
	else if (j->error.code)
		rc = answer_error(b, j, 0, &j->error, j->param, err);
	else
		return request_start(b, j, err);
	infer_job_free(j);
	return rc;
}

static int take_line(struct batch *b, enum lines_got got, const char *at, size_t n, infer_error *err)
{
	infer_error e;
	infer_job *j;

	if (got == LINES_LONG) {
		err_set(&e, INFER_EINVAL, "the line is longer than %d bytes", LINES_LONGEST);
		TRY(infer_job_bad(&j, b->in.number, &e, err));
	} else if (is_blank(at, n)) {
		return INFER_OK;
	} else {
		TRY(infer_job_read(&j, at, n, b->in.number, 0, &b->opts, err));
	}
	return take_job(b, j, err);
}

/* Lines while there is room; waits for one only where nothing runs. */
static int take_lines(struct batch *b, int *over, infer_error *err)
{
	enum lines_got got;
	const char *at;
	size_t n;

	while (!*over && b->samples < b->most) {
		/* what is written and not on the disk yet does not wait longer than it may */
		TRY(lines_next(&b->in, b->running ? 0 : b->run->o->resume ? SYNC_MS : -1, &got, &at, &n, err));
		*over = got == LINES_END;
		if (got == LINES_NONE || got == LINES_END)
			break;
		TRY(take_line(b, got, at, n, err));
	}
	return INFER_OK;
}

static int sync_now(struct batch *b, infer_error *err)
{
	b->synced_ns = clock_now_ns();
	return b->run->o->resume ? infer_writer_sync(b->writer, err) : INFER_OK;
}

static int drive(struct batch *b, infer_error *err)
{
	struct infer_event ev;
	int over = 0;

	b->synced_ns = clock_now_ns();
	while (!over || b->running) {
		TRY(take_lines(b, &over, err));
		if (b->running) {
			TRY(infer_engine_step(b->run->engine, err));
			while (infer_engine_next(b->run->engine, &ev))
				TRY(take_event(b, &ev, err));
		}
		if (clock_ms(b->synced_ns, clock_now_ns()) >= SYNC_MS)
			TRY(sync_now(b, err));
	}
	return sync_now(b, err);
}

/* ---- before and after */

/* An id of a file; INFER_EINVAL: it was there before.  Lines without one may be equal. */
static int take_asked(struct batch *b, const infer_job *j)
{
	int rc = j->id ? seen_add(&b->asked, j->id, strlen(j->id)) : INFER_OK;

	if (rc || !b->run->o->resume)
		return rc;
	rc = add_name(b, &b->wanted, j->id ? j->id : "", j->request_sha256);
	return rc == INFER_EINVAL ? INFER_OK : rc;
}

/* Ids of a file are looked at before anything runs. */
static int check_ids(struct batch *b, infer_error *err)
{
	off_t from = lseek(b->in.fd, 0, SEEK_CUR);
	enum lines_got got = LINES_NONE;
	struct stat st;
	const char *at;
	size_t n;
	int rc = INFER_OK;

	if (fstat(b->in.fd, &st) || !S_ISREG(st.st_mode) || from < 0)
		return INFER_OK;
	while (!rc && !(rc = lines_next(&b->in, -1, &got, &at, &n, err)) && got != LINES_END) {
		infer_job *j = NULL;

		if (got == LINES_LONG || is_blank(at, n))
			continue;
		rc = infer_job_read(&j, at, n, b->in.number, INFER_JOB_ID, &b->opts, err);
		if (!rc && !j->is_other)
			rc = take_asked(b, j);
		if (rc == INFER_EINVAL)
			rc = err_set(err, INFER_EFORMAT, "%s: line %lld: the id '%.80s' was there before", b->in.name,
			             (long long)j->line, j->id);
		else if (rc)
			no_memory(err);
		infer_job_free(j);
	}
	b->looked = !rc;
	lines_fini(&b->in);
	lines_init(&b->in, b->in.fd, b->in.name);
	if (!rc && lseek(b->in.fd, from, SEEK_SET) < 0)
		rc = err_errno(err, errno, "%s", b->in.name);
	return rc;
}

/* Answers of one file are of one model and one set of options, unless --mix. */
static int check_mix(const struct batch *b, const struct infer_done *d, infer_error *err)
{
	const char *what = d->model_id && strcmp(d->model_id, b->model_id)        ? "another model"
	                   : d->options_sha256 && strcmp(d->options_sha256, b->options) ? "other options"
	                                                                                : NULL;

	if (!what || b->run->o->mix)
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "%s: the record of '%.80s' was made with %s; --mix goes on all the same", b->run->o->resume,
	               d->id ? d->id : "", what);
}

/* What is not to stay is run again: failed ones with --retry-errors, and those whose line is another now. */
static int on_done(void *user, struct infer_done *d, infer_error *err)
{
	struct batch *b = user;
	int wanted = 1, rc;

	if (d->request_sha256 && (d->id ? seen_has(&b->asked, d->id, strlen(d->id)) : b->looked))
		wanted = has_name(b, &b->wanted, d->id ? d->id : "", d->request_sha256);
	if (wanted < 0)
		return no_memory(err);
	d->drop = !wanted || (d->failed && b->run->o->retry_errors);
	if (d->drop)
		return INFER_OK;
	TRY(check_mix(b, d, err));
	rc = d->id ? add_name(b, &b->done, d->id, d->request_sha256 ? d->request_sha256 : "")
	           : seen_add(&b->done_lines, &d->line, sizeof d->line);
	b->failed += d->failed;
	b->requests++;
	return rc == INFER_ENOMEM ? no_memory(err) : INFER_OK;
}

/* What the answers depend on beside their requests. */
static int take_names(struct batch *b, infer_error *err)
{
	const struct run_opts *o = b->run->o;
	const infer_file *f = infer_model_file(b->run->model);
	struct infer_str source = { NULL, 0 };
	struct buf text;

	buf_init(&text, MEM_BASE);
	infer_file_id(f, b->model_id);
	int rc = b->chat.template ? chat_source(&text, &o->chat, f, err) : INFER_OK;

	if (text.bad)
		rc = no_memory(err);
	if (!rc) {
		source = (struct infer_str){ text.at, text.len };
		rc = infer_job_opts_sha256(b->options, &b->opts, b->run->engine, text.len ? &source : NULL, err);
	}
	buf_fini(&text);
	return rc;
}

static int fill_opts(struct batch *b, infer_error *err)
{
	const struct run *r = b->run;
	const struct run_opts *o = r->o;
	const struct sampling *s = &r->sampling;

	b->stop = mem_alloc(MEM_BASE, (size_t)o->stop.n, sizeof *b->stop);
	if (!b->stop)
		return no_memory(err);
	for (int i = 0; i < o->stop.n; i++)
		b->stop[i] = (struct infer_str){ o->stop.at[i], strlen(o->stop.at[i]) };
	if (!o->raw)
		TRY(chat_take(&b->chat, &o->chat, infer_model_file(r->model), err));
	TRY(infer_breakers_new(&b->breakers, infer_model_tokenizer(r->model), s->breaker_texts, s->n_breaker_texts, err));
	b->opts = (struct infer_job_opts){
		.model = r->model, .sample = s->o, .breaker_texts = s->breaker_texts, .n_breaker_texts = s->n_breaker_texts,
		.breakers = b->breakers, .stop = b->stop, .n_stop = o->stop.n, .stop_tokens = r->stop_tokens,
		.n_stop_tokens = o->stop_tokens.n, .max_tokens = (int32_t)o->max_tokens,
		.max_tokens_given = o->max_tokens >= 0, .logprobs = (int32_t)o->logprobs,
		.flags = o->ignore_eos ? INFER_REQ_IGNORE_EOS : 0, .encode = o->special ? INFER_ENCODE_SPECIAL : 0,
		.chat = b->chat.template, .chat_tools = b->chat.with_tools, .talk = b->chat.c, .raw = o->raw,
		.special = b->chat.template && infer_reply_special(b->chat.template, infer_model_tokenizer(r->model)),
		.special_tools = b->chat.with_tools && infer_reply_special(b->chat.with_tools, infer_model_tokenizer(r->model)),
	};
	return INFER_OK;
}

/* Answers behind the requests that are being read would come to no good end. */
static int check_out(const struct batch *b, infer_error *err)
{
	const char *out = b->run->o->resume;
	struct stat in, st;

	if (!out || fstat(b->in.fd, &in) || stat(out, &st) || in.st_dev != st.st_dev || in.st_ino != st.st_ino)
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "--resume %s is the file that --batch reads", out);
}

static int open_all(struct batch *b, infer_error *err)
{
	const struct run_opts *o = b->run->o;
	int from_stdin = !strcmp(o->batch, "-");

	b->fd = from_stdin ? -1 : open(o->batch, O_RDONLY | O_CLOEXEC);
	if (!from_stdin && b->fd < 0)
		return err_errno(err, errno, "%s", o->batch);
	lines_init(&b->in, from_stdin ? STDIN_FILENO : b->fd, from_stdin ? "standard input" : o->batch);
	TRY(check_out(b, err));
	TRY(fill_opts(b, err));
	TRY(take_names(b, err));
	TRY(check_ids(b, err));
	TRY(o->resume ? infer_writer_resume(&b->writer, o->resume, on_done, b, err)
	              : infer_writer_open(&b->writer, STDOUT_FILENO, err));
	seen_fini(&b->asked);
	seen_fini(&b->wanted);
	return run_confine(o, 0, err);
}

static void close_all(struct batch *b)
{
	while (b->running)
		request_free(b, b->running);
	infer_writer_free(b->writer);
	infer_breakers_free(b->breakers);
	chat_fini(&b->chat);
	seen_fini(&b->ids);
	seen_fini(&b->done);
	seen_fini(&b->done_lines);
	seen_fini(&b->asked);
	seen_fini(&b->wanted);
	buf_fini(&b->name);
	mem_free(b->stop);
	lines_fini(&b->in);
	if (b->fd >= 0)
		close(b->fd);
}

static int outcome(const struct batch *b)
{
	if (!b->failed)
		return b->cut && b->run->o->fail_on_length ? EXIT_LENGTH : EXIT_DONE;
	say_error("%llu of %llu requests failed; the record of each says why", (unsigned long long)b->failed,
	          (unsigned long long)b->requests);
	return EXIT_SOME;
}

int batch(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	struct run r;
	struct batch b = { .run = &r, .fd = -1, .most = WAITING * BATCH_SEQS };
	int rc = run_open(&r, o, rest, &err);

	if (rc)
		return say_fail(&err);
	if (!o->sampling.seed.given)
		r.sampling.o.seed = 0;       /* a batch is the same every time */
	seen_init(&b.ids, MEM_BASE, REMEMBERED);
	seen_init(&b.done, MEM_BASE, 0);
	seen_init(&b.done_lines, MEM_BASE, 0);
	seen_init(&b.asked, MEM_BASE, 0);
	seen_init(&b.wanted, MEM_BASE, 0);
	buf_init(&b.name, MEM_BASE);
	rc = open_all(&b, &err);
	if (!rc)
		rc = drive(&b, &err);
	rc = run_unchanged(&r, rc, &err);
	say_progress_end();
	int code = rc ? say_fail(&err) : outcome(&b);

	if (!rc && o->stats)
		stats_take(&r, NULL, 0);
	close_all(&b);
	run_close(&r);
	return code;
}
