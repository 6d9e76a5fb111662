/* infer-serve/ops/stepper.c - the thread that steps the engines: it starts and ends jobs, and
 * delivers answers and events. */
#include "infer-serve/ops/otlp.h"
#include "infer-serve/ops/server.h"
#include "infer-serve/ops/slots.h"
#include "infer-serve/ops/stepper.h"
#include "infer-serve/ops/tenant.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <string.h>
#include <time.h>

static const char fingerprint[] = "b" INFER_VERSION;

/* Set the deadline of r from the smaller timeout of its head and body. */
static void set_deadline(struct api_request *r)
{
	double s = r->gen.job->timeout_s;

	if (r->timeout_s > 0 && (s <= 0 || r->timeout_s < s))
		s = r->timeout_s;
	r->gen.until_ns = s > 0 ? r->began_ns + (int64_t)(s * 1e9) : 0;
}

void stepper_put(struct api_request *r)
{
	struct server *s = r->server;

	r->gen.streams = r->gen.job->stream;
	r->gen.token_ns = mem_zalloc(MEM_BASE, (size_t)r->gen.job->n, sizeof *r->gen.token_ns);
	if (!r->gen.token_ns) {
		infer_job_free(r->gen.job);
		api_refuse(r, INFER_FAULT_SERVER, NULL, "out of memory for a request");
		api_done(r);
		return;
	}
	r->gen.queued_ns = clock_now_ns();
	r->gen.job->request.salt = tenant_salt(r, r->gen.job->request.salt);
	set_deadline(r);
	r->gen.turn.of = r;
	r->gen.turn.samples = r->gen.job->n;
	r->gen.turn.priority = r->gen.job->priority;
	pthread_mutex_lock(&s->lock);
	r->next = NULL;
	if (s->inbox_last)
		s->inbox_last->next = r;
	else
		s->inbox = r;
	s->inbox_last = r;
	pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
}

/* ---- ending requests ---- */

/* Cancel the task of r. */
static void leave_engine(struct api_request *r)
{
	struct server *s = r->server;
	struct served *m = r->model;
	struct api_request **at = &m->running;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
	pthread_mutex_lock(&s->lock);
	slots_free_all(r); /* before the task is freed, which /slots reads */
	pthread_mutex_unlock(&s->lock);
	infer_task_free(r->gen.task);
	r->gen.task = NULL;
	fair_end(&m->fair, &r->gen.turn);
	pthread_mutex_lock(&s->lock);
	m->n_tasks--;
	pthread_mutex_unlock(&s->lock);
}

/* Cancel the task of r and release r. */
static void remove_running(struct api_request *r)
{
	leave_engine(r);
	api_done(r);
}

/* Deliver the events that were written to s->writer. */
static void stream_written(struct api_request *r, int rc, int ended)
{
	struct buf *b = &r->server->scratch;
	struct infer_str text = infer_writer_text(r->server->writer);

	buf_clear(b);
	buf_put(b, text.at, text.len);
	b->bad |= rc != INFER_OK;
	r->owner->stream(r, b, ended);
}

/* Deliver an error as an HTTP status, or as an event if the stream has begun. */
static void deliver_fault(struct api_request *r, const struct infer_fault *f)
{
	struct server *s = r->server;
	struct event_writer *w = r->gen.events;
	infer_error err;

	if (w) {
		buf_clear(&s->scratch);
		s->scratch.bad |= w->fault(w, r, f, &s->scratch, &err) != INFER_OK;
		r->owner->stream(r, &s->scratch, 1);
		return;
	}
	if (!r->gen.has_begun) {
		api_fault(r, f);
		return;
	}
	infer_writer_clear(s->writer);
	stream_written(
		r, infer_api_put_fault_events(s->writer, r->format, f, r->id, &r->gen.stream, &err),
		1);
}

/* Add r and its samples to the counters, the access log and the span. */
static void count_answer(struct api_request *r, const struct infer_answer *a)
{
	struct server *s = r->server;
	struct served *m = r->model;

	pthread_mutex_lock(&s->lock);
	for (int32_t i = 0; i < a->job->n; i++) {
		struct infer_usage u = a->choices[i].usage;

		u.queue_ns += r->gen.started_ns - r->gen.queued_ns;
		if (a->job->request.grammar)
			metrics_observe(&m->metrics, METRICS_CONSTRAINT,
			                (double)u.constraint_ns * 1e-9);
		metrics_sample(&m->metrics, &u, a->choices[i].finish,
		               !(i % infer_job_each(a->job)));
		r->gen.completion_tokens += u.completion_tokens;
		r->gen.prompt_tokens += i % infer_job_each(a->job) ? 0 : u.prompt_tokens;
	}
	m->service_ns += (clock_now_ns() - r->gen.started_ns - m->service_ns) / 8;
	metrics_job(&m->metrics, a->job);
	metrics_observe(&m->metrics, METRICS_E2E, (double)(clock_now_ns() - r->began_ns) * 1e-9);
	access_note(r, a);
	otlp_note(r, a);
	pthread_mutex_unlock(&s->lock);
}

