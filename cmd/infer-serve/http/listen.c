/* infer-serve/http/listen.c - sockets that listen. */
#include "infer-serve/http/listen.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, HOST = 256, PORT = 16 };

static int open_error(const char *text, infer_error *err)
{
	return err_set(err, INFER_EIO, "--listen %.160s: %s", text, strerror(errno));
}

/* True if the path is a socket at which no process listens. */
static int is_stale_socket(const struct sockaddr_un *a)
{
	struct stat st;
	int fd, dead;

	if (lstat(a->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	dead = connect(fd, (const struct sockaddr *)(const void *)a, sizeof *a) &&
	       errno == ECONNREFUSED;
	close(fd);
	return dead;
}

static int open_path(struct listener *l, const char *text, infer_error *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = text + 5;
	int ok;

	if (!*path || strlen(path) >= sizeof a.sun_path)
		return err_set(err, INFER_EINVAL, "--listen %.160s: a path has 1 to %zu bytes",
		               text, sizeof a.sun_path - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return open_error(text, err);
	if (is_stale_socket(&a))
		unlink(path);
	ok = !bind(l->fd, (const struct sockaddr *)(const void *)&a, sizeof a);
	if (ok) {
		l->path = path;
		ok = !listen(l->fd, BACKLOG);
	}
	l->local = 1;
	snprintf(l->url, sizeof l->url, "unix:%s", path);
	return ok ? INFER_OK : open_error(text, err);
}

/* Split ADDR:PORT or [ADDR]:PORT. */
static int split_address(char host[HOST], char port[PORT], const char *text, infer_error *err)
{
	const char *colon = strrchr(text, ':'), *from = text, *to = colon;
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	if (from < to && *from == '[' && to[-1] == ']')
		from++, to--;
	else if (colon && memchr(text, ':', (size_t)(colon - text)))
		to = NULL; /* an IPv6 address without brackets */
	if (!colon || !to || !digits || colon[1 + digits] || digits > 5 || to - from >= HOST)
		return err_set(err, INFER_EINVAL,
		               "--listen must be ADDR:PORT or unix:PATH, not '%.160s'", text);
	snprintf(host, HOST, "%.*s", (int)(to - from), from);
	snprintf(port, PORT, "%s", colon + 1);
	return INFER_OK;
}

static void set_url(struct listener *l, const char *host)
{
	struct sockaddr_in6 a = { 0 };
	socklen_t n = sizeof a;
	struct sockaddr *any = (struct sockaddr *)(void *)&a;
	int port = 0;

	if (!getsockname(l->fd, any, &n)) {
		const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&a;

		port = ntohs(any->sa_family == AF_INET6 ? a.sin6_port : four->sin_port);
		l->local = any->sa_family == AF_INET6
		                   ? IN6_IS_ADDR_LOOPBACK(&a.sin6_addr)
		                   : ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	snprintf(l->url, sizeof l->url, strchr(host, ':') ? "http://[%s]:%d" : "http://%s:%d",
	         *host ? host : "0.0.0.0", port);
}

static int open_port(struct listener *l, const char *text, infer_error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		                        .ai_socktype = SOCK_STREAM,
		                        .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	char host[HOST], port[PORT];
	struct addrinfo *found = NULL;
	int one = 1, bound = 0, why;

	TRY(split_address(host, port, text, err));
	why = getaddrinfo(*host ? host : "0.0.0.0", port, &hints, &found);
	if (why)
		return err_set(err, why == EAI_SERVICE ? INFER_EINVAL : INFER_EIO,
		               "--listen %.160s: %s", text, gai_strerror(why));
	for (const struct addrinfo *a = found; a && !bound; a = a->ai_next) {
		if (l->fd >= 0)
			close(l->fd);
		l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (l->fd < 0)
			continue;
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		bound = !bind(l->fd, a->ai_addr, a->ai_addrlen) && !listen(l->fd, BACKLOG);
	}
	freeaddrinfo(found);
	if (!bound)
		return open_error(text, err);
	set_url(l, host);
	return INFER_OK;
}

int listen_open(struct listener *l, const char *text, infer_error *err)
{
	*l = (struct listener){ .fd = -1 };
	int rc = strncmp(text, "unix:", 5) ? open_port(l, text, err) : open_path(l, text, err);

	if (rc) {
		if (l->fd >= 0)
			close(l->fd);
		l->fd = -1;
		listen_remove(l);
	}
	return rc;
}

int listen_take(struct listener *l, int fd, infer_error *err)
{
	struct sockaddr_storage a = { 0 };
	struct sockaddr *any = (struct sockaddr *)(void *)&a;
	socklen_t n = sizeof a, size = sizeof(int);
	int listens = 0, type = 0;
	char host[INET6_ADDRSTRLEN] = "";

	*l = (struct listener){ .fd = -1 };
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_STREAM ||
	    getsockname(fd, any, &n))
		return err_set(err, INFER_EINVAL,
		               "LISTEN_FDS: descriptor %d is not a listening socket", fd);
	l->fd = fd;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (any->sa_family == AF_UNIX) {
		const struct sockaddr_un *u = (const struct sockaddr_un *)(const void *)&a;

		l->local = 1;
		snprintf(l->url, sizeof l->url, "unix:%.*s",
		         (int)(sizeof a - offsetof(struct sockaddr_un, sun_path)), u->sun_path);
		return INFER_OK;
	}
	if (any->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)&a)->sin_addr, host,
		          sizeof host);
	else
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)&a)->sin6_addr,
		          host, sizeof host);
	set_url(l, host);
	return INFER_OK;
}

void listen_remove(struct listener *l)
{
	if (l->path)
		unlink(l->path);
	l->path = NULL;
}
