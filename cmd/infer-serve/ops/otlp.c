/* infer-serve/ops/otlp.c - spans of requests, and the process that sends them. */
#include <infer/param.h>
#include "infer-serve/ops/otlp.h"
#include "infer-serve/ops/server.h"
#include "common/client.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* LINE: bytes that a pipe writes atomically. Spans are sent after SOON_MS or when FULL bytes have
 * arrived. TIMEOUT_S: limit for an answer of the collector. END_MS: limit for the last spans when the
 * server ends. */
enum { LINE = 4096, SOON_MS = 500, FULL = 256 << 10, TIMEOUT_S = 5, END_MS = 2000 };

/* ---- the child process ---- */

/* Append an export request with the complete lines of `text`. */
static void put_export_request(struct buf *to, const struct buf *text)
{
	struct jwrite w;

	jw_init(&w, to);
	jw_object(&w, NULL);
	jw_array(&w, "resourceSpans");
	jw_object(&w, NULL);
	jw_object(&w, "resource");
	jw_array(&w, "attributes");
	jw_object(&w, NULL);
	jw_str(&w, "key", "service.name");
	jw_object(&w, "value");
	jw_str(&w, "stringValue", "infer-serve");
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_array(&w, "scopeSpans");
	jw_object(&w, NULL);
	jw_object(&w, "scope");
	jw_str(&w, "name", "inferutils");
	jw_str(&w, "version", infer_version());
	jw_end(&w);
	jw_array(&w, "spans");
	for (const char *at = text->at, *end = at + text->len, *next; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			break;
		jw_raw(&w, NULL, at, (size_t)(next - at));
	}
	for (int i = 0; i < 6; i++) /* close the arrays and objects opened above */
		jw_end(&w);
}

static void send_spans(struct client *c, struct buf *text, int *warned)
{
	struct buf body, answer;
	int64_t status = 0;
	infer_error err = { 0 };

	buf_init(&body, MEM_BASE);
	buf_init(&answer, MEM_BASE);
	put_export_request(&body, text);
	buf_putc(&body, 0);
	int rc = body.bad ? INFER_ENOMEM
	                  : client_ask(c, "/v1/traces", body.at, &status, &answer, &err);

	if ((rc || status / 100 != 2) && !*warned) {
		*warned = 1;
		if (rc)
			say_warning("spans are lost: %s", err.message);
		else
			say_warning("spans are lost: the collector answers with status %lld",
			            (long long)status);
	}
	buf_fini(&body);
	buf_fini(&answer);
	buf_clear(text);
}

/* Send the spans that arrive on fd until the pipe is closed. */
static void forward_spans(int fd, struct client *c)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t since = 0;
	int warned = 0, over = 0;
	char piece[LINE];
	struct buf text;

	buf_init(&text, MEM_BASE);
	while (!over) {
		int n = poll(&p, 1, text.len ? SOON_MS : -1);
		ssize_t got = n > 0 ? read(fd, piece, sizeof piece) : 0;

		over = (n > 0 && got <= 0) || (n < 0 && errno != EINTR);
		if (got > 0 && !text.len)
			since = clock_now_ns();
		if (got > 0)
			buf_put(&text, piece, (size_t)got);
		if (text.len && text.at[text.len - 1] == '\n' &&
		    (over || text.len > FULL ||
		     clock_now_ns() - since >= SOON_MS * INT64_C(1000000)))
			send_spans(c, &text, &warned);
	}
	buf_fini(&text);
}

/* Run the child until the pipe is closed. Signals are ignored and other descriptors are closed. */
static void __attribute__((noreturn)) run_sender(int fd, const struct client_server *to)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	infer_error err;
	struct client *c;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	for (int i = STDERR_FILENO + 1; i < fd; i++)
		close(i);
	if (client_open(&c, to, &err))
		say_warning("spans are lost: %s", err.message);
	else
		forward_spans(fd, c);
	_exit(0);
}

