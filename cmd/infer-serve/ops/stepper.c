/* infer-serve/ops/stepper.c - the thread that steps the engine: jobs start and end here, and what they
 * generate becomes answers and events. */
#include "infer-serve/endpoints/handoff.h"
#include "infer-serve/http/http.h"
#include "infer-serve/ops/otlp.h"
#include "infer-serve/serve.h"
#include "infer-serve/ops/tenant.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <string.h>
#include <time.h>

static const char fingerprint[] = "b" INFER_VERSION;

/* The sooner of what the head and the body say. */
static void set_deadline(struct exchange *x)
{
	double s = x->job->timeout_s;

	if (x->timeout_s > 0 && (s <= 0 || x->timeout_s < s))
		s = x->timeout_s;
	x->until_ns = s > 0 ? x->began_ns + (int64_t)(s * 1e9) : 0;
}

void stepper_put(struct server *s, struct exchange *x)
{
	x->streams = x->job->stream;
	x->token_ns = mem_zalloc(MEM_BASE, (size_t)x->job->n, sizeof *x->token_ns);
	if (!x->token_ns) {
		infer_job_free(x->job);
		exchange_refuse(x, INFER_FAULT_SERVER, NULL, "out of memory for a request");
		exchange_done(x);
		return;
	}
	x->put_ns = clock_now_ns();
	x->job->request.salt = tenant_salt(x, x->job->request.salt);
	set_deadline(x);
	x->turn.of = x;
	x->turn.samples = x->job->n;
	pthread_mutex_lock(&s->lock);
	x->next_job = NULL;
	if (s->inbox_last)
		s->inbox_last->next_job = x;
	else
		s->inbox = x;
	s->inbox_last = x;
	pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
}

/* ---- ends ---- */

/* Forget an exchange: its samples are cancelled, if any runs. */
static void leave(struct exchange *x)
{
	struct server *s = x->server;
	struct served *m = x->model;
	struct exchange **at = &m->running;

	while (*at && *at != x)
		at = &(*at)->next_job;
	if (*at)
		*at = x->next_job;
	pthread_mutex_lock(&s->lock);
	slots_leave(x); /* nobody looks at its task any more */
	pthread_mutex_unlock(&s->lock);
	infer_task_free(x->task);
	x->task = NULL;
	fair_end(&m->fair, &x->turn);
	pthread_mutex_lock(&s->lock);
	m->n_tasks--;
	pthread_mutex_unlock(&s->lock);
	exchange_done(x);
}

/* Send the events that the writer has. */
static void put_written(struct exchange *x, int rc, int ended)
{
	struct buf *b = &x->server->scratch;
	struct infer_str text = infer_writer_text(x->server->writer);

	buf_clear(b);
	buf_put(b, text.at, text.len);
	b->bad |= rc != INFER_OK;
	exchange_stream(x, b, ended);
}

/* End with an error: a status, or an event where the stream has begun. */
static void fail(struct exchange *x, const struct infer_fault *f)
{
	struct server *s = x->server;
	infer_error err;

	if (x->handoff) {
		buf_clear(&s->scratch);
		s->scratch.bad |= handoff_fault(x, f, &s->scratch, &err) != INFER_OK;
		exchange_stream(x, &s->scratch, 1);
		return;
	}
	if (!x->begun) {
		exchange_fault(x, f);
		return;
	}
	infer_writer_clear(s->writer);
	put_written(x,
	            infer_api_put_fault_events(s->writer, infer_api_named(x->endpoint->form), f,
	                                       x->id, &x->stream, &err),
	            1);
}

static void count(struct exchange *x, const struct infer_answer *a)
{
	struct server *s = x->server;
	struct served *m = x->model;

	pthread_mutex_lock(&s->lock);
	for (int32_t i = 0; i < a->job->n; i++) {
		struct infer_usage u = a->choices[i].usage;

		u.queue_ns += x->started_ns - x->put_ns;
		if (a->job->request.grammar)
			metrics_observe(&m->metrics, METRICS_CONSTRAINT,
			                (double)u.constraint_ns * 1e-9);
		metrics_sample(&m->metrics, &u, a->choices[i].finish,
		               !(i % infer_job_each(a->job)));
		x->completion_tokens += u.completion_tokens;
		x->prompt_tokens += i % infer_job_each(a->job) ? 0 : u.prompt_tokens;
	}
	m->service_ns += (clock_now_ns() - x->started_ns - m->service_ns) / 8;
	metrics_job(&m->metrics, a->job);
	metrics_observe(&m->metrics, METRICS_E2E, (double)(clock_now_ns() - x->began_ns) * 1e-9);
	access_note(x, a);
	otlp_note(x, a);
	pthread_mutex_unlock(&s->lock);
}

