/* hub/net.c - GET and HEAD requests with retries, and messages for refused ones. */
#include "base/clock.h"
#include "base/err.h"
#include "hub/net_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
enum { SLICE_MS = 50 };

int hub_net_open(struct hub_net **out, const struct infer_hub_opts *o, infer_error *err)
{
	const char *url = o->endpoint && *o->endpoint ? o->endpoint : "https://huggingface.co";
	struct hub_net *n = mem_zalloc(MEM_HUB, 1, sizeof *n);
	size_t len = strlen(url);
	int rc;

	*out = n;
	if (!n)
		return err_set(err, INFER_ENOMEM, "out of memory for requests");
	n->o = o;
	n->limits = (struct hub_net_limits){ 30 * SECOND, SECOND / 2, 300 * SECOND, 16 << 20, 6 };
	buf_init(&n->next, MEM_HUB);
	while (len && url[len - 1] == '/')
		len--;
	n->endpoint = mem_strndup(MEM_HUB, url, len);
	if (!n->endpoint)
		return err_set(err, INFER_ENOMEM, "out of memory for requests");
	if (hub_origin_of(&n->origin, n->endpoint, NULL) || strpbrk(n->endpoint, "?#"))
		return err_set(err, INFER_EINVAL,
		               "the address of the hub must be http(s)://HOST[:PORT][/PATH], not "
		               "%s%.120s",
		               strchr(url, '@') ? "USER@" : "",
		               strchr(url, '@') ? strrchr(url, '@') + 1 : url);
	if (o->token && (strpbrk(o->token, "\r\n") || strlen(o->token) > HUB_URL_BYTES))
		return err_set(err, INFER_EINVAL, "the token of the hub must be one short line");
	rc = curl_load(&n->curl, err);
	if (rc)
		return rc;
	n->multi = n->curl.multi_init();
	return n->multi ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for requests");
}

void hub_net_close(struct hub_net *n)
{
	if (!n)
		return;
	while (n->first)
		hub_http_fini(n->first);
	if (n->multi)
		n->curl.multi_cleanup(n->multi);
	buf_fini(&n->next);
	mem_free(n->endpoint);
	mem_free(n);
}

struct hub_net_limits *hub_net_limits(struct hub_net *n) { return &n->limits; }

void hub_file_info_fini(struct hub_file_info *i)
{
	mem_free(i->url);
	i->url = NULL;
}

enum hub_why hub_net_why(const struct hub_net *n) { return n->why; }
const char *hub_net_next(const struct hub_net *n) { return n->next.len ? n->next.at : NULL; }

int hub_net_canceled(const struct hub_net *n)
{
	return n->o->cancel && *(const volatile int *)n->o->cancel;
}

int hub_net_sleep(struct hub_net *n, int64_t ns, infer_error *err)
{
	int64_t until = clock_now_ns() + ns, left;

	while ((left = until - clock_now_ns()) > 0) {
		if (left > SLICE_MS * 1000000)
			left = SLICE_MS * 1000000;
		nanosleep(&(struct timespec){ .tv_nsec = left }, NULL);
		if (hub_net_canceled(n))
			return err_set(err, INFER_ECANCEL, "canceled");
	}
	return INFER_OK;
}

/* Return the seconds of Retry-After: a number, or a date of RFC 9110; -1: neither. */
static int64_t retry_after_s(const char *s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm t = { 0 };
	char month[4], zone[4];
	const char *m;
	int64_t left;

	if (*s >= '0' && *s <= '9' && strspn(s, "0123456789") == strlen(s))
		return strlen(s) > 9 ? 999999999 : strtoll(s, NULL, 10);
	if (sscanf(s, "%*3[A-Za-z], %2d %3s %4d %2d:%2d:%2d %3s", &t.tm_mday, month, &t.tm_year,
	           &t.tm_hour, &t.tm_min, &t.tm_sec, zone) != 7 ||
	    strcmp(zone, "GMT") != 0 || strlen(month) != 3 || !(m = strstr(months, month)))
		return -1;
	t.tm_mon = (int)(m - months) / 3;
	t.tm_year -= 1900;
	left = (int64_t)timegm(&t) - (int64_t)time(NULL);
	return left > 0 ? left : 0;
}

/* Return the seconds to wait by Retry-After, or by RateLimit: "api";r=0;t=55, which the hub sends
 * with 429.  -1: the answer has neither. */