int otlp_open(struct server *s, infer_error *err)
{
	const struct client_server to = { .url = s->o->otlp,
		                          .timeout_s = TIMEOUT_S,
		                          .option = "--otlp" };
	struct client *c = NULL;
	int fds[2];

	if (!s->o->otlp)
		return INFER_OK;
	/* check the URL before the server starts */
	int rc = client_open(&c, &to, err);

	client_close(c);
	if (rc)
		return rc;
	if (pipe2(fds, O_CLOEXEC))
		return err_set(err, INFER_EIO, "no pipe: %s", strerror(errno));
	s->otlp_pid = fork();
	if (!s->otlp_pid) {
		close(fds[1]);
		run_sender(fds[0], &to);
	}
	close(fds[0]);
	if (s->otlp_pid < 0) {
		close(fds[1]);
		return err_set(err, INFER_EIO, "no process for --otlp: %s", strerror(errno));
	}
	s->otlp_fd = fds[1];
	return fcntl(fds[1], F_SETFL, O_NONBLOCK) ? err_set(err, INFER_EIO, "the pipe of --otlp")
	                                          : INFER_OK;
}

void otlp_close(struct server *s)
{
	int64_t until = clock_now_ns() + END_MS * INT64_C(1000000);

	if (s->otlp_pid <= 0)
		return;
	if (s->otlp_fd >= 0)
		close(s->otlp_fd);
	while (!waitpid(s->otlp_pid, NULL, WNOHANG) && clock_now_ns() < until)
		poll(NULL, 0, 10);
}

/* ---- spans ---- */

static void begin_attribute(struct jwrite *w, const char *key)
{
	jw_object(w, NULL);
	jw_str(w, "key", key);
	jw_object(w, "value");
}

static void end_attribute(struct jwrite *w)
{
	jw_end(w);
	jw_end(w);
}

static void put_str_attribute(struct jwrite *w, const char *key, const char *v)
{
	begin_attribute(w, key);
	jw_str(w, "stringValue", v);
	end_attribute(w);
}

/* Append a 64-bit integer: a string in OTLP's JSON. */
static void put_int_attribute(struct jwrite *w, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)v);
	begin_attribute(w, key);
	jw_str(w, "intValue", text);
	end_attribute(w);
}

static void put_num_attribute(struct jwrite *w, const char *key, double v)
{
	begin_attribute(w, key);
	jw_num(w, "doubleValue", v);
	end_attribute(w);
}

static void put_finish_attribute(struct jwrite *w, const struct infer_answer *a)
{
	begin_attribute(w, "gen_ai.response.finish_reasons");
	jw_object(w, "arrayValue");
	jw_array(w, "values");
	for (int32_t i = 0; i < a->job->n; i++) {
		jw_object(w, NULL);
		jw_str(w, "stringValue",
		       a->choices[i].finish == INFER_FINISH_LENGTH ? "length" : "stop");
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
	end_attribute(w);
}

static void put_sampling(struct jwrite *w, const infer_job *j)
{
	struct infer_sample_opts o = j->request.sample;

	infer_sample_resolve(&o);
	put_num_attribute(w, "gen_ai.request.temperature", (double)o.temp);
	put_num_attribute(w, "gen_ai.request.top_p", (double)o.top_p);
	put_num_attribute(w, "gen_ai.request.top_k", (double)o.top_k);
	put_num_attribute(w, "gen_ai.request.frequency_penalty", (double)o.frequency);
	put_num_attribute(w, "gen_ai.request.presence_penalty", (double)o.presence);
	put_int_attribute(w, "gen_ai.request.seed", (int64_t)infer_job_seed(j, 0));
}

void otlp_note(struct api_request *r, const struct infer_answer *a)
{
	const infer_job *j = a->job;
	int64_t in = 0, out = 0;
	struct jwrite w;

	if (r->server->otlp_fd < 0)
		return;
	for (int32_t i = 0; i < j->n; i++) {
		in += i % infer_job_each(j) ? 0 : a->choices[i].usage.prompt_tokens;
		out += a->choices[i].usage.completion_tokens;
	}
	buf_clear(&r->span);
	jw_init(&w, &r->span);
	jw_array(&w, NULL);
	put_sampling(&w, j);
	if (j->request.max_tokens >= 0)
		put_int_attribute(&w, "gen_ai.request.max_tokens", j->request.max_tokens);
	put_int_attribute(&w, "gen_ai.request.choice.count", infer_job_each(j));
	put_str_attribute(&w, "gen_ai.output.type",
	                  j->request.grammar && !j->chat ? "json" : "text");
	put_finish_attribute(&w, a);
	put_int_attribute(&w, "gen_ai.usage.input_tokens", in);
	put_int_attribute(&w, "gen_ai.usage.output_tokens", out);
	if (r->gen.first_ns)
		put_num_attribute(&w, "gen_ai.server.time_to_first_token",
		                  (double)(r->gen.first_ns - r->began_ns) * 1e-9);
	jw_end(&w);
}

/* Return the value of gen_ai.operation.name for the API format of r. */
static const char *operation_name(const struct api_request *r)
{
	const char *form = infer_api_name(r->format);

	return !strcmp(form, "embed")                              ? "embeddings"
	       : !strcmp(form, "rerank") || !strcmp(form, "score") ? "rerank"
	       : !strcmp(form, "text") || !strcmp(form, "native") || !strcmp(form, "infill")
	               ? "text_completion"
	               : "chat";
}

static void put_common(struct jwrite *w, const struct api_request *r, int status)
{
	const char *name = r->model ? r->model->name : "", *listen = r->server->o->listen;
	const char *colon = strrchr(listen, ':');
	char text[24], host[256];

	put_str_attribute(w, "gen_ai.operation.name", operation_name(r));
	put_str_attribute(w, "gen_ai.provider.name", "inferutils");
	put_str_attribute(w, "gen_ai.request.model", name);
	put_str_attribute(w, "gen_ai.response.model", name);
	if (!strncmp(listen, "unix:", 5)) {
		put_str_attribute(w, "server.address", listen + 5);
	} else if (colon) {
		snprintf(host, sizeof host, "%.*s", (int)(colon - listen), listen);
		put_str_attribute(w, "server.address", host);
		put_int_attribute(w, "server.port", strtol(colon + 1, NULL, 10));
	}
	put_int_attribute(w, "http.response.status_code", status);
	if (status >= 400) {
		snprintf(text, sizeof text, "%d", status);
		put_str_attribute(w, "error.type", text);
	}
}

static void put_ns(struct jwrite *w, const char *key, int64_t ns)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)ns);
	jw_str(w, key, text);
}

