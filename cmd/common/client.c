/* common/client.c - libcurl's interface for many transfers.  Its numbers are part of its binary
 * interface, which has been the same since 7.16, so no header of it is needed. */
#include "common/client.h"
#include "common/file.h"
#include "base/clock.h"
#include "base/err.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	OPT_POSTFIELDSIZE = 60,
	OPT_HTTPGET = 80,
	OPT_HTTP_VERSION = 84,
	OPT_NOSIGNAL = 99,
	OPT_TIMEOUT_MS = 155,
	OPT_WRITEDATA = 10001,
	OPT_URL = 10002,
	OPT_POSTFIELDS = 10015,
	OPT_HTTPHEADER = 10023,
	OPT_PRIVATE = 10103,
	OPT_NOPROXY = 10177,
	OPT_UNIX_SOCKET_PATH = 10231,
	OPT_WRITEFUNCTION = 20011,
	INFO_RESPONSE_CODE = 0x200002,
	INFO_PRIVATE = 0x100015,
	VERSION_1_1 = 2,
	GLOBAL_ALL = 3,
	KEY_MOST = 4096,
};
struct message {
	int what;
	void *easy;
	union {
		void *any;
		int result;
	} data;
};
struct wait_fd {
	int fd;
	short events, revents;
};

/* name, result, arguments */
#define CALLS(F) \
	F(global_init, int, (long)) \
	F(easy_init, void *, (void)) \
	F(easy_cleanup, void, (void *)) \
	F(easy_setopt, int, (void *, int, ...)) \
	F(easy_getinfo, int, (void *, int, ...)) \
	F(easy_strerror, const char *, (int)) \
	F(slist_append, void *, (void *, const char *)) \
	F(slist_free_all, void, (void *)) \
	F(multi_init, void *, (void)) \
	F(multi_cleanup, int, (void *)) \
	F(multi_add_handle, int, (void *, void *)) \
	F(multi_remove_handle, int, (void *, void *)) \
	F(multi_perform, int, (void *, int *)) \
	F(multi_wait, int, (void *, struct wait_fd *, unsigned, int, int *)) \
	F(multi_info_read, struct message *, (void *, int *)) \
	F(multi_strerror, const char *, (int))

#define FIELD(name, result, arguments) result(*name) arguments;
struct client {
	CALLS(FIELD)
	void *so, *multi, *headers;
	struct buf base, socket;
	long timeout_ms;
	int timer;
};

static int load(struct client *h, infer_error *err)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4",
		                             "libcurl.4.dylib" };

	for (size_t i = 0; !h->so && i < sizeof names / sizeof *names; i++)
		h->so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!h->so)
		return err_set(err, INFER_EUNSUP,
		               "there is no libcurl, by which servers are asked: libcurl.so.4");