static struct infer_answer answer_of(const struct api_request *r)
{
	const infer_job *j = infer_task_job(r->gen.task);
	const char *name = j->adapter ? j->adapter : r->model->name;
	struct infer_answer a = { .model = { name, strlen(name) },
		                  .created = r->gen.created,
		                  .fingerprint = fingerprint };

	infer_task_answer(r->gen.task, &a);
	return a;
}

/* True if the model's file was changed, which makes answers invalid; sets *f. */
static int is_changed(struct served *m, struct infer_fault *f)
{
	*f = (struct infer_fault){ .kind = INFER_FAULT_SERVER };
	if (!infer_file_check_unchanged(infer_model_file(m->model), &f->error))
		return 0;
	if (!m->failed)
		say_error("%s", f->error.message);
	m->failed = 1;
	return 1;
}

/* Deliver the end of a stream. */
static void deliver_end(struct api_request *r, const struct infer_answer *a)
{
	struct server *s = r->server;
	struct event_writer *w = r->gen.events;
	infer_error err;

	if (w) {
		buf_clear(&s->scratch);
		s->scratch.bad |= w->end(w, r, a, &s->scratch, &err) != INFER_OK;
		r->owner->stream(r, &s->scratch, 1);
	} else {
		infer_writer_clear(s->writer);
		stream_written(r, infer_api_put_events(s->writer, a, NULL, &r->gen.stream, &err),
		               1);
	}
}

static int is_stored(const struct api_request *r) { return r->gen.kept && r->gen.kept->stores; }

/* Pass the whole answer to a worker, which stores it before its end is delivered. */
static void store_answer(struct api_request *r, const struct infer_answer *a)
{
	struct server *s = r->server;
	struct kept *k = r->gen.kept;
	struct infer_str text;
	infer_error err;
	int here;

	infer_writer_clear(s->writer);
	k->answer.bad |= infer_api_put(s->writer, a, &err) != INFER_OK;
	text = infer_writer_text(s->writer);
	buf_put(&k->answer, text.at, text.len);
	k->is_ready = 1;
	leave_engine(r);
	pthread_mutex_lock(&s->lock);
	here = s->stop != STOP_NONE; /* no worker is left */
	if (!here)
		work_add(&s->work, r);
	pthread_mutex_unlock(&s->lock);
	if (here)
		kept_deliver(r);
}

/* Deliver the result of a task whose samples have all ended, and release r. */
static void end_request(struct api_request *r)
{
	struct server *s = r->server;
	const struct infer_fault *f = infer_task_fault(r->gen.task);
	struct infer_fault changed;
	struct infer_answer a;
	infer_error err;

	if (f->kind) {
		deliver_fault(r, f);
	} else if (is_changed(r->model, &changed)) {
		deliver_fault(r, &changed);
	} else {
		a = answer_of(r);
		count_answer(r, &a);
		if (is_stored(r)) {
			store_answer(r, &a);
			return;
		}
		if (r->gen.streams) {
			deliver_end(r, &a);
		} else {
			infer_writer_clear(s->writer);
			int rc = infer_api_put(s->writer, &a, &err);

			r->owner->answer(r, 200,
			                 rc ? (struct infer_str){ .at = NULL }
			                    : infer_writer_text(s->writer));
		}
	}
	remove_running(r);
}

/* ---- events ---- */

/* Deliver the events that were written so far, and hold back those of the end. */
static int hold_end(struct api_request *r, const struct infer_answer *a,
                    const struct infer_delta *end)
{
	struct server *s = r->server;
	struct buf *to = &r->gen.kept->events;
	infer_error err;
	int rc;

	if (infer_writer_text(s->writer).len) {
		r->gen.has_begun = 1;
		stream_written(r, INFER_OK, 0);
	}
	infer_writer_clear(s->writer);
	rc = infer_api_put_events(s->writer, a, end, &r->gen.stream, &err);
	buf_put(to, infer_writer_text(s->writer).at, infer_writer_text(s->writer).len);
	to->bad |= rc != INFER_OK;
	infer_writer_clear(s->writer);
	return rc;
}

