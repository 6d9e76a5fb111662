/* infer-run/remote.c - an HTTP/1.1 client for one request. */
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

enum {
	READ = 16384,     /* bytes read at once */
	HEAD = 16384,     /* most bytes of a line of the head */
	HEADERS = 200,    /* most header fields */
	LINE = 256 << 20, /* most bytes of a line of the body */
};

static int no_server(const struct remote *r, int code, infer_error *err)
{
	return err_set(err, INFER_ENET, "no server at %s: %s", r->where, strerror(code));
}

static int not_http(const struct remote *r, infer_error *err)
{
	return err_set(err, INFER_ENET, "%s: the server does not speak HTTP/1.1", r->where);
}

static int closed_early(const struct remote *r, infer_error *err)
{
	return err_set(err, INFER_ENET,
	               "%s: the connection was closed before the answer was complete", r->where);
}

/* ---- connecting ---- */

static int connect_local(struct remote *r, const char *path, infer_error *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (!*path || strlen(path) >= sizeof a.sun_path)
		return err_set(err, INFER_EINVAL, "--server %s: the path must have 1 to %zu bytes",
		               r->where, sizeof a.sun_path - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd < 0 || connect(r->fd, (const struct sockaddr *)&a, sizeof a))
		return no_server(r, errno, err);
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
	return r->fd < 0 ? no_server(r, code, err) : INFER_OK;
}

/* A parsed address: "host", "host:1" or "[::1]:1", and a path. */
struct address {
	char host[256], port[8];
	struct infer_str as_is; /* host and port, for the Host field */
	const char *path;       /* "", or begins with a slash */
};

static int parse_address(struct address *a, const char *at)
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

/* Parse r->where and connect. */
static int connect_server(struct remote *r, struct address *a, infer_error *err)
{
	*a = (struct address){ .as_is = { "localhost", 9 }, .path = "" };
	if (!strncmp(r->where, "unix:", 5))
		return connect_local(r, r->where + 5, err);
	if (!strncmp(r->where, "https://", 8))
		return err_set(err, INFER_EUNSUP,
		               "--server %s: https is not supported; http:// and unix: are",
		               r->where);
	const char *scheme = strstr(r->where, "://");
	int has_http = !strncmp(r->where, "http://", 7);

	/* HOST[:PORT] alone is HTTP; a path is rather a socket */
	if ((scheme && !has_http) || *r->where == '/' || *r->where == '.' ||
	    parse_address(a, r->where + (has_http ? 7 : 0)))
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
		/* a server that refuses early may have sent an answer before it closed */
		if (got < 0 && (errno == EPIPE || errno == ECONNRESET))
			return INFER_OK;
		if (got < 0)
			return err_set(err, INFER_ENET, "%s: %s", r->where, strerror(errno));
		at += got;
		n -= (size_t)got;
	}
	return INFER_OK;
}

/* Receive more bytes into r->in. *end: 1 at the end of the stream. */
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
	return r->in.bad ? err_nomem(err) : INFER_OK;
}

/* Read a line of the head, or the size line of a chunk, without its end. */
static int read_head_line(struct remote *r, struct buf *line, infer_error *err)
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
			return err_nomem(err);
		if (line->len > HEAD)
			return not_http(r, err);
		if (lf)
			break;
		TRY(receive(r, &end, err));
		if (end)
			return closed_early(r, err);
	}
	if (line->len && line->at[line->len - 1] == '\r')
		line->len--;
	buf_putc(line, 0);
	return line->bad ? err_nomem(err) : INFER_OK;
}

/* Return the value of the header field if it has this name, or NULL. */
static const char *field_value(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

/* Parse digits followed by white space or nothing. Returns -1 if the text is malformed. */
static int parse_field_number(uint64_t *v, const char *s, int base)
{
	const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t n = strspn(s, digits);

	if (!n || n > 15 || s[n + strspn(s + n, " \t")] != (base == 16 && strchr(s, ';') ? ';' : 0))
		return -1;
	*v = strtoull(s, NULL, base);
	return 0;
}

static int read_status(struct remote *r, struct buf *line, infer_error *err)
{
	TRY(read_head_line(r, line, err));
	const char *s = line->at;

	if (strncmp(s, "HTTP/1.1 ", 9) != 0 || strspn(s + 9, "0123456789") != 3)
		return not_http(r, err);
	r->status = atoi(s + 9);
	return INFER_OK;
}

static int read_fields(struct remote *r, struct buf *line, infer_error *err)
{
	const char *v;

	r->framing = REMOTE_UNTIL_CLOSE;
	for (int i = 0; i < HEADERS; i++) {
		TRY(read_head_line(r, line, err));
		if (!*line->at)
			return INFER_OK;
		if ((v = field_value(line->at, "Transfer-Encoding"))) {
			if (strcasecmp(v, "chunked"))
				return not_http(r, err);
			r->framing = REMOTE_CHUNKS;
		} else if ((v = field_value(line->at, "Content-Length")) &&
		           r->framing != REMOTE_CHUNKS) {
			if (parse_field_number(&r->left, v, 10))
				return not_http(r, err);
			r->framing = REMOTE_LENGTH;
		}
	}
	return not_http(r, err);
}

/* The length of an address's path without a last "/", "/v1" or "/v1/", which other clients require. */
static int base_length(const char *path)
{
	size_t n = strlen(path);

	n -= n && path[n - 1] == '/';
	return (int)(n >= 3 && !memcmp(path + n - 3, "/v1", 3) ? n - 3 : n);
}

int remote_post(struct remote *r, const char *where, const char *path, const struct buf *body,
                infer_error *err)
{
	struct address a;
	struct buf line;

	*r = (struct remote){ .where = where, .fd = -1 };
	buf_init(&r->in, MEM_BASE);
	TRY(connect_server(r, &a, err));
	buf_init(&line, MEM_BASE);
	buf_printf(&line,
	           "POST %.*s%s HTTP/1.1\r\nHost: %.*s\r\nContent-Type: application/json\r\n"
	           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	           base_length(a.path), a.path, path, (int)a.as_is.len, a.as_is.at, body->len);
	int rc = line.bad ? err_nomem(err) : send_all(r, line.at, line.len, err);

	if (!rc)
		rc = send_all(r, body->at, body->len, err);
	do { /* after a status 1xx another head follows */
		if (!rc)
			rc = read_status(r, &line, err);
		if (!rc)
			rc = read_fields(r, &line, err);
	} while (!rc && r->status < 200);
	buf_fini(&line);
	return rc;
}

/* ---- the body ---- */

/* Read the size of the next chunk into r->left; 0 for the last one. */
static int next_chunk(struct remote *r, infer_error *err)
{
	struct buf line;
	uint64_t left = 0;

	buf_init(&line, MEM_BASE);
	int rc = r->in_chunk ? read_head_line(r, &line, err) : INFER_OK;

	if (!rc && r->in_chunk && *line.at)
		rc = not_http(r, err);
	if (!rc)
		rc = read_head_line(r, &line, err);
	if (!rc && parse_field_number(&left, line.at, 16))
		rc = not_http(r, err);
	buf_fini(&line);
	r->in_chunk = 1;
	r->left = left;
	return rc;
}

/* Return the next bytes of the body; wait until some are received. *n: 0 at the end of the body. */
static int next_bytes(struct remote *r, const char **at, size_t *n, infer_error *err)
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
		return closed_early(r, err);
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

		TRY(next_bytes(r, &at, &n, err));
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
			return err_nomem(err);
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