static int64_t requested_wait_s(const struct hub_http *h)
{
	const char *t = strstr(h->ratelimit, ";t=");

	if (h->result)
		return -1;
	if (*h->retry_after)
		return retry_after_s(h->retry_after);
	if (h->status != 429 || !t || !strstr(h->ratelimit, ";r=0;") ||
	    !(t[3] >= '0' && t[3] <= '9'))
		return -1;
	return strspn(t + 3, "0123456789") > 9 ? 999999999 : strtoll(t + 3, NULL, 10) + 1;
}

int hub_net_may_retry(const struct hub_http *h)
{
	if (h->result == CURL_NOT_TRUSTED || h->result == CURL_BAD_CA_FILE)
		return 0;
	return h->result || h->status == 408 || h->status == 429 || h->status >= 500;
}

int hub_net_pause(int64_t *ns, struct hub_net *n, const struct hub_http *h, unsigned failures,
                  infer_error *err)
{
	int64_t asked = requested_wait_s(h);
	char text[96];

	*ns = n->limits.backoff_ns << (failures ? failures - 1 : 0);
	if (asked < 0)
		return INFER_OK;
	if (asked > (n->limits.wait_ns - n->waited_ns) / SECOND)
		return err_set(err, INFER_ENET,
		               "the hub asks to wait %lld s before the next request (status %d)%s",
		               (long long)asked, h->status,
		               n->o->token ? "" : "; HF_TOKEN has a higher limit");
	n->waited_ns += asked * SECOND;
	*ns = asked * SECOND;
	if (!n->said_wait++ && n->o->say) {
		snprintf(text, sizeof text, "the hub asks to wait %lld s (status %d)",
		         (long long)asked, h->status);
		n->o->say(n->o->user, text);
	}
	return INFER_OK;
}

/* ---- refusals ---- */

/* Write the repository and the revision in a path of the hub; "" if it has none. */
static void name_parts(char *repo, char *rev, size_t room, const char *path)
{
	static const char *const words[] = { "/resolve/", "/revision/", "/tree/" };
	static const char *const starts[] = { "/api/models/", "/api/resolve-cache/models/" };
	const char *end, *word = NULL;

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(path, starts[i], strlen(starts[i])))
			path += strlen(starts[i]) - 1;
	path += *path == '/';
	end = path + strcspn(path, "/?");
	end += *end == '/' ? 1 + strcspn(end + 1, "/?") : 0;
	snprintf(repo, room, "%.*s", (int)(end - path), path);
	*rev = 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strncmp(end, words[i], strlen(words[i])))
			word = end + strlen(words[i]);
	if (word)
		snprintf(rev, room, "%.*s", (int)strcspn(word, "/?"), word);
}

static int fail_no_answer(struct hub_net *n, const struct hub_http *h, infer_error *err)
{
	struct hub_origin at = { 0 };

	hub_origin_of(&at, h->url.at, NULL);
	n->why = h->result == CURL_NO_HOST || h->result == CURL_NO_CONNECTION ||
	                         h->result == CURL_NO_PROXY_HOST || h->result < 0 ||
	                         h->result == CURL_TIMED_OUT
	                 ? HUB_WHY_OFFLINE
	                 : HUB_WHY_OTHER;
	if (h->result == CURL_NOT_TRUSTED || h->result == CURL_BAD_CA_FILE)
		return err_set(err, INFER_ENET, "the certificate of %.80s is not trusted: %s",
		               at.host, h->why);
	return err_set(err, INFER_ENET, "%.80s: %s", at.host, h->why);
}

static int refuse_gated(struct hub_net *n, const char *repo, infer_error *err)
{
	n->why = HUB_WHY_GATED;
	return n->o->token
	               ? err_set(err, INFER_ENET,
	                         "it is gated, and this token has no access: accept its licence at "
	                         "%.60s/%s",
	                         n->endpoint, repo)
	               : err_set(err, INFER_ENET,
	                         "it is gated: accept its licence at %.60s/%s and set HF_TOKEN",
	                         n->endpoint, repo);
}

