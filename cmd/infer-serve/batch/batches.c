/* infer-serve/batch/batches.c - the thread that runs batches. */
#include "infer-serve/batch/batches.h"
#include "infer-serve/batch/batch_lines.h"
#include "infer-serve/batch/batch_output.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/batch/line_run.h"
#include "infer-serve/ops/otlp.h"
#include "infer-serve/ops/server.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* RUNNING: lines of a batch that run at the same time. SYNC_MS: interval of syncs. ROOM_S: interval of
 * attempts to write to a full disk. */
enum { RUNNING = 16, SYNC_MS = 1000, ROOM_S = 1 };

/* The state of the batch that runs. */
struct batch_run {
	struct server *s;
	struct batch *b;
	struct batch_input in;
	struct seen ids;
	struct arena mem;
	struct buf line;
	struct batch_output out, errors;
	int64_t synced_ns;
	int late;    /* 1: lines expired before they could run */
	int is_full; /* 1: the disk is full, and a warning was printed */
};

/* ---- a disk that is full ---- */

/* Wait ROOM_S.  Returns 0 if the server stops. */
static int wait_for_room(struct batch_run *w, const infer_error *why)
{
	struct server *s = w->s;
	struct timespec until;
	int stop;

	if (!w->is_full)
		say_warning("%s: %s: it continues when there is room", w->b->id, why->message);
	w->is_full = 1;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ROOM_S;
	pthread_mutex_lock(&s->lock);
	if (!s->batches->stop)
		(void)pthread_cond_timedwait(&s->batches->wake, &s->lock, &until);
	stop = s->batches->stop;
	pthread_mutex_unlock(&s->lock);
	return !stop;
}

/* Repeat `step`, which writes, until the disk is no longer full.
 * INFER_EAGAIN  the server stops first; other errors are those of the step */
typedef int batch_step(struct batch_run *w, infer_error *err);
static int retry_until_room(struct batch_run *w, batch_step *step, infer_error *err)
{
	int rc;

	while ((rc = step(w, err)) == INFER_EAGAIN && wait_for_room(w, err))
		;
	if (!rc && w->is_full) {
		say_warning("%s: it continues", w->b->id);
		w->is_full = 0;
	}
	return rc;
}

/* ---- answers ---- */

static int write_both(struct batch_run *w, infer_error *err)
{
	TRY(batch_output_write(&w->out, err));
	return batch_output_write(&w->errors, err);
}

static int sync_both(struct batch_run *w, infer_error *err)
{
	TRY(batch_output_sync(&w->out, err));
	return batch_output_sync(&w->errors, err);
}

static int add_answer(struct batch_run *w, int failed, infer_error *err)
{
	TRY(batch_output_put(failed ? &w->errors : &w->out, &w->line, err));
	pthread_mutex_lock(&w->s->lock);
	if (failed)
		w->b->failed++;
	else
		w->b->completed++;
	pthread_mutex_unlock(&w->s->lock);
	return INFER_OK;
}

static void begin_answer(struct batch_run *w, struct jwrite *j, const char *name,
                         const char *custom_id)
{
	char id[40];

	buf_clear(&w->line);
	snprintf(id, sizeof id, "batch_req_%s", name);
	jw_init(j, &w->line);
	jw_object(j, NULL);
	jw_str(j, "id", id);
	jw_str(j, "custom_id", custom_id);
}

/* Append the answer of a line, unless it was cancelled. */
static int write_answer(struct batch_run *w, const struct line_run *l, infer_error *err)
{
	char id[40];
	struct jwrite j;

	if (!l->status)
		return INFER_OK;
	begin_answer(w, &j, l->api.name, l->custom_id);
	jw_object(&j, "response");
	jw_int(&j, "status_code", l->status);
	snprintf(id, sizeof id, "req_%s", l->api.name);
	jw_str(&j, "request_id", id);
	jw_raw(&j, "body", l->answer.at, l->answer.len);
	jw_end(&j);
	jw_null(&j, "error");
	jw_end(&j);
	buf_putc(&w->line, '\n');
	return add_answer(w, l->status != 200, err);
}

