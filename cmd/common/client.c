/* common/client.c - an HTTP client on libcurl's multi interface. */
#include "common/client.h"
#include "common/file.h"
#include "base/clock.h"
#include "base/curl.h"
#include "base/err.h"

#include <ctype.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { MAX_KEY_BYTES = 4096 };

struct client {
	struct curl curl;
	void *multi, *headers;
	struct buf base, socket;
	long timeout_ms;
	int timer;
	uint64_t waits;
};

static int parse_address(struct client *h, const char *url, const char *option, infer_error *err)
{
	size_t n = strlen(url);

	if (!strncmp(url, "unix:", 5) && url[5]) {
		buf_puts(&h->socket, url + 5);
		url = "http://localhost";
		n = strlen(url);
	} else if (!strstr(url, "://") && isalnum((unsigned char)*url)) {
		buf_puts(&h->base, "http://"); /* HOST[:PORT] */
	} else if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) {
		return err_set(err, INFER_EINVAL,
		               "%s %.120s must be http://HOST[:PORT], https://... or unix:PATH",
		               option, url);
	}
	while (n && url[n - 1] == '/')
		n--;
	n -= n > 3 && !memcmp(url + n - 3, "/v1", 3) ? 3 : 0;
	buf_put(&h->base, url, n);
	return INFER_OK;
}

static int make_headers(struct client *h, const char *key_file, infer_error *err)
{
	struct buf key, line;
	int rc = INFER_OK;

	h->headers = h->curl.slist_append(NULL, "Content-Type: application/json");
	h->headers = h->curl.slist_append(h->headers, "Expect:");
	if (!key_file)
		return INFER_OK;
	buf_init(&key, MEM_BASE);
	buf_init(&line, MEM_BASE);
	rc = file_read(&key, key_file, MAX_KEY_BYTES, err);
	size_t n = key.at ? strcspn(key.at, "\r\n") : 0;

	if (!rc && !n)
		rc = err_set(err, INFER_EFORMAT, "%s: line 1 has no key", key_file);
	buf_printf(&line, "Authorization: Bearer %.*s", (int)n, n ? key.at : "");
	if (!rc && !line.bad)
		h->headers = h->curl.slist_append(h->headers, line.at);
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
		return err_set(err, INFER_ENOMEM, "out of memory for requests");
	h->timer = -1;
	h->timeout_ms = (long)(s->timeout_s * 1e3);
	buf_init(&h->base, MEM_BASE);
	buf_init(&h->socket, MEM_BASE);
	rc = parse_address(h, s->url, s->option ? s->option : "--url", err);
	if (!rc)
		rc = curl_load(&h->curl, err);
	if (!rc)
		rc = make_headers(h, s->key_file, err);
	if (rc)
		return rc;
	h->multi = h->curl.multi_init();
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (!h->multi || h->timer < 0 || h->base.bad || h->socket.bad)
		return err_set(err, INFER_ENOMEM, "out of memory or descriptors for requests");
	return INFER_OK;
}

void client_close(struct client *h)
{
	if (!h)
		return;
	if (h->multi)
		h->curl.multi_cleanup(h->multi);
	if (h->headers)
		h->curl.slist_free_all(h->headers);
	if (h->timer >= 0)
		close(h->timer);
	buf_fini(&h->base);
	buf_fini(&h->socket);
	mem_free(h);
}

