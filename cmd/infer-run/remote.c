/* infer-run/remote.c - one request over HTTP/1.1 to a server. */
#include "remote.h"
#include <infer/file.h>
#include "base/err.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* HEAD: of a line of the head; HEADERS: of its lines; LINE: of a line of the body */
enum { READ = 16384, HEAD = 16384, HEADERS = 200, LINE = 256 << 20 };

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the request to a server");
}

static int nobody(const struct remote *r, int code, infer_error *err)
{
	return err_set(err, INFER_ENET, "no server at %s: %s", r->where, strerror(code));
}

static int not_http(const struct remote *r, infer_error *err)
{
	return err_set(err, INFER_ENET, "%s: what answers does not speak HTTP/1.1", r->where);
}

static int broken(const struct remote *r, infer_error *err)
{
	return err_set(err, INFER_ENET, "%s: the connection broke off before the answer was over",
	               r->where);
}

/* ---- connecting ---- */

static int connect_local(struct remote *r, const char *path, infer_error *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (!*path || strlen(path) >= sizeof a.sun_path)
		return err_set(err, INFER_EINVAL, "--server %s: the path has 1 to %zu bytes",
		               r->where, sizeof a.sun_path - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd < 0 || connect(r->fd, (const struct sockaddr *)&a, sizeof a))
		return nobody(r, errno, err);
	return INFER_OK;
}

static int connect_tcp(struct remote *r, const char *host, const char *port, infer_error *err)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all;
	int rc = getaddrinfo(host, port, &want, &all), code = ENOENT;

	if (rc)
		return err_set(err, INFER_ENET, "no server at %s: %s", r->where, gai_strerror(rc));
	for (const struct addrinfo *a = all; a; a = a->ai_next) {
		r->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (r->fd >= 0 && !connect(r->fd, a->ai_addr, a->ai_addrlen))
			break;
		code = errno;
		if (r->fd >= 0)
			close(r->fd);
		r->fd = -1;
	}
	freeaddrinfo(all);
	return r->fd < 0 ? nobody(r, code, err) : INFER_OK;
}

/* An address in its parts: "host", "host:1", "[::1]:1", with what stands behind a slash. */
struct address {
	char host[256], port[8];
	struct infer_str as_is; /* host and port, as the Host field has them */
	const char *path;       /* "", or begins with a slash */
};

static int parse(struct address *a, const char *at)
{
	size_t n = strcspn(at, "/"), host = n, from = 0;
	const char *colon;

	a->as_is = (struct infer_str){ at, n };
	a->path = at + n;
	memcpy(a->port, "80", sizeof "80");
	if (n && *at == '[') {
		const char *close = memchr(at, ']', n);

		if (!close)
			return -1;
		from = 1;
		host = (size_t)(close - at) - 1;
		colon = close + 1 < at + n ? close + 1 : NULL;
		if (colon && *colon != ':')
			return -1;
	} else {
		colon = memchr(at, ':', n);
		host = colon ? (size_t)(colon - at) : n;
	}
	size_t digits = colon ? (size_t)(at + n - colon) - 1 : 0;

	if (!host || host >= sizeof a->host || strcspn(at, "@ \t\r\n?#") < strlen(at))
		return -1;
	if (colon && (!digits || digits > 5 || strspn(colon + 1, "0123456789") != digits))
		return -1;
	memcpy(a->host, at + from, host);
	a->host[host] = 0;
	if (colon) {
		memcpy(a->port, colon + 1, digits);
		a->port[digits] = 0;
	}
	return 0;
}

static int open_at(struct remote *r, struct address *a, infer_error *err)
{
	*a = (struct address){ .as_is = { "localhost", 9 }, .path = "" };
	if (!strncmp(r->where, "unix:", 5))
		return connect_local(r, r->where + 5, err);
	if (!strncmp(r->where, "https://", 8))
		return err_set(err, INFER_EUNSUP,
		               "--server %s: https is not supported; http:// and unix: are",
		               r->where);
	if (strncmp(r->where, "http://", 7) || parse(a, r->where + 7))
		return err_set(err, INFER_EINVAL,
		               "--server %s is neither http://HOST[:PORT] nor unix:PATH", r->where);
	return connect_tcp(r, a->host, a->port, err);
}

/* ---- sending and receiving ---- */

static int send_all(const struct remote *r, const char *at, size_t n, infer_error *err)
{
	while (n) {
		ssize_t got = send(r->fd, at, n, MSG_NOSIGNAL);

		if (got < 0 && errno == EINTR)
			continue;
		/* a server that refuses early may have answered why, and closed */
		if (got < 0 && (errno == EPIPE || errno == ECONNRESET))
			return INFER_OK;
		if (got < 0)
			return err_set(err, INFER_ENET, "%s: %s", r->where, strerror(errno));
		at += got;
		n -= (size_t)got;
	}
	return INFER_OK;
}

