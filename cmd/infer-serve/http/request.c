/* infer-serve/http/request.c - an HTTP request and its answer, passed between threads. */
#include "infer-serve/http/request.h"
#include "infer-serve/http/http.h"
#include "infer-serve/http/upload.h"
#include "infer-serve/ops/stepper.h"
#include "base/err.h"

#include <string.h>
#include <unistd.h>

/* Limit for unread bytes of a stream; above it, the stream is broken off. */
enum { UNREAD_MOST = 16 << 20 };

const char http_json[] = "application/json; charset=utf-8";

static struct http_request *http_of(struct api_request *r)
{
	return (struct http_request *)(void *)r;
}

void http_run_endpoint(struct http_request *r)
{
	r->endpoint->handle(r);
	if (r->api.gen.job)
		stepper_put(&r->api);
	else if (r->api.continues)
		loader_put(&r->api);
	else
		api_done(&r->api);
}

static void run_request(struct api_request *a)
{
	struct http_request *r = http_of(a);
	const struct model_query q = {
		.name = r->head.model,
		.body = r->endpoint->method & ROUTE_POST ? &a->body : NULL,
		.by_file = (r->endpoint->flags & EP_BY_FILE) != 0,
	};

	if (a->gen.kept && a->gen.kept->is_ready)
		kept_deliver(a);
	else if (!(r->endpoint->flags & EP_MODEL) || served_find(a, &q))
		http_run_endpoint(r);
}

static void answer_whole(struct api_request *a, int status, struct infer_str text)
{
	struct http_request *r = http_of(a);

	if (text.at)
		buf_put(&r->out, text.at, text.len);
	r->out.bad |= !text.at;
	http_answer(r, status, http_json);
}

static void answer_fault(struct api_request *a, const struct infer_fault *f)
{
	struct http_request *r = http_of(a);

	buf_clear(&r->out);
	api_put_error(&r->out, a, f);
	http_answer(r, infer_fault_status(f->kind), http_json);
}

static void stream_events(struct api_request *a, const struct buf *events, int ended)
{
	struct http_request *r = http_of(a);
	struct server *s = a->server;

	pthread_mutex_lock(&s->lock);
	if (r->stage != STAGE_STREAM) {
		r->stage = STAGE_STREAM;
		r->status = 200;
		r->type = infer_api_stream_type(a->format);
	}
	if (events->len)
		buf_put(&r->out, events->at, events->len);
	r->is_ended |= ended;
	/* the status was sent, so missing events cannot be reported: break off the stream */
	if (events->bad || r->out.bad || r->out.len > UNREAD_MOST)
		a->is_gone = 1;
	http_wake(r);
	pthread_mutex_unlock(&s->lock);
}

static void release_request(struct api_request *a)
{
	struct server *s = a->server;

	pthread_mutex_lock(&s->lock);
	api_request_leave(a);
	http_request_drop(http_of(a));
	pthread_mutex_unlock(&s->lock);
}

static const struct api_owner http_owner = { run_request, answer_whole, answer_fault, stream_events,
	                                     release_request };

struct http_request *http_request_new(struct server *s)
{
	struct http_request *r = mem_zalloc(MEM_BASE, 1, sizeof *r);

	if (!r)
		return NULL;
	api_request_init(&r->api, s, &http_owner);
	r->refs = 1;
	r->link.fd = r->file = -1;
	buf_init(&r->out, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	r->next = s->http_requests;
	if (r->next)
		r->next->prev = r;
	s->http_requests = r;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void http_request_drop(struct http_request *r)
{
	struct server *s = r->api.server;

	if (--r->refs)
		return;
	if (r->prev)
		r->prev->next = r->next;
	else
		s->http_requests = r->next;
	if (r->next)
		r->next->prev = r->prev;
	api_request_fini(&r->api);
	buf_fini(&r->out);
	upload_free(&r->upload);
	if (r->file >= 0)
		close(r->file);
	mem_free(r->head.after);
	mem_free(r->head.before);
	mem_free(r->head.purpose);
	mem_free(r->head.model);
	mem_free(r->head.order);
	mem_free(r->head.path);
	mem_free(r->head.origin);
	mem_free(r->head.remote);
	mem_free(r);
}

void http_answer(struct http_request *r, int status, const char *type)
{
	struct server *s = r->api.server;

	if (r->out.bad) {
		buf_clear(&r->out);
		buf_puts(&r->out, api_no_memory);
		status = 500;
		type = http_json;
	}
	pthread_mutex_lock(&s->lock);
	r->status = status;
	r->type = type;
	r->stage = STAGE_ANSWER;
	r->is_ended = 1;
	http_wake(r);
	pthread_mutex_unlock(&s->lock);
}
