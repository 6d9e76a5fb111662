/* infer-serve/http/http.c - the HTTP side, on libmicrohttpd: connections, heads, bodies and answers.
 *
 * libmicrohttpd does not notice a client that leaves while its connection is suspended, or whose end of
 * stream arrives with its last bytes. find_gone does (conns.h). */
#include "infer-serve/http/http.h"
#include "infer-serve/http/admit.h"
#include "infer-serve/http/answer.h"
#include "infer-serve/http/conns.h"
#include "infer-serve/http/describe.h"
#include "infer-serve/http/head.h"
#include "infer-serve/http/headers.h"
#include "infer-serve/http/origin.h"
#include "infer-serve/ops/otlp.h"
#include "infer-serve/http/request.h"
#include "infer-serve/http/sse.h"
#include "infer-serve/http/strict.h"
#include "infer-serve/http/tls.h"
#include "infer-serve/http/upload.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* IDLE_S: seconds without a byte in either direction after which a connection ends. DRAIN: a body that is
 * too large is read up to this many times the limit, so that the client can read the answer. */
enum { IDLE_S = 60, DRAIN = 4 };
#define SECOND INT64_C(1000000000)

struct http {
	struct MHD_Daemon *daemon;
	int listener;
	const struct tls *tls;
	const struct origin *origin;
	const struct route_table *routes;
	struct conns conns;
};

/* ---- connections ---- */

static const union MHD_ConnectionInfo *conn_info(struct MHD_Connection *c,
                                                 enum MHD_ConnectionInfoType t)
{
	return MHD_get_connection_info(c, t);
}

static struct conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = conn_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
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
		*context =
			conns_add(all, conn_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
		                  http_client(c), now, now + s->o->header_timeout * SECOND);
	else if (*context)
		conns_remove(all, *context, now);
}

/* ---- heads ---- */

static void __attribute__((format(printf, 3, 4)))
refuse(struct http_request *r, int kind, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->early.error.message, sizeof r->early.error.message, fmt, args);
	va_end(args);
	r->early.error.code = INFER_EINVAL;
	r->early.kind = kind;
}

/* Find the endpoint, or refuse the request. */
static void find_endpoint(struct http_request *r, unsigned method)
{
	unsigned allowed;

	r->endpoint =
		route_find(r->api.server->http->routes, r->head.path, method, &allowed, &r->rest);
	r->allow = route_allow(allowed);
	r->api.style = route_style(r->head.path);
	if (r->endpoint && r->endpoint->flags & EP_PAGE && r->api.server->o->no_page) {
		r->endpoint = NULL;
		allowed = 0;
	}
	if (r->endpoint && r->endpoint->format)
		r->api.format = infer_api_named(r->endpoint->format);
	if (!allowed)
		refuse(r, INFER_FAULT_NOT_FOUND, "there is no %.160s", r->head.path);
	else if (!r->endpoint && method != ROUTE_OPTIONS)
		refuse(r, INFER_FAULT_METHOD, "%.160s takes %s", r->head.path, r->allow);
}

static void check_upload(struct http_request *r, struct MHD_Connection *c, int64_t length)
{
	int kind = 0;
	const char *why = upload_begin(r, c, length, &kind);
	if (why)
		refuse(r, kind, "%s", why);
}

/* Check the key, the type and length of the body, and options of the server; refuse the request if
 * one of them forbids it. */
static void check_head(struct http_request *r, struct MHD_Connection *c)
{
	struct server *s = r->api.server;
	unsigned flags = r->endpoint->flags;
	int64_t length = head_length(http_field(c, "Content-Length"));

	if (!admit_key(r, http_field(c, "Authorization"), http_field(c, "X-Api-Key")) &&
	    !(flags & EP_PUBLIC))
		refuse(r, INFER_FAULT_KEY, "the API key is missing or wrong");
	else if (flags & EP_OFF)
		refuse(r, INFER_FAULT_OFF, "this server does not have %.160s", r->head.path);
	else if ((flags & EP_FILES && !s->o->files_dir) || (flags & EP_LORA && !s->o->lora_dir))
		refuse(r, INFER_FAULT_OFF, "%.160s needs %s: this server runs without",
		       r->endpoint->path, flags & EP_FILES ? "--files-dir" : "--lora-dir");
	else if (s->draining && !(flags & EP_ALWAYS))
		refuse(r, INFER_FAULT_UNAVAILABLE, "the server is shutting down");
	else if (flags & EP_UPLOAD)
		check_upload(r, c, length);
	else if (r->endpoint->method & ROUTE_POST && !(flags & EP_ANY_TYPE && !r->head.origin) &&
	         !head_is_json(http_field(c, "Content-Type")))
		refuse(r, INFER_FAULT_MEDIA_TYPE, "the body must be application/json, not %.80s",
		       http_field(c, "Content-Type"));
	else if (length > (int64_t)s->o->max_body)
		refuse(r, INFER_FAULT_TOO_LARGE, "the body has %lld bytes; at most %llu are taken",
		       (long long)length, (unsigned long long)s->o->max_body);
}