/* Deliver the new text of a sample as events of the API format. */
static void stream_deltas(struct api_request *r, int32_t index)
{
	struct server *s = r->server;
	struct infer_answer a = answer_of(r);
	struct infer_delta d;
	infer_error err;
	int rc = INFER_OK;

	infer_writer_clear(s->writer);
	while (!rc && infer_task_delta(r->gen.task, index, &d))
		rc = is_stored(r) && d.kind == INFER_DELTA_END
		             ? hold_end(r, &a, &d)
		             : infer_api_put_events(s->writer, &a, &d, &r->gen.stream, &err);
	if (rc || infer_writer_text(s->writer).len) {
		r->gen.has_begun = 1;
		stream_written(r, rc, 0);
	}
}

/* Record the time of a token, in the metrics and in /slots. */
static void count_token(struct api_request *r, int32_t index)
{
	struct server *s = r->server;
	int64_t now = clock_now_ns(), last = r->gen.token_ns[index];

	r->gen.token_ns[index] = now;
	pthread_mutex_lock(&s->lock);
	slots_count(r, index, 1);
	if (!r->gen.first_ns) {
		r->gen.first_ns = now;
		metrics_observe(&r->model->metrics, METRICS_TTFT,
		                (double)(now - r->began_ns) * 1e-9);
	}
	if (last)
		metrics_observe(&r->model->metrics, METRICS_INTER, (double)(now - last) * 1e-9);
	pthread_mutex_unlock(&s->lock);
}

static void free_slot(struct api_request *r, int32_t index)
{
	pthread_mutex_lock(&r->server->lock);
	slots_free(r, index);
	pthread_mutex_unlock(&r->server->lock);
}

static void stream_records(const struct infer_got *got)
{
	struct api_request *r = got->user;
	struct event_writer *w = r->gen.events;
	struct buf *b = &r->server->scratch;
	infer_error err;

	buf_clear(b);
	b->bad |= w->event(w, got, b, &err) != INFER_OK;
	if (b->len || b->bad)
		r->owner->stream(r, b, 0);
}

static void handle_event(const struct infer_got *got)
{
	struct api_request *r = got->user;

	if (got->event->kind == INFER_EVENT_TOKEN) {
		fair_charge(r->gen.turn.user, 1);
		count_token(r, got->index);
	}
	if (got->event->kind == INFER_EVENT_DONE)
		free_slot(r, got->index);
	if (r->gen.events && r->gen.events->event)
		stream_records(got);
	else if (r->gen.streams && !infer_task_fault(r->gen.task)->kind)
		stream_deltas(r, got->index);
	if (infer_task_ended(r->gen.task))
		end_request(r);
}

/* ---- starting requests ---- */

static void start_job(struct api_request *r)
{
	struct server *s = r->server;
	struct served *m = r->model;
	infer_error err;
	infer_job *j = r->gen.job;

	r->gen.job = NULL;
	j->request.priority = r->gen.turn.rank;
	fair_charge(r->gen.turn.user, (int64_t)j->request.n_prompt);
	r->gen.started_ns = clock_now_ns();
	r->gen.created = (int64_t)time(NULL);
	r->next = m->running;
	m->running = r;
	pthread_mutex_lock(&s->lock);
	m->n_tasks++;
	pthread_mutex_unlock(&s->lock);
	if (infer_runner_start(&r->gen.task, m->runner, j, r, INFER_TASK_OWNS_JOB, &err)) {
		infer_job_free(j);
		api_refuse(r, INFER_FAULT_SERVER, NULL, "%s", err.message);
		remove_running(r);
	} else if (infer_task_ended(r->gen.task)) {
		end_request(r);
	} else {
		pthread_mutex_lock(&s->lock);
		slots_count(r, 0, 0);
		pthread_mutex_unlock(&s->lock);
	}
}

/* End a request that waits for the engine. f: the error to deliver, or NULL. */
static void remove_waiting(struct api_request *r, const struct infer_fault *f)
{
	fair_drop(&r->model->fair, &r->gen.turn);
	infer_job_free(r->gen.job);
	r->gen.job = NULL;
	if (f)
		api_fault(r, f);
	api_done(r);
}

/* End every request of m with an error. */
static void fail_requests(struct served *m, const struct infer_fault *f)
{
	struct api_request *next;

	for (struct api_request *r = m->running; r; r = next) {
		next = r->next;
		deliver_fault(r, f);
		remove_running(r);
	}
	while (m->fair.busy)
		remove_waiting(m->fair.busy->first->of, f);
}

/* True if the client left, or the deadline of the answer has passed (sets is_late). */
static int is_over(struct api_request *r, int64_t now)
{
	r->gen.is_late = !r->is_gone && r->gen.until_ns && now > r->gen.until_ns;
	return r->is_gone || r->gen.is_late;
}

