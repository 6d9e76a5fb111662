/* infer-serve/ops/access.c - the access log: a JSON line for each request. */
#include <infer/record.h>
#include "infer-serve/ops/server.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* PENDING: limit in bytes for lines kept in memory while writing fails. MODE: permissions of a new
 * file. */
enum { PENDING = 1 << 20, MODE = 0600 };

static int open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, MODE);
}

int access_open(struct server *s, infer_error *err)
{
	const char *path = s->o->access_log;
	struct access *a = &s->access;

	a->first = 1;
	if (!path)
		return INFER_OK;
	a->fd = strcmp(path, "-") ? open_log(path) : dup(STDOUT_FILENO);
	a->is_on = a->fd >= 0;
	return a->is_on ? INFER_OK : err_set(err, INFER_EIO, "%s: %s", path, strerror(errno));
}

void access_close(struct server *s)
{
	access_flush(s);
	if (s->access.is_on)
		close(s->access.fd);
	buf_fini(&s->access.pending);
	pthread_mutex_destroy(&s->access.lock);
}

/* Write as much as possible of the pending lines.  A line that was written in part is continued by
 * a later call.  Caller holds a->lock. */
static void write_pending(struct access *a)
{
	struct buf *p = &a->pending;
	ssize_t n = 0;
	size_t done = 0;

	while (done < p->len) {
		n = write(a->fd, p->at + done, p->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done)
		a->torn = p->at[done - 1] != '\n';
	if (n < 0 && !a->failing)
		say_warning("the access log cannot be written: %s; lines are kept for later",
		            strerror(errno));
	if (n >= 0 && a->failing)
		say_warning("the access log is written again; %llu lines were lost",
		            (unsigned long long)a->lost);
	a->failing = n < 0;
	a->lost = a->failing ? a->lost : 0;
	memmove(p->at, p->at + done, p->len - done);
	p->len -= done;
}

void access_flush(struct server *s)
{
	struct access *a = &s->access;

	pthread_mutex_lock(&a->lock);
	if (a->is_on && a->pending.len)
		write_pending(a);
	pthread_mutex_unlock(&a->lock);
}

void access_reopen(struct server *s)
{
	const char *path = s->o->access_log;
	struct access *a = &s->access;
	int fd;

	if (!a->is_on || !strcmp(path, "-"))
		return;
	fd = open_log(path);
	if (fd < 0) {
		say_warning("the access log stays as it was: %s: %s", path, strerror(errno));
		return;
	}
	pthread_mutex_lock(&a->lock);
	write_pending(a);
	if (a->torn) { /* the old file ends with a part of a line: drop its rest */
		const char *end =
			a->pending.len ? memchr(a->pending.at, '\n', a->pending.len) : NULL;
		size_t n = end ? (size_t)(end - a->pending.at) + 1 : a->pending.len;

		memmove(a->pending.at, a->pending.at + n, a->pending.len - n);
		a->pending.len -= n;
		a->lost++;
		a->torn = 0;
	}
	close(a->fd);
	a->fd = fd;
	pthread_mutex_unlock(&a->lock);
}

/* Append a line, or count it as lost if too much is pending. */
static void append_line(struct access *a, const struct buf *line)
{
	pthread_mutex_lock(&a->lock);
	if (a->pending.len + line->len > PENDING && a->failing)
		a->lost++;
	else
		buf_put(&a->pending, line->at, line->len);
	if (a->pending.bad) { /* out of memory */
		buf_clear(&a->pending);
		a->lost++;
	}
	if (a->pending.len)
		write_pending(a);
	pthread_mutex_unlock(&a->lock);
}

void access_put(struct server *s, const struct api_request *r, const struct access_http *h)
{
	int64_t now = clock_now_ns();
	struct jwrite w;
	struct buf b;

	if (!s->access.is_on)
		return;
	buf_init(&b, MEM_BASE);
	infer_record_open(&w, &b, INFER_KIND_ACCESS, s->access.first ? INFER_RECORD_FIRST : 0);
	s->access.first = 0;
	jw_int(&w, "created", (int64_t)time(NULL));
	jw_str(&w, "id", r->id);
	jw_str(&w, "remote", h->remote);
	jw_str(&w, "method", h->method);
	jw_str(&w, "path", h->path);
	jw_int(&w, "status", h->status);
	jw_int(&w, "body_bytes", (int64_t)h->body_bytes);
	jw_int(&w, "answer_bytes", h->answer_bytes);
	jw_num(&w, "total_ms", clock_ms(r->began_ns, now));
	pthread_mutex_lock(&s->lock);
	if (r->gen.prompt_tokens) {
		jw_num(&w, "ttft_ms", r->gen.first_ns ? clock_ms(r->began_ns, r->gen.first_ns) : 0);
		jw_int(&w, "prompt_tokens", r->gen.prompt_tokens);
		jw_int(&w, "completion_tokens", r->gen.completion_tokens);
	}
	pthread_mutex_unlock(&s->lock);
	if (r->trace.is_given)
		jw_str(&w, "trace_id", r->trace.id);
	if (r->note.len)
		jw_raw(&w, "request", r->note.at, r->note.len);
	infer_record_close(&w);
	if (!b.bad)
		append_line(&s->access, &b);
	buf_fini(&b);
}

void access_note(struct api_request *r, const struct infer_answer *a)
{
	const char *how = r->server->o->log_requests;
	const infer_job *j = a->job;
	int64_t cached = 0;
	struct jwrite w;

	if (!how)
		return;
	buf_clear(&r->note);
	jw_init(&w, &r->note);
	jw_object(&w, NULL);
	jw_bool(&w, "stream", j->stream);
	jw_int(&w, "n", j->n);
	jw_int(&w, "max_tokens", j->request.max_tokens);
	jw_num(&w, "temperature", (double)j->request.sample.temp);
	jw_int(&w, "seed", (int64_t)infer_job_seed(j, 0));
	jw_bool(&w, "constrained", j->request.grammar != NULL);
	for (int32_t i = 0; i < j->n; i += infer_job_each(j))
		cached += a->choices[i].usage.cached_tokens;
	jw_int(&w, "cached_tokens", cached);
	jw_num(&w, "queue_ms",
	       clock_ms(r->gen.queued_ns, r->gen.started_ns) +
	               (double)a->choices->usage.queue_ns / 1e6);
	if (*how) {
		jw_strn(&w, "body", r->body.at ? r->body.at : "", r->body.len);
		jw_array(&w, "texts");
		for (int32_t i = 0; i < j->n; i++)
			jw_strn(&w, NULL, a->choices[i].text.at, a->choices[i].text.len);
		jw_end(&w);
	}
	jw_end(&w);
	if (r->note.bad) {
		buf_fini(&r->note);
		buf_init(&r->note, MEM_BASE);
	}
}
