/* infer-serve/http/http.c - the HTTP side, on libmicrohttpd: connections, heads, bodies and answers.
 *
 * libmicrohttpd does not see a client leave while a connection is suspended, nor if the end of the stream
 * arrives together with the last bytes: http_look does (conns.h). */
#include "infer-serve/http/http.h"
#include "infer-serve/http/admit.h"
#include "infer-serve/http/answer.h"
#include "infer-serve/http/conns.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/http/head.h"
#include "infer-serve/http/headers.h"
#include "infer-serve/http/origin.h"
#include "infer-serve/ops/otlp.h"
#include "infer-serve/serve.h"
#include "infer-serve/http/sse.h"
#include "infer-serve/http/strict.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* IDLE_S: without a byte in either direction a connection ends.  DRAIN: a body that is too large is
 * read up to so many times the limit, so that its sender sees the answer. */
enum { IDLE_S = 60, DRAIN = 4 };
#define SECOND INT64_C(1000000000)

struct http {
	struct MHD_Daemon *daemon;
	int listener;
	struct conns conns;
};

/* ---- connections ---- */

static const union MHD_ConnectionInfo *info(struct MHD_Connection *c, enum MHD_ConnectionInfoType t)
{
	return MHD_get_connection_info(c, t);
}

static struct conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

static const struct sockaddr *client(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return i ? i->client_addr : NULL;
}

static void set_conn(struct server *s, struct MHD_Connection *c, enum conn_state state,
                     int64_t seconds)
{
	struct conn *n = conn_of(c);
	int64_t now = clock_now_ns();

	if (n)
		conns_set(&s->http->conns, n, state, now, seconds ? now + seconds * SECOND : 0);
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct server *s = user;
	struct conns *all = &s->http->conns;
	int64_t now = clock_now_ns();

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*context = conns_add(all, info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
		                     client(c), now, now + s->o->header_timeout * SECOND);
	else if (*context)
		conns_remove(all, *context, now);
}

/* ---- heads ---- */

static const char *field(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static char *copy(const char *text)
{
	return text ? mem_strndup(MEM_BASE, text, strlen(text)) : NULL;
}

static char *address(struct MHD_Connection *c)
{
	const struct sockaddr *a = client(c);
	char text[INET6_ADDRSTRLEN + 1] = "unix";

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, text,
		          sizeof text);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		          text, sizeof text);
	return copy(text);
}

static void __attribute__((format(printf, 3, 4)))
refuse(struct exchange *x, int kind, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(x->early.error.message, sizeof x->early.error.message, fmt, args);
	va_end(args);
	x->early.error.code = INFER_EINVAL;
	x->early.kind = kind;
}

/* Find the endpoint, or why there is none for this request. */
static void find_endpoint(struct exchange *x, unsigned method)
{
	unsigned allowed;

	x->endpoint = route_find(x->path, method, &allowed, &x->rest);
	x->allow = route_allow(allowed);
	x->anthropic = route_is_anthropic(x->path);
	if (x->endpoint && x->endpoint->flags & EP_PAGE && x->server->o->no_page) {
		x->endpoint = NULL;
		allowed = 0;
	}
	if (!allowed)
		refuse(x, INFER_FAULT_NOT_FOUND, "there is no %.160s", x->path);
	else if (!x->endpoint && method != ROUTE_OPTIONS)
		refuse(x, INFER_FAULT_METHOD, "%.160s takes %s", x->path, x->allow);
}

static void check_upload(struct exchange *x, struct MHD_Connection *c, int64_t length)
{
	int kind = 0;
	const char *why = upload_refused(x, c, length, &kind);
	if (why)
		refuse(x, kind, "%s", why);
}

/* What the head alone says against a request for an endpoint that is there. */
static void check_head(struct exchange *x, struct MHD_Connection *c)
{
	struct server *s = x->server;
	unsigned flags = x->endpoint->flags;
	int64_t length = head_length(field(c, "Content-Length"));

	if (!admit_key(x, field(c, "Authorization"), field(c, "X-Api-Key")) && !(flags & EP_PUBLIC))
		refuse(x, INFER_FAULT_KEY, "the API key is missing or wrong");
	else if (flags & EP_OFF || (flags & EP_FILES && !s->o->files_dir))
		refuse(x, INFER_FAULT_OFF, "this server does not have %s", x->endpoint->path);
	else if (s->draining && !(flags & EP_ALWAYS))
		refuse(x, INFER_FAULT_UNAVAILABLE, "the server is shutting down");
	else if (flags & EP_UPLOAD)
		check_upload(x, c, length);
	else if (x->endpoint->method & ROUTE_POST && !head_is_json(field(c, "Content-Type")))
		refuse(x, INFER_FAULT_MEDIA_TYPE, "the body must be application/json, not %.80s",
		       field(c, "Content-Type"));
	else if (length > (int64_t)s->o->max_body)
		refuse(x, INFER_FAULT_TOO_LARGE, "the body has %lld bytes; at most %llu are taken",
		       (long long)length, (unsigned long long)s->o->max_body);
}

