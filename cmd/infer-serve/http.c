/* infer-serve/http.c - the HTTP side, on libmicrohttpd: connections, heads, bodies and answers.
 *
 * A request whose answer is being made has its connection suspended, and libmicrohttpd does not
 * look at it: http_look asks the kernel whether the client is still there. */
#include "infer-serve/http.h"
#include "infer-serve/admit.h"
#include "infer-serve/files.h"
#include "infer-serve/head.h"
#include "infer-serve/headers.h"
#include "infer-serve/origin.h"
#include "infer-serve/otlp.h"
#include "infer-serve/serve.h"
#include "infer-serve/sse.h"
#include "common/say.h"
#include "base/clock.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* HEAD: memory of a connection, which bounds the head.  IDLE_S: without a byte in either
 * direction a connection ends.  DRAIN: a body that is too large is read up to so many times the
 * limit, so that its sender sees the answer. */
enum { HEAD = 32 << 10, IDLE_S = 60, DRAIN = 4, BLOCK = 16 << 10, LOOK = 64 };
#define SECOND INT64_C(1000000000)

/* A connection between requests, or whose head arrives. */
struct conn {
	struct conn *prev, *next;
	int fd;
	int64_t deadline_ns; /* 0: none */
};
struct http {
	struct MHD_Daemon *daemon;
	int listener;
	pthread_mutex_t lock; /* of the list; nothing else is locked under it */
	struct conn *conns;
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

static void conn_deadline(struct server *s, struct MHD_Connection *c, int64_t at)
{
	struct conn *n = conn_of(c);

	pthread_mutex_lock(&s->http->lock);
	if (n)
		n->deadline_ns = at;
	pthread_mutex_unlock(&s->http->lock);
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct server *s = user;
	struct http *h = s->http;
	struct conn *n = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		n = mem_zalloc(MEM_BASE, 1, sizeof *n);
		*context = n;
		if (!n)
			return;
		n->fd = info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		n->deadline_ns = clock_now_ns() + s->o->header_timeout * SECOND;
	}
	if (!n)
		return;
	pthread_mutex_lock(&h->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		n->next = h->conns;
		if (n->next)
			n->next->prev = n;
		h->conns = n;
	} else {
		if (n->prev)
			n->prev->next = n->next;
		else
			h->conns = n->next;
		if (n->next)
			n->next->prev = n->prev;
	}
	pthread_mutex_unlock(&h->lock);
	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
		mem_free(n);
}

/* ---- answers ---- */