static void put_ids(struct jwrite *w, const struct api_request *r)
{
	char trace[33];

	snprintf(trace, sizeof trace, "%016llx%.16s",
	         (unsigned long long)sip_hash(&r->server->secret, r->name, strlen(r->name)),
	         r->name);
	jw_str(w, "traceId", r->trace.is_given ? r->trace.id : trace);
	jw_str(w, "spanId", r->name);
	if (r->trace.is_given)
		jw_str(w, "parentSpanId", r->trace.parent_id);
}

static const char kind[] = "kind"; /* key of a span, unlike "kind" of our records */

static void put_span(struct jwrite *w, const struct api_request *r, int status)
{
	int64_t now = clock_now_ns();
	struct timespec t;
	char name[320];

	clock_gettime(CLOCK_REALTIME, &t);
	int64_t real = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;

	snprintf(name, sizeof name, "%s %.256s", operation_name(r), r->model ? r->model->name : "");
	jw_object(w, NULL);
	put_ids(w, r);
	jw_str(w, "name", name);
	jw_int(w, kind, 2); /* SPAN_KIND_SERVER */
	put_ns(w, "startTimeUnixNano", real - (now - r->began_ns));
	put_ns(w, "endTimeUnixNano", real);
	jw_array(w, "attributes");
	put_common(w, r, status);
	/* r->span without its brackets: only the elements */
	if (r->span.len > 2 && !r->span.bad)
		jw_raw(w, NULL, r->span.at + 1, r->span.len - 2);
	jw_end(w);
	jw_object(w, "status");
	if (status >= 500)
		jw_int(w, "code", 2);
	jw_end(w);
	jw_end(w);
}

void otlp_put(const struct api_request *r, int status)
{
	struct server *s = r->server;
	struct jwrite w;
	struct buf b;

	if (s->otlp_fd < 0 || !r->format || (r->trace.is_given && !r->trace.is_sampled))
		return;
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	put_span(&w, r, status);
	buf_putc(&b, '\n');
	if (b.bad || b.len > LINE || write(s->otlp_fd, b.at, b.len) != (ssize_t)b.len) {
		pthread_mutex_lock(&s->lock);
		s->spans_dropped++;
		pthread_mutex_unlock(&s->lock);
	}
	buf_fini(&b);
}