static size_t receive_body(char *bytes, size_t size, size_t n, void *user)
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
		c->easy = h->curl.easy_init();
	if (!c->easy)
		return err_set(err, INFER_ENOMEM, "out of memory for a request");
	c->ended = 0;
	c->status = 0;
	c->why[0] = 0;
	buf_init(&url, MEM_BASE);
	buf_printf(&url, "%s%s", h->base.at, path);
	bad = url.bad || h->curl.easy_setopt(c->easy, CURL_OPT_URL, url.at) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_HTTPHEADER, h->headers) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_WRITEFUNCTION, receive_body) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_WRITEDATA, c) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_PRIVATE, c) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_NOSIGNAL, 1L) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_NOPROXY, "*") ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_HTTP_VERSION, (long)CURL_VERSION_1_1) ||
	      h->curl.easy_setopt(c->easy, CURL_OPT_TIMEOUT_MS, h->timeout_ms) ||
	      (h->socket.len &&
	       h->curl.easy_setopt(c->easy, CURL_OPT_UNIX_SOCKET_PATH, h->socket.at)) ||
	      (body ? h->curl.easy_setopt(c->easy, CURL_OPT_POSTFIELDS, body) ||
	                       h->curl.easy_setopt(c->easy, CURL_OPT_POSTFIELDSIZE, (long)n)
	            : h->curl.easy_setopt(c->easy, CURL_OPT_HTTPGET, 1L)) ||
	      h->curl.multi_add_handle(h->multi, c->easy);
	buf_fini(&url);
	return bad ? err_set(err, INFER_EINVAL, "libcurl refuses the request to %s", h->base.at)
	           : INFER_OK;
}

/* Move the calls that have ended to the list *ended. */
static void collect_ended(struct client *h, struct client_call **ended)
{
	struct curl_message *m;
	int left;

	while ((m = h->curl.multi_info_read(h->multi, &left))) {
		struct client_call *c = NULL;
		int result = m->data.result;
		void *easy = m->easy;
		long status = 0;

		if (m->what != CURL_MESSAGE_DONE ||
		    h->curl.easy_getinfo(easy, CURL_INFO_PRIVATE, &c) || !c)
			continue;
		h->curl.easy_getinfo(easy, CURL_INFO_RESPONSE_CODE, &status);
		c->status = status;
		if (result) {
			const char *why = h->curl.easy_strerror(result);
			size_t n = strnlen(why, sizeof c->why - 1);

			memcpy(c->why, why, n);
			c->why[n] = 0;
		}
		c->ended = 1;
		h->curl.multi_remove_handle(h->multi, easy);
		c->next = *ended;
		*ended = c;
	}
}

int client_step(struct client *h, int64_t until_ns, struct client_call **ended, infer_error *err)
{
	struct curl_fd timer = { h->timer, 1, 0 };
	struct itimerspec at = { .it_value = { until_ns / 1000000000, until_ns % 1000000000 } };
	int running, rc, n;

	*ended = NULL;
	rc = h->curl.multi_perform(h->multi, &running);
	if (!rc)
		collect_ended(h, ended);
	/* libcurl's timeouts are in milliseconds, this timer's in nanoseconds */
	if (!rc && !*ended && clock_now_ns() < until_ns) {
		timerfd_settime(h->timer, TFD_TIMER_ABSTIME, &at, NULL);
		rc = h->curl.multi_wait(h->multi, &timer, 1, 1000, &n);
		h->waits++;
		if (!rc)
			rc = h->curl.multi_perform(h->multi, &running);
		if (!rc)
			collect_ended(h, ended);
	}
	return rc ? err_set(err, INFER_ENET, "libcurl: %s", h->curl.multi_strerror(rc)) : INFER_OK;
}

uint64_t client_waits(const struct client *h) { return h->waits; }

void client_call_fini(struct client *h, struct client_call *c)
{
	if (!c->easy)
		return;
	if (!c->ended)
		h->curl.multi_remove_handle(h->multi, c->easy);
	h->curl.easy_cleanup(c->easy);
	c->easy = NULL;
}

static void append_body(void *user, const char *bytes, size_t n)
{
	struct buf *to = user;

	buf_put(to, bytes, n);
}

int client_ask(struct client *h, const char *path, const char *body, int64_t *status,
               struct buf *out, infer_error *err)
{
	struct client_call c = { .got = append_body, .user = out }, *ended;
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
	return !rc && out->bad ? err_set(err, INFER_ENOMEM, "out of memory for an answer") : rc;
}