/* True if a request that is refused is answered before its body: where it ends is not certain, it has no
 * key, the client waits for that, or the body is more than is worth reading. */
static int answer_now(const struct exchange *x, struct MHD_Connection *c)
{
	return x->early.kind &&
	       (x->closes || x->early.kind == INFER_FAULT_TOO_LARGE ||
	        x->early.kind == INFER_FAULT_KEY || x->early.kind == INFER_FAULT_FORBIDDEN ||
	        (x->server->o->api_key_file && !*x->key) || field(c, "Expect") ||
	        head_length(field(c, "Content-Length")) > (int64_t)upload_most(x));
}

/* Refuse a head that is not valid HTTP: nothing that follows it is answered.  Returns 1 if it is valid. */
static int check_strictly(struct exchange *x, struct MHD_Connection *c, const char *url,
                          const char *version)
{
	struct conn *n = conn_of(c);
	const struct strict_request r = { c, &n->target, url, x->method, version };
	int kind = 0;
	const char *why = strict_head(&r, &kind);

	if (why)
		refuse(x, kind, "%s", why);
	/* libmicrohttpd before 1.0 takes line feeds alone for the ends of lines between chunks: where the
	 * body ends is certain for nobody */
	x->closes = why || field(c, "Transfer-Encoding");
	if (!why && n->target.path)
		url += n->target.path;
	x->path = copy(*url ? url : "/");
	return !why;
}

static enum MHD_Result send_early(struct exchange *x, struct MHD_Connection *c)
{
	exchange_fault(x, &x->early);
	return answer_send(x, c);
}

/* Fill in what the connection and the head say. */
static void describe(struct exchange *x, struct MHD_Connection *c, const char *method)
{
	const char *id = field(c, "X-Request-Id");

	x->origin = copy(field(c, "Origin"));
	x->remote = address(c);
	x->method = method; /* libmicrohttpd's, for as long as the request */
	x->head = !strcmp(method, "HEAD");
	if (id && head_is_id(id))
		snprintf(x->id, sizeof x->id, "%s", id);
	else
		snprintf(x->id, sizeof x->id, "req_%s", x->name);
	x->has_trace = head_trace(x->trace, field(c, "traceparent"));
	x->sampled = x->has_trace && head_parent(x->parent, field(c, "traceparent"));
}