static int write_expired(struct batch_run *w, const char *custom_id, infer_error *err)
{
	char name[STORE_NAME];
	struct jwrite j;

	store_name_of(name, "", custom_id);
	name[16] = 0;
	begin_answer(w, &j, name, custom_id);
	jw_null(&j, "response");
	jw_object(&j, "error");
	jw_str(&j, "code", "batch_expired");
	jw_str(&j, "message", "the batch expired before this request could run");
	jw_end(&j);
	jw_end(&j);
	buf_putc(&w->line, '\n');
	w->late = 1;
	return add_answer(w, 1, err);
}

static int is_cancelled(const struct batch_run *w) { return w->b->status == BATCH_CANCELLING; }

/* Write the answers of finished lines until fewer than `most` lines run. */
static int collect_answers(struct batch_run *w, int32_t most, infer_error *err)
{
	struct server *s = w->s;
	struct line_run *done, *next;
	int rc = INFER_OK, busy = 1;

	while (busy) {
		pthread_mutex_lock(&s->lock);
		if (is_cancelled(w) || s->batches->stop || rc)
			lines_cancel(s);
		while (!s->batches->done && s->batches->running >= most)
			pthread_cond_wait(&s->batches->wake, &s->lock);
		done = s->batches->done;
		s->batches->done = NULL;
		busy = s->batches->running >= most;
		pthread_mutex_unlock(&s->lock);
		for (; done; done = next) {
			next = done->next_done;
			if (!rc && !done->api.is_gone) {
				rc = write_answer(w, done, err);
				otlp_put(&done->api, done->status);
			}
			line_free(done);
		}
		if (rc)
			most = 1;
	}
	if (rc)
		return rc;
	if (clock_ms(w->synced_ns, clock_now_ns()) < SYNC_MS)
		return retry_until_room(w, write_both, err);
	rc = retry_until_room(w, sync_both, err);
	w->synced_ns = clock_now_ns();
	return rc;
}

/* ---- lines ---- */

/* Start the request of one line, unless the line already has an answer. */
static int start_line(struct batch_run *w, const char *at, size_t n, infer_error *err)
{
	struct batch_line line;

	arena_reset(&w->mem);
	if (batch_line_read(&line, &w->mem, w->b->endpoint, at,
	                    n)) /* only a blank line fails: the others were validated */
		return INFER_OK;
	if (seen_has(&w->ids, line.id->s, line.id->n))
		return INFER_OK;
	if (time(NULL) >= w->b->created + BATCH_DAY_S) {
		const char *id = arena_strndup(&w->mem, line.id->s, line.id->n);

		return id ? write_expired(w, id, err)
		          : err_set(err, INFER_ENOMEM, "out of memory for a request");
	}
	return line_start(w->s, w->b, &line, err);
}

static int is_interrupted(struct batch_run *w)
{
	pthread_mutex_lock(&w->s->lock);
	int yes = is_cancelled(w) || w->s->batches->stop;

	pthread_mutex_unlock(&w->s->lock);
	return yes;
}

static int run_all_lines(struct batch_run *w, infer_error *err)
{
	const char *at;
	size_t n;
	int whole, got, rc = INFER_OK;

	while (!rc && !is_interrupted(w) &&
	       (got = batch_input_next(&w->in, &at, &n, &whole, err))) {
		rc = got < 0 ? err->code : start_line(w, at, n, err);
		if (!rc)
			rc = collect_answers(w, RUNNING, err);
	}
	infer_error last;
	int end = collect_answers(w, 1, rc ? &last : err);

	return rc ? rc : end;
}

/* ---- status ---- */

static int save_batch(struct batch_run *w, infer_error *err) { return batch_save(w->s, w->b, err); }

/* Change the status and save the batch. If saving fails, the next server runs the batch again. */
static void enter_status(struct batch_run *w, enum batch_status status)
{
	infer_error err;

	pthread_mutex_lock(&w->s->lock);
	batch_set(w->b, status);
	pthread_mutex_unlock(&w->s->lock);
	int rc = retry_until_room(w, save_batch, &err);

	if (rc && rc != INFER_EAGAIN)
		say_warning("%s: %s", w->b->id, err.message);
}

