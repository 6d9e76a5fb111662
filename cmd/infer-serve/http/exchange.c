/* infer-serve/http/exchange.c - a request and its answer, as threads hand it on. */
#include "infer-serve/serve.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/endpoints/handoff.h"
#include "infer-serve/http/http.h"
#include "infer-serve/http/sse.h"
#include "base/clock.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A client that does not read: above this, its answer ends. */
enum { OUT_MOST = 16 << 20 };

const char exchange_json[] = "application/json; charset=utf-8";

struct exchange *exchange_new(struct server *s)
{
	struct exchange *x = mem_zalloc(MEM_BASE, 1, sizeof *x);
	uint64_t n;

	if (!x)
		return NULL;
	x->server = s;
	x->began_ns = clock_now_ns();
	x->refs = 1;
	x->fd = x->file = -1;
	buf_init(&x->body, MEM_BASE);
	buf_init(&x->out, MEM_BASE);
	buf_init(&x->note, MEM_BASE);
	buf_init(&x->span, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	n = s->n_named++;
	x->next = s->exchanges;
	if (x->next)
		x->next->prev = x;
	s->exchanges = x;
	s->n_exchanges++;
	pthread_mutex_unlock(&s->lock);
	snprintf(x->name, sizeof x->name, "%016llx",
	         (unsigned long long)sip_hash(&s->secret, &n, sizeof n));
	return x;
}

static void unlist(struct exchange *x)
{
	struct server *s = x->server;

	if (x->prev)
		x->prev->next = x->next;
	else
		s->exchanges = x->next;
	if (x->next)
		x->next->prev = x->prev;
	s->n_exchanges--;
	s->ended_ns = clock_now_ns();
}

struct metrics *exchange_metrics(struct exchange *x)
{
	struct server *s = x->server;

	return x->model ? &x->model->metrics : s->o->config ? &s->metrics : &s->models->metrics;
}

void exchange_drop(struct exchange *x)
{
	if (--x->refs)
		return;
	unlist(x);
	if (x->model) {
		x->model->refs--;
		x->model->ended_ns = clock_now_ns();
	}
	buf_fini(&x->body);
	buf_fini(&x->out);
	buf_fini(&x->note);
	buf_fini(&x->span);
	upload_free(&x->upload);
	if (x->file >= 0)
		close(x->file);
	mem_free(x->query.after);
	mem_free(x->query.purpose);
	mem_free(x->query.model);
	mem_free(x->path);
	mem_free(x->origin);
	mem_free(x->remote);
	mem_free(x->token_ns);
	handoff_free(x->handoff);
	mem_free(x);
}

void exchange_done(struct exchange *x)
{
	struct server *s = x->server;

	if (x->is_line) {
		batches_took(x);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->n_admitted -= x->admitted;
	if (x->admitted)
		x->user->admitted--;
	if (x->admitted && x->model) {
		x->model->n_admitted--;
		x->turn.user->admitted--;
	}
	x->admitted = 0;
	exchange_drop(x);
	pthread_mutex_unlock(&s->lock);
}

void exchange_answer(struct exchange *x, int status, const char *type)
{
	static const char none[] = "{\"error\":{\"message\":\"out of memory\",\"type\":"
				   "\"server_error\",\"param\":null,\"code\":null}}";
	struct server *s = x->server;

	if (x->out.bad) {
		buf_clear(&x->out);
		buf_puts(&x->out, none);
		status = 500;
		type = exchange_json;
	}
	pthread_mutex_lock(&s->lock);
	x->status = status;
	x->type = type;
	x->stage = STAGE_ANSWER;
	x->ended = 1;
	http_wake(x);
	pthread_mutex_unlock(&s->lock);
}

void exchange_error(struct buf *out, const struct exchange *x, const struct infer_fault *f)
{
	infer_writer *w;
	int rc = infer_writer_new(&w, NULL);

	if (!rc)
		rc = x->anthropic
		             ? infer_fault_put_anthropic(w, f, x->id, NULL)
		             : infer_api_put_fault(w, infer_api_named(x->handoff ? "own" : "chat"),
		                                   f, NULL);
	if (rc) {
		out->bad = 1;
	} else {
		struct infer_str text = infer_writer_text(w);

		buf_put(out, text.at, text.len);
	}
	infer_writer_free(w);
}

void exchange_fault(struct exchange *x, const struct infer_fault *f)
{
	buf_clear(&x->out);
	exchange_error(&x->out, x, f);
	exchange_answer(x, infer_fault_status(f->kind), exchange_json);
}

void exchange_refuse(struct exchange *x, int kind, const char *param, const char *fmt, ...)
{
	struct infer_fault f = { .param = param, .kind = kind };
	va_list args;

	va_start(args, fmt);
	vsnprintf(f.error.message, sizeof f.error.message, fmt, args);
	va_end(args);
	f.error.code = INFER_EINVAL;
	exchange_fault(x, &f);
}

void exchange_stream(struct exchange *x, const struct buf *events, int ended)
{
	struct server *s = x->server;

	pthread_mutex_lock(&s->lock);
	if (x->stage != STAGE_STREAM) {
		x->stage = STAGE_STREAM;
		x->status = 200;
		x->type = "text/event-stream";
	}
	if (events->len)
		buf_put(&x->out, events->at, events->len);
	x->ended |= ended;
	/* it cannot be said any more that events are missing: the stream breaks off */
	if (events->bad || x->out.bad || x->out.len > OUT_MOST)
		x->gone = 1;
	http_wake(x);
	pthread_mutex_unlock(&s->lock);
}