static struct infer_answer answer_of(const struct exchange *x)
{
	const char *name = x->model->name;
	struct infer_answer a = { .model = { name, strlen(name) },
		                  .created = x->created,
		                  .fingerprint = fingerprint };

	infer_task_answer(x->task, &a);
	return a;
}

/* 1: somebody wrote to the model's file, and answers mean nothing any more. */
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

/* All samples of its task have ended. */
static void end(struct exchange *x)
{
	struct server *s = x->server;
	const struct infer_fault *f = infer_task_fault(x->task);
	struct infer_fault changed;
	struct infer_answer a;
	infer_error err;

	if (f->kind) {
		fail(x, f);
	} else if (is_changed(x->model, &changed)) {
		fail(x, &changed);
	} else if (x->streams) {
		a = answer_of(x);
		count(x, &a);
		if (x->handoff) {
			buf_clear(&s->scratch);
			s->scratch.bad |= handoff_end(x, &a, &s->scratch, &err) != INFER_OK;
			exchange_stream(x, &s->scratch, 1);
		} else {
			infer_writer_clear(s->writer);
			put_written(x, infer_api_put_events(s->writer, &a, NULL, &x->stream, &err),
			            1);
		}
	} else {
		a = answer_of(x);
		count(x, &a);
		infer_writer_clear(s->writer);
		x->out.bad |= infer_api_put(s->writer, &a, &err) != INFER_OK;
		buf_put(&x->out, infer_writer_text(s->writer).at, infer_writer_text(s->writer).len);
		exchange_answer(x, 200, exchange_json);
	}
	leave(x);
}

/* ---- events ---- */

static void put_deltas(struct exchange *x, int32_t index)
{
	struct server *s = x->server;
	struct infer_answer a = answer_of(x);
	struct infer_delta d;
	infer_error err;
	int rc = INFER_OK;

	infer_writer_clear(s->writer);
	while (!rc && infer_task_delta(x->task, index, &d))
		rc = infer_api_put_events(s->writer, &a, &d, &x->stream, &err);
	if (rc || infer_writer_text(s->writer).len) {
		x->begun = 1;
		put_written(x, rc, 0);
	}
}

static void take_time(struct exchange *x, int32_t index)
{
	struct server *s = x->server;
	int64_t now = clock_now_ns(), last = x->token_ns[index];

	x->token_ns[index] = now;
	pthread_mutex_lock(&s->lock);
	slots_take(x, index, 1);
	if (!x->first_ns) {
		x->first_ns = now;
		metrics_observe(&x->model->metrics, METRICS_TTFT,
		                (double)(now - x->began_ns) * 1e-9);
	}
	if (last)
		metrics_observe(&x->model->metrics, METRICS_INTER, (double)(now - last) * 1e-9);
	pthread_mutex_unlock(&s->lock);
}