/* True if a refused request is answered before its body is read: its length is not certain, the key is
 * missing, the client sent Expect, or the body is too large. */
static int answers_before_body(const struct http_request *r, struct MHD_Connection *c)
{
	return r->early.kind &&
	       (r->link.closes || r->early.kind == INFER_FAULT_TOO_LARGE ||
	        r->early.kind == INFER_FAULT_KEY || r->early.kind == INFER_FAULT_FORBIDDEN ||
	        (r->api.server->o->api_key_file && !*r->api.caller.key) ||
	        http_field(c, "Expect") ||
	        head_length(http_field(c, "Content-Length")) > (int64_t)upload_most(r));
}

/* Refuse a head that is not valid HTTP, and close the connection after the answer.  Returns 1 if it
 * is valid. */
static int check_syntax(struct http_request *r, struct MHD_Connection *c, const char *url,
                        const char *version)
{
	struct conn *n = conn_of(c);
	const struct strict_request parts = { c, &n->target, url, r->head.method, version };
	int kind = 0;
	const char *why = strict_head(&parts, &kind);

	if (why)
		refuse(r, kind, "%s", why);
	/* libmicrohttpd before 1.0 accepts a lone line feed between chunks, so proxies may disagree
	 * about where the body ends */
	r->link.closes = why || http_field(c, "Transfer-Encoding");
	if (!why && n->target.path)
		url += n->target.path;
	if (!*url)
		url = "/";
	r->head.path = mem_strndup(MEM_BASE, url, strlen(url));
	return !why;
}

static enum MHD_Result send_early(struct http_request *r, struct MHD_Connection *c)
{
	api_fault(&r->api, &r->early);
	return answer_send(r, c);
}