int hub_net_refusal(struct hub_net *n, const struct hub_http *h, infer_error *err)
{
	const char *code = h->error_code, *path = h->url.at + strlen(n->endpoint);
	struct hub_origin at = { 0 };
	char repo[160], rev[160];
	int has_token = n->o->token && *n->o->token, s = h->status;

	if (h->result)
		return fail_no_answer(n, h, err);
	n->why = HUB_WHY_OTHER;
	if (strncmp(h->url.at, n->endpoint, strlen(n->endpoint)) != 0 || *path != '/') {
		hub_origin_of(&at, h->url.at, NULL);
		return err_set(err, INFER_ENET, "%.80s: status %d", at.host, s);
	}
	name_parts(repo, rev, sizeof repo, path);
	if ((s == 401 || s == 403) && !strcmp(code, "GatedRepo"))
		return refuse_gated(n, repo, err);
	if ((s == 401 || s == 404) && !strcmp(code, "RepoNotFound")) {
		n->why = HUB_WHY_NO_REPO;
		return err_set(err, INFER_ENET, "there is no repository %.100s, or it is private%s",
		               repo,
		               has_token ? " and this token has no access" : " and needs HF_TOKEN");
	}
	if (s == 401 || s == 403) {
		n->why = HUB_WHY_DENIED;
		return err_set(err, INFER_ENET, "%.100s: the hub refuses (status %d): %s", repo, s,
		               has_token ? "this token may be wrong or have no access"
		                         : "set HF_TOKEN to a token of an account with access");
	}
	if (s == 404 && !strcmp(code, "RevisionNotFound")) {
		n->why = HUB_WHY_NO_REVISION;
		return err_set(err, INFER_ENET, "%.100s has no revision %.60s", repo, rev);
	}
	if (s == 404 && !strcmp(code, "EntryNotFound")) {
		n->why = HUB_WHY_NO_ENTRY;
		return err_set(err, INFER_ENET, "%.100s has no such file", repo);
	}
	if (s == 404) {
		n->why = HUB_WHY_NO_REPO;
		return err_set(err, INFER_ENET, "%.60s has no %.120s", n->endpoint, repo);
	}
	return err_set(err, INFER_ENET, "%.60s%.100s: status %d", n->endpoint, path, s);
}

/* ---- requests ---- */

/* Send the request until an answer is final: its status does not change by trying again, or it is
 * the last of HUB_FAILURES attempts. */
static int ask_until_final(struct hub_net *n, struct hub_http *h, const char *url, infer_error *err)
{
	int64_t ns;

	for (unsigned failures = 1;; failures++) {
		TRY(hub_http_start(h, n, url, err));
		while (!h->ended) {
			TRY(hub_http_step(n, SLICE_MS, err));
			if (hub_net_canceled(n))
				return err_set(err, INFER_ECANCEL, "canceled");
		}
		if (h->stopped || !hub_net_may_retry(h))
			return INFER_OK;
		/* try only once more if there is no network */
		unsigned most = h->result == CURL_NO_HOST || h->result == CURL_NO_CONNECTION
		                        ? 2
		                        : HUB_FAILURES;

		if (failures == most)
			return INFER_OK;
		TRY(hub_net_pause(&ns, n, h, failures, err));
		TRY(hub_net_sleep(n, ns, err));
	}
}

struct get {
	struct buf *to;
	size_t from, most;
	int is_long;
};

static int start_body(void *user)
{
	struct get *g = user;

	/* drop the body of an earlier attempt */
	if (g->to->at) {
		g->to->len = g->from;
		g->to->at[g->from] = 0;
	}
	return 0;
}

static int add_body(void *user, const char *bytes, size_t n)
{
	struct get *g = user;

	g->is_long = n > g->most - (g->to->len - g->from);
	if (!g->is_long)
		buf_put(g->to, bytes, n);
	return g->is_long || g->to->bad;
}

/* Set n->next from Link: <URL>; rel="next", which must be below the endpoint. */
static int read_next(struct hub_net *n, const struct hub_http *h, infer_error *err)
{
	const char *at = h->link.len ? h->link.at : "", *end, *rel;
	size_t base = strlen(n->endpoint);
	struct buf url;

	buf_clear(&n->next);
	for (; (at = strchr(at, '<')) && (end = strchr(at, '>')); at = end) {
		rel = strstr(end, "rel=\"next\"");
		if (!rel || (strchr(end, '<') && rel > strchr(end, '<')))
			continue;
		buf_init(&url, MEM_HUB);
		buf_put(&url, at + 1, (size_t)(end - at - 1));
		char *to = buf_take(&url, NULL);

		buf_init(&url, MEM_HUB);
		if (to)
			hub_url_join(&url, h->url.at, to);
		if (!url.bad && url.len > base && !strncmp(url.at, n->endpoint, base) &&
		    url.at[base] == '/')
			buf_puts(&n->next, url.at + base);
		int bad = !to || url.bad || n->next.bad, rc = INFER_OK;

		if (bad)
			rc = err_set(err, INFER_ENOMEM, "out of memory for an answer");
		else if (!n->next.len) /* fail: an incomplete list would look complete */
			rc = err_set(err, INFER_ENET,
			             "the next page of the list must be at %.60s, and is at %.100s",
			             n->endpoint, url.at);
		mem_free(to);
		buf_fini(&url);
		return rc;
	}
	return INFER_OK;
}

