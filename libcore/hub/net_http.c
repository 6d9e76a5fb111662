/* hub/net_http.c - one request with its headers, redirects and answer. */
#include "base/clock.h"
#include "base/err.h"
#include "hub/net_inner.h"

#include <stdio.h>
#include <string.h>

enum { STALLED = -1, BUFFER = 256 << 10 };

static void copy_value(char *to, size_t room, const char *s, size_t n)
{
	if (n >= room)
		n = 0; /* too long: not valid */
	memcpy(to, s, n);
	to[n] = 0;
}

/* Parse the number s[0 .. n).  Returns -1 if it is not a number. */
static int64_t read_count(const char *s, size_t n)
{
	int64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || v > INT64_MAX / 10 - 1)
			return -1;
		v = v * 10 + s[i] - '0';
	}
	return n ? v : -1;
}

/* Clear the fields of the last answer, except those that the hub adds to the redirect of a file. */
static void begin_answer(struct hub_http *h)
{
	h->status = 0;
	h->length = -1;
	h->is_final = 0;
	*h->etag = *h->error_code = *h->retry_after = *h->content_range = *h->ratelimit = 0;
	buf_clear(&h->location);
	buf_clear(&h->link);
}

static void read_field(struct hub_http *h, const char *name, size_t name_n, const char *v, size_t n)
{
	const struct {
		const char *name;
		char *to;
		size_t room;
		struct buf *long_to;
	} rows[] = {
		{ "etag", h->etag, sizeof h->etag, NULL },
		{ "x-linked-etag", h->linked_etag, sizeof h->linked_etag, NULL },
		{ "x-repo-commit", h->commit, sizeof h->commit, NULL },
		{ "x-error-code", h->error_code, sizeof h->error_code, NULL },
		{ "retry-after", h->retry_after, sizeof h->retry_after, NULL },
		{ "ratelimit", h->ratelimit, sizeof h->ratelimit, NULL },
		{ "content-range", h->content_range, sizeof h->content_range, NULL },
		{ "location", NULL, HUB_URL_BYTES, &h->location },
		{ "link", NULL, HUB_URL_BYTES, &h->link },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strlen(rows[i].name) != name_n || strncasecmp(rows[i].name, name, name_n) != 0)
			continue;
		if (rows[i].to) {
			copy_value(rows[i].to, rows[i].room, v, n);
		} else if (n < rows[i].room) {
			buf_clear(rows[i].long_to);
			buf_put(rows[i].long_to, v, n);
		}
		return;
	}
	if (name_n == 14 && !strncasecmp(name, "content-length", 14))
		h->length = read_count(v, n);
	else if (name_n == 13 && !strncasecmp(name, "x-linked-size", 13))
		h->linked_bytes = read_count(v, n);
}

/* Read a header line: "HTTP/...", "Name: value\r\n", or an empty one. */
static size_t on_header(char *line, size_t size, size_t n, void *user)
{
	struct hub_http *h = user;
	size_t all = size * n, len = all;
	const char *colon, *space;

	h->heard_ns = clock_now_ns();
	h->header_bytes += all;
	if (h->header_bytes > HUB_HEADER_BYTES) {
		h->too_large = 1;
		return 0;
	}
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (len > 5 && !memcmp(line, "HTTP/", 5)) {
		begin_answer(h);
		space = memchr(line, ' ', len);
		h->status = space && len - (size_t)(space - line) > 3
		                    ? (int)read_count(space + 1, 3)
		                    : 0;
		return all;
	}
	if (h->is_final) /* ignore trailer fields after a chunked body */
		return all;
	if ((colon = memchr(line, ':', len))) {
		const char *v = colon + 1;

		while (v < line + len && (*v == ' ' || *v == '\t'))
			v++;
		if (!memchr(v, 0, (size_t)(line + len - v)))
			read_field(h, line, (size_t)(colon - line), v, (size_t)(line + len - v));
		return h->location.bad || h->link.bad ? 0 : all;
	}
	if (!len && h->status >= 200)
		h->is_final = h->status < 300 || h->status >= 400 || !h->location.len;
	if (!len && h->is_final && h->head && h->head(h->user)) {
		h->stopped = 1;
		return 0;
	}
	return all;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
	struct hub_http *h = user;

	h->heard_ns = clock_now_ns();
	if (!h->is_final || (h->status != 200 && h->status != 206) || !h->body) {
		/* the body of an error counts towards the limit on headers */
		h->header_bytes += size * n;
		h->is_long = h->header_bytes > HUB_HEADER_BYTES;
		return h->is_long ? 0 : size * n;
	}
	if (h->body(h->user, bytes, size * n)) {
		h->stopped = 1;
		return 0;
	}
	return size * n;
}