/* The next events of a stream, called by libmicrohttpd where it can send. */
static ssize_t read_stream(void *user, uint64_t at, char *to, size_t room)
{
	struct exchange *x = user;
	struct server *s = x->server;
	ssize_t n = 0;

	(void)at;
	pthread_mutex_lock(&s->lock);
	if (x->out.len > (size_t)x->out_sent && !x->gone) {
		size_t left = x->out.len - x->out_sent;

		n = (ssize_t)sse_cut(x->out.at + x->out_sent, left, room);
		memcpy(to, x->out.at + x->out_sent, (size_t)n);
		x->out_sent += (size_t)n;
		x->sent += n;
		if (x->out_sent == x->out.len) {
			buf_clear(&x->out);
			x->out_sent = 0;
		}
	} else if (x->gone || s->closing) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (x->ended) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		x->suspended = 1;
		MHD_suspend_connection(x->connection);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

static enum MHD_Result send_answer(struct exchange *x, struct MHD_Connection *c)
{
	int is_file = x->file >= 0;
	struct MHD_Response *r =
		is_file ? files_response(x)
		: x->stage == STAGE_STREAM
			? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, x,
	                                                    NULL)
			: MHD_create_response_from_buffer(x->out.len, x->out.at ? x->out.at : "",
	                                                  MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	headers_put(r, x);
	if (x->stage == STAGE_ANSWER && !is_file)
		x->sent = x->head ? 0 : (int64_t)x->out.len;
	ok = MHD_queue_response(c, (unsigned)x->status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result send_preflight(struct exchange *x, struct MHD_Connection *c)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	x->status = 200;
	x->stage = STAGE_ANSWER;
	headers_put(r, x);
	MHD_add_response_header(r, "Access-Control-Allow-Credentials", "true");
	MHD_add_response_header(r, "Access-Control-Allow-Methods",
	                        strstr(x->allow, "DELETE") ? "GET, POST, DELETE" : "GET, POST");
	MHD_add_response_header(r, "Access-Control-Allow-Headers", "*");
	MHD_add_response_header(r, "Allow", x->allow);
	ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return ok;
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
	const union MHD_ConnectionInfo *i = info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = i ? i->client_addr : NULL;
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

/* Whether a request that is refused is answered before its body: the client waits for that, or the
 * body is more than is worth reading. */
static int answer_now(const struct exchange *x, struct MHD_Connection *c)
{
	return x->early.kind && (x->early.kind == INFER_FAULT_TOO_LARGE || field(c, "Expect") ||
	                         head_length(field(c, "Content-Length")) > (int64_t)upload_most(x));
}

static enum MHD_Result send_early(struct exchange *x, struct MHD_Connection *c)
{
	exchange_fault(x, &x->early);
	return send_answer(x, c);
}

static enum MHD_Result begin(struct server *s, struct MHD_Connection *c, const char *url,
                             const char *method, void **context)
{
	struct exchange *x = exchange_new(s);
	const char *id = field(c, "X-Request-Id");

	if (!x)
		return MHD_NO;
	*context = x;
	x->path = copy(url);
	x->origin = copy(field(c, "Origin"));
	x->remote = address(c);
	x->method = method; /* libmicrohttpd's, for as long as the request */
	x->head = !strcmp(method, "HEAD");
	if (id && head_is_id(id))
		snprintf(x->id, sizeof x->id, "%s", id);
	else
		snprintf(x->id, sizeof x->id, "req_%s", x->name);
	if (!x->path || !x->remote)
		return MHD_NO;
	x->has_trace = head_trace(x->trace, field(c, "traceparent"));
	x->sampled = x->has_trace && head_parent(x->parent, field(c, "traceparent"));
	find_endpoint(x, route_method(method));
	if (!x->early.kind && !head_seconds(&x->timeout_s, field(c, "X-Request-Timeout")))
		refuse(x, INFER_FAULT_INVALID, "X-Request-Timeout is not 0 to 1000000 seconds");
	if (x->endpoint)
		check_head(x, c);
	origin_check(x, c);
	query_take(x, c);
	conn_deadline(s, c, 0);
	pthread_mutex_lock(&s->lock);
	x->connection = c;
	x->fd = info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	x->deadline_ns = x->began_ns + s->o->body_timeout * SECOND;
	pthread_mutex_unlock(&s->lock);
	return answer_now(x, c) ? send_early(x, c) : MHD_YES;
}

/* ---- bodies ---- */

/* Answer without libmicrohttpd, which takes no answer while a body arrives, and end the connection.
 * Under the lock: the descriptor is that of the exchange. */
static void answer_raw(struct exchange *x, int kind, const char *reason, const char *message)
{
	struct infer_fault f = { .kind = kind };
	struct buf error, all;

	snprintf(f.error.message, sizeof f.error.message, "%s", message);
	buf_init(&error, MEM_BASE);
	buf_init(&all, MEM_BASE);
	exchange_error(&error, x, &f);
	buf_printf(&all,
	           "HTTP/1.1 %d %s\r\nServer: infer-serve\r\nX-Request-Id: %s\r\nContent-Type: "
	           "%s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	           infer_fault_status(kind), reason, x->id, exchange_json, error.len);
	buf_put(&all, error.at ? error.at : "", error.len);
	/* under TLS nobody else can write to the connection: it only ends */
	if (!error.bad && !all.bad && !x->server->cert.len &&
	    send(x->fd, all.at, all.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* the client is gone, or does not read: it only sees the end */
	}
	x->status = infer_fault_status(kind);
	x->deadline_ns = 0;
	shutdown(x->fd, SHUT_RDWR);
	buf_fini(&error);
	buf_fini(&all);
}

/* A piece of the body.  0: the connection is to be closed. */
static int take_body(struct exchange *x, const char *at, size_t n)
{
	struct server *s = x->server;
	uint64_t most = upload_most(x);

	x->body_bytes += n;
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

	if (x->early.kind)
		return send_early(x, c);
	if (!x->endpoint)
		return send_preflight(x, c);
	if (x->endpoint->flags & EP_QUICK) {
		x->endpoint->handle(x);
		return send_answer(x, c);
	}
	pthread_mutex_lock(&s->lock);
	busy = admit_full(x);
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

	(void)version;
	if (!x)
		return begin(s, c, url, method, context);
	if (*n) {
		size_t bytes = *n;

		*n = 0;
		return take_body(x, upload, bytes) ? MHD_YES : MHD_NO;
	}
	pthread_mutex_lock(&s->lock);
	stage = x->stage;
	x->deadline_ns = 0;
	over = x->gone || s->closing;
	pthread_mutex_unlock(&s->lock);
	if (over)
		return MHD_NO;
	if (stage == STAGE_BODY)
		return hand_on(x, c);
	return stage == STAGE_WORK ? MHD_YES : send_answer(x, c);
}

static void on_completed(void *user, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode code)
{
	struct server *s = user;
	struct exchange *x = *context;
	int status;

	conn_deadline(s, c, clock_now_ns() + (IDLE_S + s->o->header_timeout) * SECOND);
	if (!x)
		return;
	*context = NULL;
	pthread_mutex_lock(&s->lock);
	x->connection = NULL;
	x->fd = -1;
	x->deadline_ns = 0;
	if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
		x->gone = 1;
	/* 499: nothing could be written, or not all of it */
	status = x->gone && x->status != 408 && x->status != 413 ? 499 : x->status;
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

void http_look(struct server *s)
{
	struct exchange *of[LOOK], *x = s->exchanges;
	struct pollfd p[LOOK];

	while (x) {
		nfds_t fds = 0;

		for (; x && fds < LOOK; x = x->next)
			if (x->suspended && !x->gone && x->fd >= 0) {
				p[fds] = (struct pollfd){ .fd = x->fd, .events = POLLRDHUP };
				of[fds++] = x;
			}
		if (!fds || poll(p, fds, 0) < 1)
			continue;
		for (nfds_t i = 0; i < fds; i++)
			if (p[i].revents) {
				of[i]->gone = 1;
				http_wake(of[i]);
			}
	}
}

void http_check(struct server *s, int64_t now)
{
	pthread_mutex_lock(&s->lock);
	for (struct exchange *x = s->exchanges; x; x = x->next)
		if (x->stage == STAGE_BODY && x->fd >= 0 && x->deadline_ns && now > x->deadline_ns)
			answer_raw(x, INFER_FAULT_TIMEOUT, "Request Timeout",
			           "the body did not arrive in time");
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->http->lock);
	for (struct conn *n = s->http->conns; n; n = n->next)
		if (n->deadline_ns && now > n->deadline_ns) {
			n->deadline_ns = 0;
			shutdown(n->fd, SHUT_RDWR);
		}
	pthread_mutex_unlock(&s->http->lock);
}

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

	s->http = h;
	if (!h)
		return err_set(err, INFER_ENOMEM, "out of memory for the server");
	h->listener = socket;
	pthread_mutex_init(&h->lock, NULL);

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
		(unsigned)s->o->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, s->cert.len ? tls : &none,
		MHD_OPTION_END);
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
	pthread_mutex_destroy(&h->lock);
	mem_free(h);
	s->http = NULL;
}
