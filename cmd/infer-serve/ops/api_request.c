/* infer-serve/ops/api_request.c - a request of the API: init, fini and errors. */
#include "infer-serve/ops/server.h"
#include "base/clock.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

const char api_no_memory[] = "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\","
			     "\"param\":null,\"code\":null}}";

void api_request_init(struct api_request *r, struct server *s, const struct api_owner *owner)
{
	uint64_t n;

	r->server = s;
	r->owner = owner;
	r->began_ns = clock_now_ns();
	buf_init(&r->body, MEM_BASE);
	buf_init(&r->note, MEM_BASE);
	buf_init(&r->span, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	n = s->n_named++;
	s->n_active++;
	pthread_mutex_unlock(&s->lock);
	snprintf(r->name, sizeof r->name, "%016llx",
	         (unsigned long long)sip_hash(&s->secret, &n, sizeof n));
}

void api_request_fini(struct api_request *r)
{
	struct server *s = r->server;

	s->n_active--;
	s->ended_ns = clock_now_ns();
	if (r->model) {
		r->model->refs--;
		r->model->ended_ns = clock_now_ns();
	}
	buf_fini(&r->body);
	buf_fini(&r->note);
	buf_fini(&r->span);
	mem_free(r->gen.token_ns);
	if (r->gen.events)
		r->gen.events->free(r->gen.events);
	kept_free(r->gen.kept);
}

void api_request_leave(struct api_request *r)
{
	if (!r->is_admitted)
		return;
	r->is_admitted = 0;
	r->server->n_admitted--;
	r->caller.user->admitted--;
	if (r->model) {
		r->model->n_admitted--;
		r->gen.turn.user->admitted--;
	}
}

struct metrics *api_metrics(struct api_request *r)
{
	struct server *s = r->server;

	return r->model ? &r->model->metrics : s->o->config ? &s->metrics : &s->models->metrics;
}

void api_fault(struct api_request *r, const struct infer_fault *f) { r->owner->fault(r, f); }

void api_done(struct api_request *r) { r->owner->done(r); }

void api_refuse(struct api_request *r, int kind, const char *param, const char *fmt, ...)
{
	struct infer_fault f = { .param = param, .kind = kind };
	va_list args;

	va_start(args, fmt);
	vsnprintf(f.error.message, sizeof f.error.message, fmt, args);
	va_end(args);
	f.error.code = INFER_EINVAL;
	api_fault(r, &f);
}

void api_put_error(struct buf *to, const struct api_request *r, const struct infer_fault *f)
{
	infer_writer *w;
	int rc = infer_writer_new(&w, NULL);

	if (!rc)
		rc = r->style == STYLE_ANTHROPIC
		             ? infer_fault_put_anthropic(w, f, r->id, NULL)
		             : infer_api_put_fault(w,
		                                   infer_api_named(r->gen.events ? "own"
		                                                   : r->style == STYLE_OLLAMA
		                                                           ? "ollama_chat"
		                                                           : "chat"),
		                                   f, NULL);
	if (rc) {
		to->bad = 1;
	} else {
		struct infer_str text = infer_writer_text(w);

		buf_put(to, text.at, text.len);
	}
	infer_writer_free(w);
}