/* Set the header fields of the next request.  The token is added only if `to` is the endpoint. */
static int set_fields(struct hub_http *h, const struct hub_origin *to)
{
	const struct hub_net *n = h->net;
	int is_own = hub_origin_same(to, &n->origin) && n->o->token && *n->o->token;
	struct buf line;

	if (h->fields)
		n->curl.slist_free_all(h->fields);
	h->fields = n->curl.slist_append(NULL, "Accept-Encoding: identity");
	buf_init(&line, MEM_HUB);
	if (is_own) {
		buf_printf(&line, "Authorization: Bearer %s", n->o->token);
		h->fields = line.bad ? NULL : n->curl.slist_append(h->fields, line.at);
	}
	if (*h->range) {
		buf_clear(&line);
		buf_printf(&line, "Range: bytes=%s", h->range);
		h->fields = line.bad ? NULL : n->curl.slist_append(h->fields, line.at);
	}
	if (*h->range && *h->if_range) {
		buf_clear(&line);
		buf_printf(&line, "If-Range: %s", h->if_range);
		h->fields = line.bad ? NULL : n->curl.slist_append(h->fields, line.at);
	}
	buf_fini(&line);
	/* do not show the token to a proxy in a request without TLS */
	n->curl.easy_setopt(h->easy, CURL_OPT_NOPROXY, is_own && !to->tls ? "*" : NULL);
	return h->fields ? 0 : -1;
}

static int set_options(struct hub_http *h)
{
	const struct curl *c = &h->net->curl;
	const char *ca = h->net->o->ca_file;
	long only = CURL_PROTO_HTTPS | (h->net->origin.tls ? 0 : CURL_PROTO_HTTP);
	void *e = h->easy;

	/* ignore failures: older versions of libcurl lack these options */
	c->easy_setopt(e, CURL_OPT_PATH_AS_IS, 1L);
	c->easy_setopt(e, CURL_OPT_SUPPRESS_CONNECT_HEADERS, 1L);
	c->easy_setopt(e, CURL_OPT_QUICK_EXIT, 1L);
	/* an error means that libcurl already has a buffer of this size, after a failed look-up of
	 * a host */
	c->easy_setopt(e, CURL_OPT_BUFFERSIZE, (long)BUFFER);
	return c->easy_setopt(e, CURL_OPT_HEADEROPT, (long)CURL_HEADER_SEPARATE) ||
	       c->easy_setopt(e, CURL_OPT_PROTOCOLS, only) ||
	       c->easy_setopt(e, CURL_OPT_NOBODY, (long)h->is_head) ||
	       (!h->is_head && c->easy_setopt(e, CURL_OPT_HTTPGET, 1L)) ||
	       c->easy_setopt(e, CURL_OPT_HTTP_VERSION, (long)CURL_VERSION_1_1) ||
	       c->easy_setopt(e, CURL_OPT_NOSIGNAL, 1L) ||
	       c->easy_setopt(e, CURL_OPT_USERAGENT, "inferutils/" INFER_VERSION) ||
	       c->easy_setopt(e, CURL_OPT_WRITEFUNCTION, on_body) ||
	       c->easy_setopt(e, CURL_OPT_WRITEDATA, h) ||
	       c->easy_setopt(e, CURL_OPT_HEADERFUNCTION, on_header) ||
	       c->easy_setopt(e, CURL_OPT_HEADERDATA, h) ||
	       c->easy_setopt(e, CURL_OPT_PRIVATE, h) ||
	       (ca && c->easy_setopt(e, CURL_OPT_CAINFO, ca));
}

/* Send the request to h->url. */
static int send_request(struct hub_http *h, infer_error *err)
{
	struct hub_net *n = h->net;
	struct hub_origin to;

	TRY(hub_origin_of(&to, h->url.at, err));
	if (n->origin.tls && !to.tls)
		return err_set(err, INFER_ENET,
		               "redirected from https to http, to %.100s, which is not followed",
		               to.host);
	begin_answer(h);
	h->heard_ns = clock_now_ns();
	if (set_fields(h, &to) || n->curl.easy_setopt(h->easy, CURL_OPT_HTTPHEADER, h->fields) ||
	    n->curl.easy_setopt(h->easy, CURL_OPT_URL, h->url.at) ||
	    n->curl.multi_add_handle(n->multi, h->easy))
		return err_set(err, INFER_ENOMEM, "out of memory for a request");
	h->active = 1;
	return INFER_OK;
}

