/* infer-serve/batch/line_run.c - a line of a batch while it runs. */
#include "infer-serve/batch/line_run.h"
#include "infer-serve/ops/server.h"
#include "infer-serve/ops/stepper.h"
#include "infer-serve/ops/tenant.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <stdio.h>

static struct line_run *line_of(struct api_request *r) { return (struct line_run *)(void *)r; }

/* Read the body and pass the job to the thread that steps engines, or answer with an error. */
static void read_job(struct line_run *l)
{
	struct api_request *r = &l->api;
	struct infer_fault f = { .kind = INFER_FAULT_SERVER };
	infer_job *job = NULL;
	int rc = infer_job_read(&job, r->model->reader, r->format, tenant_salt(r, 0), l->custom_id,
	                        r->body.at, r->body.len, &f.error);

	buf_fini(&r->body);
	buf_init(&r->body, MEM_BASE);

	if (!rc && !job->fault.kind && !job->stream) {
		r->gen.job = job;
		stepper_put(r);
		return;
	}
	if (!rc && job->fault.kind) {
		f = job->fault;
		if (f.error.code == INFER_ENOMEM)
			f.kind = INFER_FAULT_TOO_LONG;
	} else if (!rc) {
		f.kind = INFER_FAULT_INVALID;
		f.param = "stream";
		err_set(&f.error, INFER_EUNSUP, "stream is not supported in a batch");
	}
	api_fault(r, &f);
	infer_job_free(job);
	api_done(r);
}

/* Run a line if its model is loaded; otherwise it is run again after the loader has loaded the model. */
static void run_line(struct api_request *r)
{
	const struct model_query q = { .body = &r->body };

	if (served_find(r, &q))
		read_job(line_of(r));
}

static void answer_line(struct api_request *r, int status, struct infer_str text)
{
	struct line_run *l = line_of(r);

	if (text.at)
		buf_put(&l->answer, text.at, text.len);
	l->answer.bad |= !text.at;
	l->status = l->answer.bad ? 500 : status;
	if (l->answer.bad) {
		buf_clear(&l->answer);
		buf_puts(&l->answer, api_no_memory);
	}
}

static void fault_line(struct api_request *r, const struct infer_fault *f)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	api_put_error(&text, r, f);
	answer_line(r, infer_fault_status(f->kind),
	            (struct infer_str){ text.bad ? NULL : text.at, text.len });
	buf_fini(&text);
}

/* Return a finished line to the thread that runs batches. */
static void finish_line(struct api_request *r)
{
	struct server *s = r->server;
	struct line_run *l = line_of(r);

	pthread_mutex_lock(&s->lock);
	l->next_done = s->batches->done;
	s->batches->done = l;
	s->batches->running--;
	pthread_cond_signal(&s->batches->wake);
	pthread_mutex_unlock(&s->lock);
}

static const struct api_owner line_owner = { run_line, answer_line, fault_line, NULL, finish_line };

static struct line_run *line_new(struct server *s, const struct batch *b,
                                 const struct batch_line *from)
{
	struct line_run *l = mem_zalloc(MEM_BASE, 1, sizeof *l);
	struct jwrite j;

	if (!l)
		return NULL;
	api_request_init(&l->api, s, &line_owner);
	buf_init(&l->answer, MEM_BASE);
	l->custom_id = mem_strndup(MEM_BASE, from->id->s, from->id->n);
	l->api.format = infer_api_at(b->endpoint);
	l->api.caller.user = &s->batches->user;
	snprintf(l->api.caller.group, sizeof l->api.caller.group, "%s", b->owner);
	snprintf(l->api.caller.key, sizeof l->api.caller.key, "%s", b->key);
	jw_init(&j, &l->api.body);
	jw_value(&j, NULL, from->body);
	pthread_mutex_lock(&s->lock);
	l->next = s->batches->lines;
	s->batches->lines = l;
	s->batches->running++;
	pthread_mutex_unlock(&s->lock);
	return l;
}

int line_start(struct server *s, const struct batch *b, const struct batch_line *from,
               infer_error *err)
{
	struct line_run *l = line_new(s, b, from);
	int bad = !l || !l->custom_id || l->api.body.bad;

	if (!bad)
		run_line(&l->api);
	else if (l)
		finish_line(&l->api);
	return bad ? err_set(err, INFER_ENOMEM, "out of memory for a request") : INFER_OK;
}

void lines_cancel(struct server *s)
{
	for (struct line_run *l = s->batches->lines; l; l = l->next)
		l->api.is_gone = 1;
	pthread_cond_signal(&s->engine_wake);
}

void line_free(struct line_run *l)
{
	struct server *s = l->api.server;
	struct line_run **at = &s->batches->lines;

	pthread_mutex_lock(&s->lock);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	api_request_fini(&l->api);
	pthread_mutex_unlock(&s->lock);
	mem_free(l->custom_id);
	buf_fini(&l->answer);
	mem_free(l);
}