/* End one request for which is_over is true. */
static void end_early(struct api_request *r)
{
	struct infer_fault f = { .kind = INFER_FAULT_TIMEOUT, .param = "timeout" };

	err_set(&f.error, INFER_ECANCEL, "the answer took longer than the %.9g s of the request",
	        (double)(r->gen.until_ns - r->began_ns) / 1e9);
	if (!r->gen.task) {
		remove_waiting(r, r->gen.is_late ? &f : NULL);
		return;
	}
	if (r->gen.is_late)
		deliver_fault(r, &f);
	remove_running(r);
}

/* End all requests of m for which is_over is true. */
static void drop_over(struct served *m)
{
	struct server *s = m->server;
	struct api_request *gone = NULL, *r;
	int64_t now = clock_now_ns();

	pthread_mutex_lock(&s->lock);
	for (r = m->running; r; r = r->next)
		if (is_over(r, now))
			r->gen.next_over = gone, gone = r;
	for (const struct fair_user *u = m->fair.busy; u; u = u->next_busy)
		for (const struct fair_item *i = u->first; i; i = i->next) {
			r = i->of;
			if (is_over(r, now))
				r->gen.next_over = gone, gone = r;
		}
	for (r = gone; r; r = r->gen.next_over)
		m->metrics.finished[INFER_FINISH_CANCELLED]++;
	pthread_mutex_unlock(&s->lock);
	while ((r = gone)) {
		gone = r->gen.next_over;
		end_early(r);
	}
}

/* ---- the loop ---- */

/* True if an engine has work, or a model is to be unloaded.  Caller holds the lock. */
static int has_work(struct server *s)
{
	int some = 0;

	for (struct served *m = s->models; m; m = m->next) {
		if (m->state == SERVED_LOADED)
			m->samples = infer_runner_samples(m->runner);
		some |= m->running || m->samples || m->fair.busy || m->state == SERVED_UNLOADING;
	}
	return some;
}

/* Wait for work and queue the requests of the inbox by user. *over: 1 if the thread must end; *cut: 1 if
 * all requests must end. */
static void wait_for_work(struct server *s, int *over, int *cut)
{
	struct api_request *next;

	pthread_mutex_lock(&s->lock);
	while (!has_work(s) && !s->inbox && s->stop < STOP_ALL)
		pthread_cond_wait(&s->engine_wake, &s->lock);
	if (s->find_gone)
		(void)s->find_gone(s, clock_now_ns());
	for (struct api_request *r = s->inbox; r; r = next) {
		next = r->next;
		fair_put(&r->model->fair, &r->gen.turn);
	}
	s->inbox = s->inbox_last = NULL;
	*over = s->stop == STOP_ALL;
	*cut = s->cut;
	pthread_mutex_unlock(&s->lock);
}

/* Start requests while the engine of m has room. */
static void start_jobs(struct served *m)
{
	struct fair_item *i;

	do {
		int32_t lowest = INT32_MAX;

		for (const struct api_request *r = m->running; r; r = r->next)
			lowest = r->gen.turn.rank < lowest ? r->gen.turn.rank : lowest;
		i = fair_take(&m->fair, infer_runner_samples(m->runner), lowest);
		if (i)
			start_job(i->of);
	} while (i);
}

static void step_model(struct served *m)
{
	struct server *s = m->server;
	struct infer_fault f = { .kind = INFER_FAULT_SERVER };
	struct infer_got got = { .task = NULL };
	struct infer_engine_stats before, after;

	infer_engine_stats(m->engine, &before);
	int rc = infer_runner_step(m->runner, &f.error);

	infer_engine_stats(m->engine, &after);
	if (after.rows > before.rows) {
		pthread_mutex_lock(&s->lock);
		metrics_observe(&m->metrics, METRICS_STEP, (double)(after.rows - before.rows));
		pthread_mutex_unlock(&s->lock);
	}
	while (!rc && !(rc = infer_runner_next(m->runner, &got, &f.error)) && got.task)
		handle_event(&got);
	if (rc) {
		say_error("%s", f.error.message);
		fail_requests(m, &f);
	}
}

void *stepper_thread(void *server)
{
	struct server *s = server;
	struct infer_fault closing = { .error = { INFER_ECANCEL, "the server is shutting down" },
		                       .kind = INFER_FAULT_UNAVAILABLE };
	int over = 0, cut = 0;

	while (!over) {
		wait_for_work(s, &over, &cut);
		for (struct served *m = served_first(s); m; m = served_next(m)) {
			drop_over(m);
			if (cut || over)
				fail_requests(m, &closing);
			start_jobs(m);
			if (m->running || infer_runner_samples(m->runner))
				step_model(m);
		}
		served_unload(s);
	}
	pthread_mutex_lock(&s->lock);
	for (struct served *m = s->models; m; m = m->next)
		m->samples = 0;
	s->steps = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