int hub_http_start(struct hub_http *h, struct hub_net *n, const char *url, infer_error *err)
{
	if (!h->net) {
		h->net = n;
		buf_init(&h->url, MEM_HUB);
		buf_init(&h->location, MEM_HUB);
		buf_init(&h->link, MEM_HUB);
		h->next = n->first;
		n->first = h;
	}
	h->ended = h->stopped = h->result = h->too_large = h->redirects = h->is_long = 0;
	h->header_bytes = 0;
	h->linked_bytes = -1;
	*h->why = *h->linked_etag = *h->commit = 0;
	buf_clear(&h->url);
	buf_puts(&h->url, url);
	if (!h->easy && !(h->easy = n->curl.easy_init()))
		return err_set(err, INFER_ENOMEM, "out of memory for a request");
	if (h->url.bad || set_options(h))
		return err_set(err, INFER_ENOMEM, "libcurl refuses the request");
	return send_request(h, err);
}

void hub_http_stop(struct hub_http *h)
{
	if (h->active)
		h->net->curl.multi_remove_handle(h->net->multi, h->easy);
	h->active = 0;
}

void hub_http_fini(struct hub_http *h)
{
	if (!h->net)
		return;
	hub_http_stop(h);
	for (struct hub_http **p = &h->net->first; *p; p = &(*p)->next) {
		if (*p == h) {
			*p = h->next;
			break;
		}
	}
	if (h->easy)
		h->net->curl.easy_cleanup(h->easy);
	if (h->fields)
		h->net->curl.slist_free_all(h->fields);
	buf_fini(&h->url);
	buf_fini(&h->location);
	buf_fini(&h->link);
	h->net = NULL;
}

/* Follow the redirect of an answer that has ended.  *followed 0: the answer is final. */
static int follow_redirect(struct hub_http *h, int *followed, infer_error *err)
{
	struct hub_origin from, to;
	struct buf url;
	int rc = INFER_OK;

	*followed = 0;
	if (h->is_final || h->status < 300 || !h->location.len)
		return INFER_OK;
	buf_init(&url, MEM_HUB);
	hub_url_join(&url, h->url.at, h->location.at);
	if (url.bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for a request");
	if (!rc && h->redirects++ == HUB_REDIRECTS)
		rc = err_set(err, INFER_ENET, "more than %d redirects", HUB_REDIRECTS);
	if (!rc)
		rc = hub_origin_of(&from, h->url.at, err);
	if (!rc)
		rc = hub_origin_of(&to, url.at, err);
	if (!rc && (!h->stays || hub_origin_same(&from, &to))) {
		*followed = 1;
		buf_fini(&h->url);
		h->url = url;
		return send_request(h, err);
	}
	if (!rc) { /* store the absolute URL */
		buf_fini(&h->location);
		h->location = url;
		return INFER_OK;
	}
	buf_fini(&url);
	return rc;
}

static void end_request(struct hub_http *h, int result)
{
	h->result = h->is_long ? 0 : result;
	if (result == STALLED)
		snprintf(h->why, sizeof h->why, "no byte for %.3g s",
		         (double)h->net->limits.stall_ns / 1e9);
	else if (h->result)
		snprintf(h->why, sizeof h->why, "%s", h->net->curl.easy_strerror(result));
	hub_http_stop(h);
	h->ended = 1;
}

/* End the request that libcurl has completed, or follow its redirect. */
static int complete_request(struct hub_http *h, int result, infer_error *err)
{
	int followed = 0, rc = INFER_OK;

	if (h->location.bad || h->link.bad) {
		end_request(h, 0);
		return err_set(err, INFER_ENOMEM, "out of memory for an answer");
	}
	if (h->too_large) {
		end_request(h, 0);
		return err_set(err, INFER_ENET, "the answer has more than %d KiB of headers",
		               HUB_HEADER_BYTES >> 10);
	}
	hub_http_stop(h);
	if (!result || h->is_long)
		rc = follow_redirect(h, &followed, err);
	if (!followed || rc)
		end_request(h, result);
	return rc;
}

int hub_http_step(struct hub_net *n, int ms, infer_error *err)
{
	struct curl_message *m;
	int running = 0, left, fds, bad = n->curl.multi_perform(n->multi, &running);

	if (!bad && running && !(bad = n->curl.multi_wait(n->multi, NULL, 0, ms, &fds)))
		bad = n->curl.multi_perform(n->multi, &running);
	if (bad)
		return err_set(err, INFER_ENET, "libcurl: %s", n->curl.multi_strerror(bad));
	while ((m = n->curl.multi_info_read(n->multi, &left))) {
		struct hub_http *h = NULL;
		int result = m->data.result;

		if (m->what == CURL_MESSAGE_DONE &&
		    !n->curl.easy_getinfo(m->easy, CURL_INFO_PRIVATE, &h) && h)
			TRY(complete_request(h, result, err));
	}
	int64_t now = clock_now_ns();

	for (struct hub_http *h = n->first; h; h = h->next)
		if (h->active && now - h->heard_ns > n->limits.stall_ns)
			end_request(h, STALLED);
	return INFER_OK;
}