static void fail_batch(struct batch_run *w, const char *code, const char *message)
{
	struct jwrite j;
	struct buf b;

	buf_init(&b, MEM_BASE);
	jw_init(&j, &b);
	jw_object(&j, NULL);
	jw_str(&j, "object", "list");
	jw_array(&j, "data");
	jw_object(&j, NULL);
	jw_str(&j, "code", code);
	jw_str(&j, "message", message);
	jw_null(&j, "param");
	jw_null(&j, "line");
	jw_end(&j);
	jw_end(&j);
	jw_end(&j);
	pthread_mutex_lock(&w->s->lock);
	if (!w->b->faults && !b.bad)
		w->b->faults = mem_strndup(MEM_BASE, b.at, b.len);
	pthread_mutex_unlock(&w->s->lock);
	buf_fini(&b);
	enter_status(w, BATCH_FAILED);
}

static const char *answers_path(char to[STORE_NAME + 8], const struct batch *b, const char *suffix)
{
	snprintf(to, STORE_NAME + 8, "%s.%s", b->id, suffix);
	return to;
}

/* Rename BATCH.suffix to a file of the client and describe it. After a restart, each step may be done
 * already. */
static int publish_answers(struct batch_run *w, const char *suffix, char to[STORE_NAME],
                           infer_error *err)
{
	struct store *s = &w->s->store;
	char from[STORE_NAME + 8], name[STORE_NAME], filename[STORE_NAME + 16];
	int64_t bytes;

	answers_path(from, w->b, suffix);
	store_name_of(name, "file-", from);
	bytes = store_bytes(s, from);
	if (bytes < 0 && store_bytes(s, name) < 0)
		return INFER_OK;
	if (bytes == 0) {
		(void)store_remove(s, from);
		return INFER_OK;
	}
	if (bytes > 0) {
		snprintf(filename, sizeof filename, "%s_%s.jsonl", w->b->id,
		         !strcmp(suffix, "out") ? "output" : "error");
		TRY(files_describe(s, name, w->b->owner, bytes, filename, "batch_output", err));
		TRY(store_rename(s, from, name, err));
	}
	pthread_mutex_lock(&w->s->lock);
	snprintf(to, STORE_NAME, "%s", name);
	pthread_mutex_unlock(&w->s->lock);
	return INFER_OK;
}

static int publish_both(struct batch_run *w, infer_error *err)
{
	TRY(publish_answers(w, "out", w->b->output, err));
	return publish_answers(w, "err", w->b->errors, err);
}

/* Publish the answers written so far and set the batch to failed, with an error of the server. */
static void end_with_error(struct batch_run *w, const infer_error *why)
{
	infer_error err;

	say_warning("%s: %s", w->b->id, why->message);
	batch_output_cut(&w->out);
	batch_output_cut(&w->errors);
	if (publish_both(w, &err))
		say_warning("%s: %s", w->b->id, err.message);
	fail_batch(w, "server_error", why->message);
}

static void finish_batch(struct batch_run *w, enum batch_status status)
{
	infer_error err;
	int rc = retry_until_room(w, publish_both, &err);

	if (!rc)
		enter_status(w, status);
	else if (rc != INFER_EAGAIN)
		end_with_error(w, &err);
}

/* Check the input file. Returns 1 if its lines can be run. */
static int validate_input(struct batch_run *w)
{
	char *faults;
	int64_t total;
	infer_error err;
	int rc = batch_validate(&faults, &total, w->b, w->in.fd, w->s->o->max_body, &err);

	pthread_mutex_lock(&w->s->lock);
	w->b->total = total;
	w->b->faults = faults;
	int cancelled = is_cancelled(w);

	pthread_mutex_unlock(&w->s->lock);
	if (rc)
		fail_batch(w, "server_error", err.message);
	else if (faults)
		enter_status(w, BATCH_FAILED);
	else if (!cancelled)
		enter_status(w, BATCH_IN_PROGRESS);
	return !rc && !faults;
}

static int open_files(struct batch_run *w, infer_error *err)
{
	char name[STORE_NAME + 8];

	TRY(batch_output_open(&w->out, &w->s->store, answers_path(name, w->b, "out"), err));
	return batch_output_open(&w->errors, &w->s->store, answers_path(name, w->b, "err"), err);
}

