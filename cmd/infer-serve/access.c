/* infer-serve/access.c - the access log: a JSON line for each request. */
#include <infer/record.h>
#include "infer-serve/serve.h"
#include "common/file.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int access_open(struct server *s, infer_error *err)
{
	const char *path = s->o->access_log;

	s->access_first = 1;
	s->access_fd = -1;
	if (!path)
		return INFER_OK;
	s->access_fd = strcmp(path, "-")
	                       ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)
	                       : dup(STDOUT_FILENO);
	return s->access_fd >= 0 ? INFER_OK
	                         : err_set(err, INFER_EIO, "%s: %s", path, strerror(errno));
}

void access_put(struct server *s, const struct exchange *x, int status)
{
	int64_t now = clock_now_ns();
	struct jwrite w;
	struct buf b;

	if (s->access_fd < 0)
		return;
	buf_init(&b, MEM_BASE);
	infer_record_open(&w, &b, INFER_KIND_ACCESS, s->access_first ? INFER_RECORD_FIRST : 0);
	s->access_first = 0;
	jw_int(&w, "created", (int64_t)time(NULL));
	jw_str(&w, "id", x->id);
	jw_str(&w, "remote", x->remote);
	jw_str(&w, "method", x->method);
	jw_str(&w, "path", x->path);
	jw_int(&w, "status", status);
	jw_int(&w, "body_bytes", (int64_t)x->body_bytes);
	jw_int(&w, "answer_bytes", x->sent);
	jw_num(&w, "total_ms", clock_ms(x->began_ns, now));
	pthread_mutex_lock(&s->lock);
	if (x->prompt_tokens) {
		jw_num(&w, "ttft_ms", x->first_ns ? clock_ms(x->began_ns, x->first_ns) : 0);
		jw_int(&w, "prompt_tokens", x->prompt_tokens);
		jw_int(&w, "completion_tokens", x->completion_tokens);
	}
	pthread_mutex_unlock(&s->lock);
	if (x->has_trace)
		jw_str(&w, "trace_id", x->trace);
	if (x->note.len)
		jw_raw(&w, "request", x->note.at, x->note.len);
	infer_record_close(&w);
	if (!b.bad && file_put(s->access_fd, b.at, b.len) < 0) {
		say_warning("the access log ends: %s", strerror(errno));
		close(s->access_fd);
		s->access_fd = -1;
	}
	buf_fini(&b);
}

void access_note(struct exchange *x, const struct infer_answer *a)
{
	const char *how = x->server->o->log_requests;
	const infer_job *j = a->job;
	int64_t cached = 0;
	struct jwrite w;

	if (!how)
		return;
	buf_clear(&x->note);
	jw_init(&w, &x->note);
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
	       clock_ms(x->put_ns, x->started_ns) + (double)a->choices->usage.queue_ns / 1e6);
	if (*how) {
		jw_strn(&w, "body", x->body.at ? x->body.at : "", x->body.len);
		jw_array(&w, "texts");
		for (int32_t i = 0; i < j->n; i++)
			jw_strn(&w, NULL, a->choices[i].text.at, a->choices[i].text.len);
		jw_end(&w);
	}
	jw_end(&w);
	if (x->note.bad) {
		buf_fini(&x->note);
		buf_init(&x->note, MEM_BASE);
	}
}