/* Write ENDPOINT/path. */
static int make_url(struct buf *url, const struct hub_net *n, const char *path, infer_error *err)
{
	buf_init(url, MEM_HUB);
	buf_printf(url, "%s%s%s", n->endpoint, *path == '/' ? "" : "/", path);
	return url->bad ? err_set(err, INFER_ENOMEM, "out of memory for a request") : INFER_OK;
}

int hub_net_get(struct hub_net *n, const char *path, size_t most, struct buf *body,
                infer_error *err)
{
	struct get g = { body, body->len, most, 0 };
	struct hub_http h = { .head = start_body, .body = add_body, .user = &g };
	struct buf url;
	int rc = make_url(&url, n, path, err);

	buf_clear(&n->next);
	n->why = HUB_WHY_OTHER;
	if (!rc)
		rc = ask_until_final(n, &h, url.at, err);
	if (!rc && g.is_long)
		rc = err_set(err, INFER_EFORMAT, "%.60s%.100s: more than %zu bytes", n->endpoint,
		             path, most);
	else if (!rc && body->bad)
		rc = err_set(err, INFER_ENOMEM, "out of memory for an answer");
	else if (!rc && (h.result || h.status != 200))
		rc = hub_net_refusal(n, &h, err);
	if (!rc)
		rc = read_next(n, &h, err);
	if (!rc)
		n->why = HUB_WHY_NONE;
	hub_http_fini(&h);
	buf_fini(&url);
	return rc;
}

/* Copy an ETag without W/ and quotes. */
static void copy_etag(char *to, size_t room, const char *etag)
{
	size_t n;

	etag += strncmp(etag, "W/", 2) ? 0 : 2;
	etag += *etag == '"';
	n = strcspn(etag, "\"");
	snprintf(to, room, "%.*s", (int)n, etag);
	for (; *to; to++)
		*to = (char)(*to >= 'A' && *to <= 'F' ? *to + 32 : *to);
}

static int is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static int read_info(struct hub_file_info *i, const struct hub_http *h, const char *path,
                     infer_error *err)
{
	int64_t bytes = h->linked_bytes >= 0 ? h->linked_bytes : h->status == 200 ? h->length : -1;

	copy_etag(i->etag, sizeof i->etag, *h->linked_etag ? h->linked_etag : h->etag);
	i->is_lfs = is_hex(i->etag, 64);
	if (!i->is_lfs && !is_hex(i->etag, 40))
		return err_set(err, INFER_EFORMAT,
		               "%.140s: its ETag must be a sha256 or a git SHA-1", path);
	if (bytes < 0)
		return err_set(err, INFER_EFORMAT, "%.140s: the answer must have its size", path);
	if (*h->commit && !is_hex(h->commit, 40))
		return err_set(err, INFER_EFORMAT, "%.140s: X-Repo-Commit must be 40 hex digits",
		               path);
	memcpy(i->commit, h->commit, strlen(h->commit) + 1);
	i->bytes = (uint64_t)bytes;
	const struct buf *url = h->status == 200 ? &h->url : &h->location;

	i->url = mem_strndup(MEM_HUB, url->at, url->len);
	return i->url ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for an address");
}

int hub_net_head(struct hub_net *n, const char *path, struct hub_file_info *i, int *found,
                 infer_error *err)
{
	struct hub_http h = { .is_head = 1, .stays = 1 };
	struct buf url;
	int rc = make_url(&url, n, path, err);

	*i = (struct hub_file_info){ .bytes = 0 };
	*found = 0;
	n->why = HUB_WHY_OTHER;
	if (!rc)
		rc = ask_until_final(n, &h, url.at, err);
	if (!rc && (h.result ||
	            (h.status != 200 && (h.status < 300 || h.status >= 400 || !h.location.len)))) {
		if (!h.result && h.status == 404 && !strcmp(h.error_code, "EntryNotFound"))
			n->why = HUB_WHY_NONE;
		else
			rc = hub_net_refusal(n, &h, err);
	} else if (!rc) {
		rc = read_info(i, &h, path, err);
		*found = !rc;
		n->why = rc ? HUB_WHY_OTHER : HUB_WHY_NONE;
	}
	hub_http_fini(&h);
	buf_fini(&url);
	return rc;
}