static int open_answers(struct batch_run *w, infer_error *err)
{
	int64_t completed, failed;

	TRY(retry_until_room(w, open_files, err));
	TRY(batch_output_read(&w->out, &w->ids, &completed, err));
	TRY(batch_output_read(&w->errors, &w->ids, &failed, err));
	pthread_mutex_lock(&w->s->lock);
	w->b->completed = completed;
	w->b->failed = failed;
	pthread_mutex_unlock(&w->s->lock);
	return INFER_OK;
}

static void run_to_end(struct batch_run *w)
{
	infer_error err;
	int rc = open_answers(w, &err), stop, cancelled;

	if (!rc)
		rc = run_all_lines(w, &err);
	if (!rc)
		rc = retry_until_room(w, sync_both, &err);
	pthread_mutex_lock(&w->s->lock);
	stop = w->s->batches->stop;
	cancelled = is_cancelled(w);
	pthread_mutex_unlock(&w->s->lock);
	if (stop)
		return;
	if (rc) {
		end_with_error(w, &err);
		return;
	}
	if (!cancelled)
		enter_status(w, BATCH_FINALIZING);
	finish_batch(w, cancelled ? BATCH_CANCELLED : w->late ? BATCH_EXPIRED : BATCH_COMPLETED);
}

static void run_batch(struct server *s, struct batch *b)
{
	struct batch_run w = { .s = s, .b = b, .synced_ns = clock_now_ns() };
	int fd = store_read(&s->store, b->input);

	batch_input_init(&w.in, fd, s->o->max_body);
	seen_init(&w.ids, MEM_BASE, 0);
	arena_init(&w.mem, MEM_BASE);
	buf_init(&w.line, MEM_BASE);
	batch_output_init(&w.out);
	batch_output_init(&w.errors);
	if (b->status == BATCH_FINALIZING)
		finish_batch(&w, b->at[BATCH_EXPIRED] ? BATCH_EXPIRED : BATCH_COMPLETED);
	else if (fd < 0)
		fail_batch(&w, "invalid_file", "the input file does not exist any more");
	else if (b->status != BATCH_VALIDATING || validate_input(&w))
		run_to_end(&w);
	batch_output_fini(&w.out);
	batch_output_fini(&w.errors);
	if (fd >= 0)
		close(fd);
	batch_input_fini(&w.in);
	seen_fini(&w.ids);
	arena_fini(&w.mem);
	buf_fini(&w.line);
}

/* Return the oldest batch whose status is not final; NULL: none. Caller holds the lock. */
static struct batch *find_due_batch(struct server *s)
{
	struct batch *oldest = NULL;

	for (struct batch *b = s->batches->first; b; b = b->next)
		if (!batch_is_over(b))
			oldest = b;
	return oldest;
}

static void *batches_thread(void *server)
{
	struct server *s = server;
	struct batch *b;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		while (!s->batches->stop && !find_due_batch(s))
			pthread_cond_wait(&s->batches->wake, &s->lock);
		b = s->batches->stop ? NULL : find_due_batch(s);
		pthread_mutex_unlock(&s->lock);
		if (!b)
			return NULL;
		run_batch(s, b);
	}
}

/* ---- opening and closing ---- */

static int add_stored_batch(void *user, const char *name)
{
	struct server *s = user;
	struct batch **at = &s->batches->first, *b;
	infer_error err;

	if (batch_load(&b, s, name, &err)) {
		say_warning("%s", err.message);
		return 0;
	}
	while (*at && (*at)->created > b->created)
		at = &(*at)->next;
	b->next = *at;
	*at = b;
	return 0;
}

int batches_open(struct server *s, infer_error *err)
{
	s->batches->user =
		(struct fair_user){ .id = UINT64_MAX, .weight = 1, .priority = -FAIR_MOST };
	(void)store_each(&s->store, "batch_", add_stored_batch, s);
	s->batches->started = !pthread_create(&s->batches->thread, NULL, batches_thread, s);
	return s->batches->started ? INFER_OK
	                           : err_set(err, INFER_ENOMEM, "the system starts no thread");
}

void batches_stop(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->batches->stop = 1;
	lines_cancel(s);
	pthread_cond_signal(&s->batches->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->batches->started)
		pthread_join(s->batches->thread, NULL);
	s->batches->started = 0;
}

void batches_close(struct server *s)
{
	struct batch *next;

	for (struct batch *b = s->batches->first; b; b = next) {
		next = b->next;
		batch_free(b);
	}
	s->batches->first = NULL;
}