/* More bytes; *end: there are none. */
static int receive(struct remote *r, int *end, infer_error *err)
{
	ssize_t got;
	char room[READ];

	if (r->at == r->in.len) {
		buf_clear(&r->in);
		r->at = 0;
	}
	do
		got = recv(r->fd, room, sizeof room, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_set(err, INFER_ENET, "%s: %s", r->where, strerror(errno));
	*end = !got;
	buf_put(&r->in, room, (size_t)got);
	return r->in.bad ? no_memory(err) : INFER_OK;
}

/* A line of the head, or of a chunk, without its end. */
static int head_line(struct remote *r, struct buf *line, infer_error *err)
{
	int end = 0;

	buf_clear(line);
	for (;;) {
		size_t n = r->in.len - r->at;
		const char *at = n ? r->in.at + r->at : "", *lf = memchr(at, '\n', n);

		n = lf ? (size_t)(lf - at) : n;
		buf_put(line, at, n);
		r->at += n + (lf != NULL);
		if (line->bad)
			return no_memory(err);
		if (line->len > HEAD)
			return not_http(r, err);
		if (lf)
			break;
		TRY(receive(r, &end, err));
		if (end)
			return broken(r, err);
	}
	if (line->len && line->at[line->len - 1] == '\r')
		line->len--;
	buf_putc(line, 0);
	return line->bad ? no_memory(err) : INFER_OK;
}

/* The value of a field of this name, or NULL. */
static const char *field(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

/* A number of digits and white space behind it; -1: it is none. */
static int number(uint64_t *v, const char *s, int base)
{
	const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t n = strspn(s, digits);

	if (!n || n > 15 || s[n + strspn(s + n, " \t")] != (base == 16 && strchr(s, ';') ? ';' : 0))
		return -1;
	*v = strtoull(s, NULL, base);
	return 0;
}

static int status_line(struct remote *r, struct buf *line, infer_error *err)
{
	TRY(head_line(r, line, err));
	const char *s = line->at;

	if (strncmp(s, "HTTP/1.1 ", 9) != 0 || strspn(s + 9, "0123456789") != 3)
		return not_http(r, err);
	r->status = atoi(s + 9);
	return INFER_OK;
}

static int fields(struct remote *r, struct buf *line, infer_error *err)
{
	const char *v;

	r->framing = REMOTE_UNTIL_CLOSE;
	for (int i = 0; i < HEADERS; i++) {
		TRY(head_line(r, line, err));
		if (!*line->at)
			return INFER_OK;
		if ((v = field(line->at, "Transfer-Encoding"))) {
			if (strcasecmp(v, "chunked"))
				return not_http(r, err);
			r->framing = REMOTE_CHUNKS;
		} else if ((v = field(line->at, "Content-Length")) && r->framing != REMOTE_CHUNKS) {
			if (number(&r->left, v, 10))
				return not_http(r, err);
			r->framing = REMOTE_LENGTH;
		}
	}
	return not_http(r, err);
}

int remote_post(struct remote *r, const char *where, const char *path, const struct buf *body,
                infer_error *err)
{
	struct address a;
	struct buf line;

	*r = (struct remote){ .where = where, .fd = -1 };
	buf_init(&r->in, MEM_BASE);
	TRY(open_at(r, &a, err));
	buf_init(&line, MEM_BASE);
	size_t n = strlen(a.path);

	buf_printf(&line,
	           "POST %.*s%s HTTP/1.1\r\nHost: %.*s\r\nContent-Type: application/json\r\n"
	           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	           (int)(n && a.path[n - 1] == '/' ? n - 1 : n), a.path, path, (int)a.as_is.len,
	           a.as_is.at, body->len);
	int rc = line.bad ? no_memory(err) : send_all(r, line.at, line.len, err);

	if (!rc)
		rc = send_all(r, body->at, body->len, err);
	do { /* 1xx: more of the head follows */
		if (!rc)
			rc = status_line(r, &line, err);
		if (!rc)
			rc = fields(r, &line, err);
	} while (!rc && r->status < 200);
	buf_fini(&line);
	return rc;
}

/* ---- the body ---- */

/* The head of the next chunk: r->left, 0 where it is the last one. */
static int next_chunk(struct remote *r, infer_error *err)
{
	struct buf line;
	uint64_t left = 0;

	buf_init(&line, MEM_BASE);
	int rc = r->in_chunk ? head_line(r, &line, err) : INFER_OK;

	if (!rc && r->in_chunk && *line.at)
		rc = not_http(r, err);
	if (!rc)
		rc = head_line(r, &line, err);
	if (!rc && number(&left, line.at, 16))
		rc = not_http(r, err);
	buf_fini(&line);
	r->in_chunk = 1;
	r->left = left;
	return rc;
}

/* The bytes of the body that are there, after waiting for some; *n 0: it is over. */
static int body(struct remote *r, const char **at, size_t *n, infer_error *err)
{
	int end = 0;

	*n = 0;
	if (r->framing == REMOTE_CHUNKS && !r->left && !r->over) {
		TRY(next_chunk(r, err));
		r->over = !r->left;
	} else if (r->framing == REMOTE_LENGTH) {
		r->over = !r->left;
	}
	if (r->over)
		return INFER_OK;
	if (r->at == r->in.len)
		TRY(receive(r, &end, err));
	if (end && r->framing != REMOTE_UNTIL_CLOSE)
		return broken(r, err);
	r->over = end;
	*at = r->in.at ? r->in.at + r->at : "";
	*n = r->in.len - r->at;
	if (r->framing != REMOTE_UNTIL_CLOSE && *n > r->left)
		*n = (size_t)r->left;
	return INFER_OK;
}

int remote_line(struct remote *r, struct buf *line, int *over, infer_error *err)
{
	buf_clear(line);
	*over = 0;
	for (;;) {
		const char *at = "", *lf;
		size_t n;

		TRY(body(r, &at, &n, err));
		if (!n) {
			*over = !line->len;
			return INFER_OK;
		}
		lf = memchr(at, '\n', n);
		size_t text = lf ? (size_t)(lf - at) : n, took = text + (lf != NULL);

		buf_put(line, at, text);
		r->at += took;
		r->left -= r->framing == REMOTE_UNTIL_CLOSE ? 0 : took;
		if (line->bad)
			return no_memory(err);
		if (line->len > LINE)
			return err_set(err, INFER_ENET, "%s: a line of the answer is too long",
			               r->where);
		if (lf)
			return INFER_OK;
	}
}

void remote_close(struct remote *r)
{
	if (r->fd >= 0)
		close(r->fd);
	buf_fini(&r->in);
}