static void slot_done(struct exchange *x, int32_t index)
{
	struct server *s = x->server;

	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < SERVE_SEQS; i++) {
		struct slot *l = &x->model->slots[i];

		if (l->of == x && l->index == index)
			l->of = NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

static void put_records(const struct infer_got *got)
{
	struct exchange *x = got->user;
	struct buf *b = &x->server->scratch;
	infer_error err;

	buf_clear(b);
	b->bad |= handoff_event(x, got, b, &err) != INFER_OK;
	if (b->len || b->bad)
		exchange_stream(x, b, 0);
}

static void take_event(const struct infer_got *got)
{
	struct exchange *x = got->user;

	if (got->event->kind == INFER_EVENT_TOKEN) {
		fair_charge(x->turn.user, 1);
		take_time(x, got->index);
	}
	if (got->event->kind == INFER_EVENT_DONE)
		slot_done(x, got->index);
	if (x->handoff && x->handoff->output != HANDOFF_TEXT)
		put_records(got);
	else if (x->streams && !infer_task_fault(x->task)->kind)
		put_deltas(x, got->index);
	if (infer_task_ended(x->task))
		end(x);
}

/* ---- starts ---- */

static void start_job(struct exchange *x)
{
	struct server *s = x->server;
	struct served *m = x->model;
	infer_error err;
	infer_job *j = x->job;

	x->job = NULL;
	j->request.priority = x->turn.rank;
	fair_charge(x->turn.user, (int64_t)j->request.n_prompt);
	x->started_ns = clock_now_ns();
	x->created = (int64_t)time(NULL);
	x->next_job = m->running;
	m->running = x;
	pthread_mutex_lock(&s->lock);
	m->n_tasks++;
	pthread_mutex_unlock(&s->lock);
	if (infer_runner_start(&x->task, m->runner, j, x, INFER_TASK_OWNS_JOB, &err)) {
		infer_job_free(j);
		exchange_refuse(x, INFER_FAULT_SERVER, NULL, "%s", err.message);
		leave(x);
	} else if (infer_task_ended(x->task)) {
		end(x);
	} else {
		pthread_mutex_lock(&s->lock);
		slots_take(x, 0, 0);
		pthread_mutex_unlock(&s->lock);
	}
}

/* A request that waits ends without having run; f NULL: nobody waits for it. */
static void leave_queue(struct exchange *x, const struct infer_fault *f)
{
	fair_drop(&x->model->fair, &x->turn);
	infer_job_free(x->job);
	x->job = NULL;
	if (f)
		exchange_fault(x, f);
	exchange_done(x);
}

/* Every request of a model ends with an error. */
static void fail_all(struct served *m, const struct infer_fault *f)
{
	struct exchange *next;

	for (struct exchange *x = m->running; x; x = next) {
		next = x->next_job;
		fail(x, f);
		leave(x);
	}
	while (m->fair.busy)
		leave_queue(m->fair.busy->first->of, f);
}

/* Whether a request is to end now. */
static int is_over(struct exchange *x, int64_t now)
{
	x->late = !x->gone && x->until_ns && now > x->until_ns;
	return x->gone || x->late;
}

/* End a request that waits or runs, whose client is gone or whose time is over. */
static void give_up(struct exchange *x)
{
	struct infer_fault f = { .kind = INFER_FAULT_TIMEOUT, .param = "timeout" };

	err_set(&f.error, INFER_ECANCEL, "the answer took longer than the %.9g s of the request",
	        (double)(x->until_ns - x->began_ns) / 1e9);
	if (!x->task) {
		leave_queue(x, x->late ? &f : NULL);
		return;
	}
	if (x->late)
		fail(x, &f);
	leave(x);
}

/* Requests whose client is gone end within this step, and those whose time is over. */
static void drop_gone(struct served *m)
{
	struct server *s = m->server;
	struct exchange *gone = NULL, *x;
	int64_t now = clock_now_ns();

	pthread_mutex_lock(&s->lock);
	for (x = m->running; x; x = x->next_job)
		if (is_over(x, now))
			x->next_gone = gone, gone = x;
	for (const struct fair_user *u = m->fair.busy; u; u = u->next_busy)
		for (const struct fair_item *i = u->first; i; i = i->next) {
			x = i->of;
			if (is_over(x, now))
				x->next_gone = gone, gone = x;
		}
	for (x = gone; x; x = x->next_gone)
		m->metrics.finished[INFER_FINISH_CANCELLED]++;
	pthread_mutex_unlock(&s->lock);
	while ((x = gone)) {
		gone = x->next_gone;
		give_up(x);
	}
}

/* ---- the loop ---- */

/* Under the lock: a model has work for its engine, or leaves. */
static int has_work(struct server *s)
{
	int some = 0;

	for (struct served *m = s->models; m; m = m->next) {
		if (m->state == SERVED_IN)
			m->samples = infer_runner_samples(m->runner);
		some |= m->running || m->samples || m->state == SERVED_LEAVING;
	}
	return some;
}

/* Wait for work; the requests that came wait for their turn.  *over: the thread ends. */
static void wait_for_work(struct server *s, int *over, int *cut)
{
	struct exchange *next;

	pthread_mutex_lock(&s->lock);
	while (!has_work(s) && !s->inbox && s->stop < STOP_ALL)
		pthread_cond_wait(&s->engine_wake, &s->lock);
	(void)http_look(s, clock_now_ns());
	for (struct exchange *x = s->inbox; x; x = next) {
		next = x->next_job;
		fair_put(&x->model->fair, &x->turn);
	}
	s->inbox = s->inbox_last = NULL;
	*over = s->stop == STOP_ALL;
	*cut = s->cut;
	pthread_mutex_unlock(&s->lock);
}

/* Start the requests whose turn it is. */
static void start_jobs(struct served *m)
{
	struct fair_item *i;

	do {
		int32_t lowest = INT32_MAX;

		for (const struct exchange *x = m->running; x; x = x->next_job)
			lowest = x->turn.rank < lowest ? x->turn.rank : lowest;
		i = fair_take(&m->fair, infer_runner_samples(m->runner), lowest);
		if (i)
			start_job(i->of);
	} while (i);
}

static void step(struct served *m)
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
		take_event(&got);
	if (rc) {
		say_error("%s", f.error.message);
		fail_all(m, &f);
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
			drop_gone(m);
			if (cut || over)
				fail_all(m, &closing);
			start_jobs(m);
			if (m->running || infer_runner_samples(m->runner))
				step(m);
		}
		served_leave(s);
	}
	pthread_mutex_lock(&s->lock);
	for (struct served *m = s->models; m; m = m->next)
		m->samples = 0;
	s->steps = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