#define LOAD(name, result, arguments) \
	if (!(*(void **)(void *)&h->name = dlsym(h->so, "curl_" #name))) \
		return err_set(err, INFER_EUNSUP, "libcurl lacks %s", "curl_" #name);
	CALLS(LOAD)
	return h->global_init(GLOBAL_ALL) ? err_set(err, INFER_ENOMEM, "libcurl does not start")
	                                  : INFER_OK;
}

static int address(struct client *h, const char *url, const char *option, infer_error *err)
{
	size_t n = strlen(url);

	if (!strncmp(url, "unix:", 5) && url[5]) {
		buf_puts(&h->socket, url + 5);
		url = "http://localhost";
		n = strlen(url);
	} else if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) {
		return err_set(err, INFER_EINVAL,
		               "%s %.120s is none of http://HOST[:PORT], https://..., unix:PATH",
		               option, url);
	}
	while (n && url[n - 1] == '/')
		n--;
	n -= n > 3 && !memcmp(url + n - 3, "/v1", 3) ? 3 : 0;
	buf_put(&h->base, url, n);
	return INFER_OK;
}

static int headers(struct client *h, const char *key_file, infer_error *err)
{
	struct buf key, line;
	int rc = INFER_OK;

	h->headers = h->slist_append(NULL, "Content-Type: application/json");
	h->headers = h->slist_append(h->headers, "Expect:");
	if (!key_file)
		return INFER_OK;
	buf_init(&key, MEM_BASE);
	buf_init(&line, MEM_BASE);
	rc = file_read(&key, key_file, KEY_MOST, err);
	size_t n = key.at ? strcspn(key.at, "\r\n") : 0;

	if (!rc && !n)
		rc = err_set(err, INFER_EFORMAT, "%s: line 1 has no key", key_file);
	buf_printf(&line, "Authorization: Bearer %.*s", (int)n, n ? key.at : "");
	if (!rc && !line.bad)
		h->headers = h->slist_append(h->headers, line.at);
	buf_fini(&key);
	buf_fini(&line);
	return rc;
}

int client_open(struct client **out, const struct client_server *s, infer_error *err)
{
	struct client *h = mem_zalloc(MEM_BASE, 1, sizeof *h);
	int rc;

	*out = h;
	if (!h)
		return err_set(err, INFER_ENOMEM, "no memory for requests");
	h->timer = -1;
	h->timeout_ms = (long)(s->timeout_s * 1e3);
	buf_init(&h->base, MEM_BASE);
	buf_init(&h->socket, MEM_BASE);
	rc = address(h, s->url, s->option ? s->option : "--url", err);
	if (!rc)
		rc = load(h, err);
	if (!rc)
		rc = headers(h, s->key_file, err);
	if (rc)
		return rc;
	h->multi = h->multi_init();
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (!h->multi || h->timer < 0 || h->base.bad || h->socket.bad)
		return err_set(err, INFER_ENOMEM, "no memory or descriptor for requests");
	return INFER_OK;
}

void client_close(struct client *h)
{
	if (!h)
		return;
	if (h->multi)
		h->multi_cleanup(h->multi);
	if (h->headers)
		h->slist_free_all(h->headers);
	if (h->timer >= 0)
		close(h->timer);
	buf_fini(&h->base);
	buf_fini(&h->socket);
	mem_free(h); /* the library stays: its own threads and handlers may */
}

static size_t take(char *bytes, size_t size, size_t n, void *user)
{
	struct client_call *c = user;

	c->got(c->user, bytes, size * n);
	return size * n;
}

int client_start(struct client *h, struct client_call *c, const char *path, const char *body,
                 size_t n, infer_error *err)
{
	struct buf url;
	int bad;

	if (!c->easy)
		c->easy = h->easy_init();
	if (!c->easy)
		return err_set(err, INFER_ENOMEM, "no memory for a request");
	c->ended = 0;
	c->status = 0;
	c->why[0] = 0;
	buf_init(&url, MEM_BASE);
	buf_printf(&url, "%s%s", h->base.at, path);
	bad = url.bad || h->easy_setopt(c->easy, OPT_URL, url.at) ||
	      h->easy_setopt(c->easy, OPT_HTTPHEADER, h->headers) ||
	      h->easy_setopt(c->easy, OPT_WRITEFUNCTION, take) ||
	      h->easy_setopt(c->easy, OPT_WRITEDATA, c) ||
	      h->easy_setopt(c->easy, OPT_PRIVATE, c) ||
	      h->easy_setopt(c->easy, OPT_NOSIGNAL, 1L) ||
	      h->easy_setopt(c->easy, OPT_NOPROXY, "*") ||
	      h->easy_setopt(c->easy, OPT_HTTP_VERSION, (long)VERSION_1_1) ||
	      h->easy_setopt(c->easy, OPT_TIMEOUT_MS, h->timeout_ms) ||
	      (h->socket.len && h->easy_setopt(c->easy, OPT_UNIX_SOCKET_PATH, h->socket.at)) ||
	      (body ? h->easy_setopt(c->easy, OPT_POSTFIELDS, body) ||
	                       h->easy_setopt(c->easy, OPT_POSTFIELDSIZE, (long)n)
	            : h->easy_setopt(c->easy, OPT_HTTPGET, 1L)) ||
	      h->multi_add_handle(h->multi, c->easy);
	buf_fini(&url);
	return bad ? err_set(err, INFER_EINVAL, "libcurl does not take the request to %s",
	                     h->base.at)
	           : INFER_OK;
}

static void collect(struct client *h, struct client_call **ended)
{
	struct message *m;
	int left;

	while ((m = h->multi_info_read(h->multi, &left))) {
		struct client_call *c = NULL;
		int result = m->data.result;
		void *easy = m->easy;
		long status = 0;

		if (m->what != 1 || h->easy_getinfo(easy, INFO_PRIVATE, &c) || !c)
			continue;
		h->easy_getinfo(easy, INFO_RESPONSE_CODE, &status);
		c->status = status;
		if (result) {
			const char *why = h->easy_strerror(result);
			size_t n = strnlen(why, sizeof c->why - 1);

			memcpy(c->why, why, n);
			c->why[n] = 0;
		}
		c->ended = 1;
		h->multi_remove_handle(h->multi, easy);
		c->next = *ended;
		*ended = c;
	}
}

int client_step(struct client *h, int64_t until_ns, struct client_call **ended, infer_error *err)
{
	struct wait_fd timer = { h->timer, 1, 0 };
	struct itimerspec at = { .it_value = { until_ns / 1000000000, until_ns % 1000000000 } };
	int running, rc, n;

	*ended = NULL;
	rc = h->multi_perform(h->multi, &running);
	if (!rc)
		collect(h, ended);
	/* a timer of nanoseconds: the timeouts of libcurl are milliseconds */
	if (!rc && !*ended && clock_now_ns() < until_ns) {
		timerfd_settime(h->timer, TFD_TIMER_ABSTIME, &at, NULL);
		rc = h->multi_wait(h->multi, &timer, 1, 1000, &n);
		if (!rc)
			rc = h->multi_perform(h->multi, &running);
		if (!rc)
			collect(h, ended);
	}
	return rc ? err_set(err, INFER_ENET, "libcurl: %s", h->multi_strerror(rc)) : INFER_OK;
}

void client_call_fini(struct client *h, struct client_call *c)
{
	if (!c->easy)
		return;
	if (!c->ended)
		h->multi_remove_handle(h->multi, c->easy);
	h->easy_cleanup(c->easy);
	c->easy = NULL;
}

static void keep(void *user, const char *bytes, size_t n)
{
	struct buf *to = user;

	buf_put(to, bytes, n);
}

int client_ask(struct client *h, const char *path, const char *body, int64_t *status,
               struct buf *out, infer_error *err)
{
	struct client_call c = { .got = keep, .user = out }, *ended;
	int rc;

	buf_clear(out);
	rc = client_start(h, &c, path, body, body ? strlen(body) : 0, err);
	while (!rc && !c.ended)
		rc = client_step(h, clock_now_ns() + 1000000000, &ended, err);
	client_call_fini(h, &c);
	*status = c.status;
	if (!rc && *c.why)
		rc = err_set(err, INFER_ENET, "%s%s: %s", h->socket.len ? h->socket.at : h->base.at,
		             path, c.why);
	buf_putc(out, 0);
	return !rc && out->bad ? err_set(err, INFER_ENOMEM, "no memory for an answer") : rc;
}