/* From now on x is the request of this connection, whose body arrives. */
static void attach(struct exchange *x, struct MHD_Connection *c)
{
	struct server *s = x->server;
	struct conn *n = conn_of(c);

	set_conn(s, c, CONN_BODY, 0);
	pthread_mutex_lock(&s->lock);
	n->x = x;
	x->connection = c;
	x->fd = n->fd;
	x->heard_ns = clock_now_ns();
	x->deadline_ns = x->began_ns + s->o->body_timeout * SECOND;
	pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result begin(struct server *s, struct MHD_Connection *c, const char *url,
                             const char *method, const char *version, void **context)
{
	struct exchange *x = conn_of(c) ? exchange_new(s) : NULL;
	int valid;

	if (!x)
		return MHD_NO;
	*context = x;
	describe(x, c, method);
	valid = check_strictly(x, c, url, version);
	if (!x->path || !x->remote)
		return MHD_NO;
	if (valid)
		find_endpoint(x, route_method(method));
	if (!x->early.kind && !head_seconds(&x->timeout_s, field(c, "X-Request-Timeout")))
		refuse(x, INFER_FAULT_INVALID, "X-Request-Timeout is not 0 to 1000000 seconds");
	if (x->endpoint)
		check_head(x, c);
	if (valid)
		origin_check(x, c);
	query_take(x, c);
	attach(x, c);
	if (!answer_now(x, c))
		return MHD_YES;
	conn_of(c)->linger = 1;
	x->closes |= head_length(field(c, "Content-Length")) > 0;
	return send_early(x, c);
}

/* ---- bodies ---- */

/* A target is known: nothing else of the head is.  One with too many arguments is answered here, since
 * libmicrohttpd 0.9.75 would say nothing if they found no room. */
static void *on_target(void *user, const char *target, struct MHD_Connection *c)
{
	struct server *s = user;
	struct conn *n = conn_of(c);
	struct exchange *x;

	if (!n)
		return NULL;
	strict_target(&n->target, target);
	set_conn(s, c, CONN_HEAD, s->o->header_timeout);
	if (n->target.kind != INFER_FAULT_TARGET || !(x = exchange_new(s)))
		return NULL;
	x->path = mem_strndup(MEM_BASE, target, strcspn(target, "?"));
	x->remote = address(c);
	x->method = "";
	snprintf(x->id, sizeof x->id, "req_%s", x->name);
	pthread_mutex_lock(&s->lock);
	x->fd = n->fd;
	answer_raw(x, INFER_FAULT_TARGET, "URI Too Long", n->target.why);
	pthread_mutex_unlock(&s->lock);
	return x;
}

/* A piece of the body.  0: the connection is to be closed. */
static int take_body(struct exchange *x, const char *at, size_t n)
{
	struct server *s = x->server;
	uint64_t most = upload_most(x);
	int64_t now = clock_now_ns();

	x->body_bytes += n;
	conns_seen(&s->http->conns, conn_of(x->connection), now);
	pthread_mutex_lock(&s->lock);
	x->heard_ns = now;
	pthread_mutex_unlock(&s->lock);
	if (x->early.kind && x->early.kind != INFER_FAULT_TOO_LARGE)
		return x->body_bytes <= most;
	if (x->body_bytes <= most) {
		if (x->upload)
			return upload_put(x->upload, at, n);
		buf_put(&x->body, at, n);
		return !x->body.bad;
	}
	buf_fini(&x->body);
	buf_init(&x->body, MEM_BASE);
	upload_free(&x->upload);
	if (x->body_bytes <= DRAIN * s->o->max_body + most) {
		refuse(x, INFER_FAULT_TOO_LARGE, "the body is longer than %llu bytes",
		       (unsigned long long)most);
		return 1;
	}
	pthread_mutex_lock(&s->lock);
	answer_raw(x, INFER_FAULT_TOO_LARGE, "Payload Too Large", x->early.error.message);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* The request is whole. */
static enum MHD_Result hand_on(struct exchange *x, struct MHD_Connection *c)
{
	struct server *s = x->server;
	int busy;

	set_conn(s, c, CONN_WHOLE, 0);
	if (x->early.kind)
		return send_early(x, c);
	if (!x->endpoint)
		return answer_preflight(x, c);
	if (x->endpoint->flags & EP_QUICK) {
		x->endpoint->handle(x);
		return answer_send(x, c);
	}
	pthread_mutex_lock(&s->lock);
	x->gone |= conn_of(c)->left;
	busy = x->gone ? 0 : admit_full(x);
	if (x->gone) {
		pthread_mutex_unlock(&s->lock);
		return MHD_NO;
	}
	if (!busy) {
		s->n_admitted++;
		x->user->admitted++;
		x->admitted = 1;
		x->refs++;
		x->stage = STAGE_WORK;
		x->suspended = 1;
		MHD_suspend_connection(c);
		work_put(s, x);
	}
	pthread_mutex_unlock(&s->lock);
	if (!busy)
		return MHD_YES;
	refuse(x, INFER_FAULT_BUSY, "%lld requests run or wait: try again later",
	       (long long)(SERVE_SEQS + s->o->max_queue));
	return send_early(x, c);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n, void **context)
{
	struct server *s = user;
	struct exchange *x = *context;
	enum stage stage;
	int over;

	if (!x)
		return begin(s, c, url, method, version, context);
	if (*n) {
		size_t bytes = *n;

		*n = 0;
		return take_body(x, upload, bytes) ? MHD_YES : MHD_NO;
	}
	pthread_mutex_lock(&s->lock);
	stage = x->stage;
	x->deadline_ns = 0;
	over = x->gone || x->is_raw || s->closing;
	pthread_mutex_unlock(&s->lock);
	if (over)
		return MHD_NO;
	if (stage == STAGE_BODY)
		return hand_on(x, c);
	return stage == STAGE_WORK ? MHD_YES : answer_send(x, c);
}

static void on_completed(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
	struct server *s = user;
	struct exchange *x = *context;
	int status;

	set_conn(s, c, CONN_IDLE, IDLE_S + s->o->header_timeout);
	if (!x)
		return;
	*context = NULL;
	pthread_mutex_lock(&s->lock);
	if (conn_of(c))
		conn_of(c)->x = NULL;
	x->connection = NULL;
	x->fd = -1;
	x->deadline_ns = 0;
	if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		x->gone = 1;
	/* 499: nothing could be written, or not all of it */
	status = x->gone && !x->is_raw && x->status != 408 && x->status != 413 ? 499 : x->status;
	metrics_request(exchange_metrics(x), route_index(x->endpoint), status);
	if (x->gone) /* only then has the engine something to do: waking it costs more than a short answer */
		pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
	access_put(s, x, status);
	otlp_put(s, x, status);
	pthread_mutex_lock(&s->lock);
	exchange_drop(x);
	pthread_mutex_unlock(&s->lock);
}

/* ---- from other threads ---- */

void http_wake(struct exchange *x)
{
	if (!x->suspended || !x->connection)
		return;
	x->suspended = 0;
	MHD_resume_connection(x->connection);
}

/* A client has closed its connection, or its sending side.  A shutdown for reading makes libmicrohttpd look
 * again: it finds what has arrived, then the end.  If it was about to look anyway, it sees only one of the
 * two; so conns_look repeats this. */
static void end_request(struct conn *n)
{
	struct exchange *x = n->x;

	if (x && (x->stage == STAGE_WORK || x->stage == STAGE_STREAM)) {
		x->gone = 1;
		http_wake(x);
	} else {
		shutdown(n->fd, SHUT_RD);
	}
}

int64_t http_look(struct server *s, int64_t now)
{
	/* the engine's thread begins before there is one, and ends after it */
	return s->http ? conns_look(&s->http->conns, now, end_request) : INT64_MAX;
}

int http_watched(const struct server *s) { return s->http->conns.poll; }

void http_check(struct server *s, int64_t now)
{
	pthread_mutex_lock(&s->lock);
	for (struct exchange *x = s->exchanges; x; x = x->next) {
		if (x->stage != STAGE_BODY || x->fd < 0 || !x->deadline_ns)
			continue;
		if (now > x->deadline_ns)
			answer_raw(x, INFER_FAULT_TIMEOUT, "Request Timeout",
			           "the body did not arrive in time");
		else if (s->draining && (s->cut || now > x->heard_ns + SECOND))
			answer_raw(x, INFER_FAULT_UNAVAILABLE, "Service Unavailable",
			           "the server is shutting down");
	}
	pthread_mutex_unlock(&s->lock);
	conns_check(&s->http->conns, now);
}

/* Of libmicrohttpd before 1.0 the strict level answers requests without Host with two heads, and those with
 * a space in their target not at all: strict_head refuses both. */
#if MHD_VERSION >= 0x00097701
#define STRICTEST MHD_OPTION_CLIENT_DISCIPLINE_LVL, 3
#else
#define STRICTEST MHD_OPTION_STRICT_FOR_CLIENT, 0
#endif

static void on_log(void *user, const char *fmt, va_list args)
{
	char line[512];

	(void)user;
	vsnprintf(line, sizeof line, fmt, args);
	line[strcspn(line, "\n")] = 0;
	say_note(2, "%s", line);
}

int http_open(struct server *s, int socket, infer_error *err)
{
	struct http *h = mem_zalloc(MEM_BASE, 1, sizeof *h);
	unsigned flags =
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (!h)
		return err_set(err, INFER_ENOMEM, "out of memory for the server");
	h->listener = socket;
	int rc = conns_open(&h->conns, s->o->max_connections, &s->secret, &s->o->trusted_proxies,
	                    err);

	pthread_mutex_lock(&s->lock);
	s->http = h;
	pthread_mutex_unlock(&s->lock);
	TRY(rc);

	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert.at },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, s->key.at },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };

	h->daemon = MHD_start_daemon(
		s->cert.len ? flags | MHD_USE_TLS : flags, 0, NULL, NULL, on_request, s,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
		head_unescape, NULL, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)s->o->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)STRICT_POOL, MHD_OPTION_URI_LOG_CALLBACK, on_target, s, STRICTEST,
		MHD_OPTION_ARRAY, s->cert.len ? tls : &none, MHD_OPTION_END);
	if (!h->daemon && s->cert.len)
		return err_set(err, INFER_EFORMAT,
		               "%s and %s are no certificate with its key (-vv says more)",
		               s->o->tls_cert, s->o->tls_key);
	return h->daemon ? INFER_OK
	                 : err_set(err, INFER_EIO, "the HTTP server does not start: %s",
	                           strerror(errno));
}

void http_quiesce(struct server *s)
{
	if (!s->http || !s->http->daemon || s->http->listener < 0)
		return;
	(void)MHD_quiesce_daemon(s->http->daemon);
	close(s->http->listener);
	s->http->listener = -1;
}

void http_close(struct server *s)
{
	struct http *h = s->http;

	if (!h)
		return;
	http_quiesce(s); /* or libmicrohttpd would close the socket */
	pthread_mutex_lock(&s->lock);
	s->closing = 1;
	for (struct exchange *x = s->exchanges; x; x = x->next)
		http_wake(x);
	pthread_mutex_unlock(&s->lock);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	pthread_mutex_lock(&s->lock);
	s->http = NULL;
	pthread_mutex_unlock(&s->lock);
	conns_close(&h->conns);
	mem_free(h);
}