/* Make r the request of this connection, in STAGE_BODY. */
static void attach_request(struct http_request *r, struct MHD_Connection *c)
{
	struct server *s = r->api.server;
	struct conn *n = conn_of(c);

	set_conn(s, c, CONN_BODY, 0);
	pthread_mutex_lock(&s->lock);
	n->request = r;
	r->link.connection = c;
	r->link.fd = n->fd;
	r->link.heard_ns = clock_now_ns();
	r->link.deadline_ns = r->api.began_ns + s->o->body_timeout * SECOND;
	pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result begin_request(struct server *s, struct MHD_Connection *c, const char *url,
                                     const char *method, const char *version, void **context)
{
	struct http_request *r = conn_of(c) ? http_request_new(s) : NULL;
	int valid;

	if (!r)
		return MHD_NO;
	*context = r;
	http_describe(r, c, method);
	valid = check_syntax(r, c, url, version);
	if (!r->head.path || !r->head.remote)
		return MHD_NO;
	if (valid)
		find_endpoint(r, route_method(method));
	/* both APIs have /v1/models; only Anthropic's clients send this field */
	if (!strncmp(r->head.path, "/v1/models", 10) && http_field(c, "anthropic-version"))
		r->api.style = STYLE_ANTHROPIC;
	if (!r->early.kind && !head_seconds(&r->api.timeout_s, http_field(c, "X-Request-Timeout")))
		refuse(r, INFER_FAULT_INVALID,
		       "X-Request-Timeout must be above 0 and at most 1000000 seconds");
	if (r->endpoint)
		check_head(r, c);
	if (valid)
		origin_check(s->http->origin, r, c);
	attach_request(r, c);
	if (!answers_before_body(r, c))
		return MHD_YES;
	conn_of(c)->linger = 1;
	r->link.closes |= head_length(http_field(c, "Content-Length")) > 0;
	return send_early(r, c);
}

/* ---- bodies ---- */

/* Called by libmicrohttpd with the request target, before the fields. A target with too many arguments is
 * answered here: libmicrohttpd 0.9.75 would close the connection without an answer. */
static void *on_target(void *user, const char *target, struct MHD_Connection *c)
{
	struct server *s = user;
	struct conn *n = conn_of(c);
	struct http_request *r;

	if (!n)
		return NULL;
	strict_target(&n->target, target);
	set_conn(s, c, CONN_HEAD, s->o->header_timeout);
	if (n->target.kind != INFER_FAULT_TARGET || !(r = http_request_new(s)))
		return NULL;
	r->head.path = mem_strndup(MEM_BASE, target, strcspn(target, "?"));
	r->head.remote = http_address(c);
	r->head.method = "";
	snprintf(r->api.id, sizeof r->api.id, "req_%s", r->api.name);
	pthread_mutex_lock(&s->lock);
	r->link.fd = n->fd;
	answer_raw(r, INFER_FAULT_TARGET, "URI Too Long", n->target.why);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Store n bytes of the body. Returns 0 if the connection must be closed. */
static int take_body(struct http_request *r, const char *at, size_t n)
{
	struct server *s = r->api.server;
	uint64_t most = upload_most(r);
	int64_t now = clock_now_ns();

	r->body_bytes += n;
	conns_seen(&s->http->conns, conn_of(r->link.connection), now);
	pthread_mutex_lock(&s->lock);
	r->link.heard_ns = now;
	pthread_mutex_unlock(&s->lock);
	if (r->early.kind && r->early.kind != INFER_FAULT_TOO_LARGE)
		return r->body_bytes <= most;
	if (r->body_bytes <= most) {
		if (r->upload) {
			upload_put(r->upload, at, n);
			return 1;
		}
		buf_put(&r->api.body, at, n);
		return !r->api.body.bad;
	}
	buf_fini(&r->api.body);
	buf_init(&r->api.body, MEM_BASE);
	upload_free(&r->upload);
	if (r->body_bytes <= DRAIN * s->o->max_body + most) {
		refuse(r, INFER_FAULT_TOO_LARGE, "the body is longer than %llu bytes",
		       (unsigned long long)most);
		return 1;
	}
	pthread_mutex_lock(&s->lock);
	answer_raw(r, INFER_FAULT_TOO_LARGE, "Payload Too Large", r->early.error.message);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Answer a complete request, or give it to a worker. */
static enum MHD_Result dispatch_request(struct http_request *r, struct MHD_Connection *c)
{
	struct server *s = r->api.server;
	int busy;

	set_conn(s, c, CONN_WHOLE, 0);
	if (r->early.kind)
		return send_early(r, c);
	if (!r->endpoint)
		return answer_preflight(r, c);
	if (r->endpoint->flags & EP_QUICK) {
		r->endpoint->handle(r);
		return answer_send(r, c);
	}
	pthread_mutex_lock(&s->lock);
	r->api.is_gone |= conn_of(c)->left;
	busy = r->api.is_gone ? 0 : admit_full(r);
	if (r->api.is_gone) {
		pthread_mutex_unlock(&s->lock);
		return MHD_NO;
	}
	if (!busy) {
		s->n_admitted++;
		r->api.caller.user->admitted++;
		r->api.is_admitted = 1;
		r->refs++;
		r->stage = STAGE_WORK;
		r->link.is_suspended = 1;
		MHD_suspend_connection(c);
		work_add(&s->work, &r->api);
	}
	pthread_mutex_unlock(&s->lock);
	if (!busy)
		return MHD_YES;
	refuse(r, INFER_FAULT_BUSY, "%lld requests run or wait: try again later",
	       (long long)(s->o->parallel + s->o->max_queue));
	return send_early(r, c);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n, void **context)
{
	struct server *s = user;
	struct http_request *r = *context;
	enum stage stage;
	int over;

	if (!r)
		return begin_request(s, c, url, method, version, context);
	if (*n) {
		size_t bytes = *n;

		*n = 0;
		return take_body(r, upload, bytes) ? MHD_YES : MHD_NO;
	}
	pthread_mutex_lock(&s->lock);
	stage = r->stage;
	r->link.deadline_ns = 0;
	over = r->api.is_gone || r->link.is_raw || s->closing;
	pthread_mutex_unlock(&s->lock);
	if (over)
		return MHD_NO;
	if (stage == STAGE_BODY)
		return dispatch_request(r, c);
	return stage == STAGE_WORK ? MHD_YES : answer_send(r, c);
}

static void on_completed(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
	struct server *s = user;
	struct http_request *r = *context;
	int status;

	set_conn(s, c, CONN_IDLE, IDLE_S + s->o->header_timeout);
	if (!r)
		return;
	*context = NULL;
	pthread_mutex_lock(&s->lock);
	if (conn_of(c))
		conn_of(c)->request = NULL;
	r->link.connection = NULL;
	r->link.fd = -1;
	r->link.deadline_ns = 0;
	if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		r->api.is_gone = 1;
	/* 499: the answer could not be written completely */
	status = r->api.is_gone && !r->link.is_raw && r->status != 408 && r->status != 413
	                 ? 499
	                 : r->status;
	const struct access_http entry = { r->head.remote, r->head.method, r->head.path,
		                           status,         r->body_bytes,  r->answer_bytes };

	metrics_request(api_metrics(&r->api),
	                r->endpoint ? (int)(r->endpoint - s->http->routes->rows) : -1, status);
	if (r->api.is_gone) /* only then: waking the engine costs more than a short answer */
		pthread_cond_signal(&s->engine_wake);
	pthread_mutex_unlock(&s->lock);
	access_put(s, &r->api, &entry);
	otlp_put(&r->api, status);
	pthread_mutex_lock(&s->lock);
	http_request_drop(r);
	pthread_mutex_unlock(&s->lock);
}

/* ---- from other threads ---- */

void http_wake(struct http_request *r)
{
	if (!r->link.is_suspended || !r->link.connection)
		return;
	r->link.is_suspended = 0;
	MHD_resume_connection(r->link.connection);
}

/* End the request of a client that has closed its connection, or its sending side. Shutting down the
 * receiving side makes libmicrohttpd read the bytes that have arrived, then the end of the stream. It may
 * read only one of the two, so conns_look repeats the call. */
static void end_request(struct conn *n)
{
	struct http_request *r = n->request;

	if (r && (r->stage == STAGE_WORK || r->stage == STAGE_STREAM)) {
		r->api.is_gone = 1;
		http_wake(r);
	} else {
		shutdown(n->fd, SHUT_RD);
	}
}

static int64_t find_gone(struct server *s, int64_t now)
{
	return conns_look(&s->http->conns, now, end_request);
}

int http_has_tls(const struct server *s) { return s->http->tls->cert.len != 0; }

int http_watched(const struct server *s) { return s->http->conns.poll; }

void http_check(struct server *s, int64_t now)
{
	pthread_mutex_lock(&s->lock);
	for (struct http_request *r = s->http_requests; r; r = r->next) {
		if (r->stage != STAGE_BODY || r->link.fd < 0 || !r->link.deadline_ns)
			continue;
		if (now > r->link.deadline_ns)
			answer_raw(r, INFER_FAULT_TIMEOUT, "Request Timeout",
			           "the body did not arrive in time");
		else if (s->draining && (s->cut || now > r->link.heard_ns + SECOND))
			answer_raw(r, INFER_FAULT_UNAVAILABLE, "Service Unavailable",
			           "the server is shutting down");
	}
	pthread_mutex_unlock(&s->lock);
	conns_check(&s->http->conns, now);
}

/* The strict level of libmicrohttpd before 1.0 sends two heads if Host is missing, and no answer if the
 * target has a space. strict_head refuses both kinds of requests. */
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

int http_open(struct server *s, const struct http_setup *setup, infer_error *err)
{
	struct http *h = mem_zalloc(MEM_BASE, 1, sizeof *h);
	unsigned flags =
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (!h)
		return err_set(err, INFER_ENOMEM, "out of memory for the server");
	h->listener = setup->socket;
	h->tls = setup->tls;
	h->origin = setup->origin;
	h->routes = setup->routes;
	int rc = conns_open(&h->conns, s->o->max_connections, &s->secret, &s->o->trusted_proxies,
	                    err);

	pthread_mutex_lock(&s->lock);
	s->http = h;
	s->find_gone = rc ? NULL : find_gone;
	pthread_mutex_unlock(&s->lock);
	TRY(rc);

	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, h->tls->cert.at },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, h->tls->key.at },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };

	h->daemon = MHD_start_daemon(
		h->tls->cert.len ? flags | MHD_USE_TLS : flags, 0, NULL, NULL, on_request, s,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_UNESCAPE_CALLBACK,
		head_unescape, NULL, MHD_OPTION_LISTEN_SOCKET, setup->socket,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, s, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->o->max_connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)STRICT_POOL,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, s, STRICTEST, MHD_OPTION_ARRAY,
		h->tls->cert.len ? tls : &none, MHD_OPTION_END);
	if (!h->daemon && h->tls->cert.len)
		return err_set(err, INFER_EFORMAT,
		               "%s and %s are not a certificate and its key (-vv prints details)",
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
	http_quiesce(s); /* first: otherwise libmicrohttpd would close the socket */
	pthread_mutex_lock(&s->lock);
	s->closing = 1;
	for (struct http_request *r = s->http_requests; r; r = r->next)
		http_wake(r);
	pthread_mutex_unlock(&s->lock);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	pthread_mutex_lock(&s->lock);
	s->find_gone = NULL;
	s->http = NULL;
	pthread_mutex_unlock(&s->lock);
	conns_close(&h->conns);
	mem_free(h);
}
