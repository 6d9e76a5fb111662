/* hub/range_fetch.c - download pieces of a file over several connections on one thread. */
#include "base/clock.h"
#include "base/err.h"
#include "hub/net_inner.h"
#include "hub/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* STEP_MS: interval of checks of the cancel flag.  HASH: bytes hashed between two network steps.
 * GAIN: new bytes after which the count of failures is reset.  AGAIN: consecutive downloads that
 * may end without a byte. */
enum { STEP_MS = 50, HASH = 4 << 20, GAIN = 64 << 10, AGAIN = 3 };
enum outcome {
	GOES_ON,
	EXPIRED, /* the signed URL is refused: ask the hub for a new one */
	CHANGED  /* the file has changed on the hub */
};

struct fetch;
/* A connection, and the piece that it fetches. */
struct lane {
	struct fetch *f;
	struct hub_http http;
	int active;
	size_t piece;
	uint64_t at, end; /* offsets in the file: next byte of the answer, end of the answer */
	uint64_t gained;  /* new bytes received by this request */
};
struct fetch {
	struct hub_net *net;
	const struct hub_file_info *i;
	struct hub_ranges r;
	struct lane lanes[HUB_CONNECTIONS];
	enum outcome outcome;
	int no_ranges;     /* the server ignores or refuses ranges: use one stream */
	int proven;        /* an answer with ranges was received */
	char etag[128];    /* strong ETag of the first answer; "": none */
	unsigned failures; /* failures in a row */
	uint64_t have_at_failure;
	int64_t not_before_ns; /* earliest start of the next request */
	uint64_t before, all, told;
	infer_error *err;
	int rc; /* error set by a callback */
};

/* ---- answers ---- */

/* Parse "bytes FROM-LAST/ALL". */
static int read_content_range(const char *s, uint64_t *from, uint64_t *end, uint64_t *all)
{
	uint64_t last;
	int n = 0;

	if (sscanf(s, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64 "%n", from, &last, all, &n) != 3 ||
	    s[n] || last == UINT64_MAX)
		return -1;
	*end = last + 1;
	return 0;
}

/* True if the ETag of an answer differs from that of the first one. */
static int is_other_etag(struct fetch *f, const char *etag)
{
	if (*etag != '"')
		return 0;
	if (!*f->etag)
		memcpy(f->etag, etag, strlen(etag) + 1);
	return strcmp(f->etag, etag) != 0;
}

static int refuse_content(struct fetch *f)
{
	f->outcome = CHANGED;
	return -1;
}

/* Compare the headers of an answer with the request. */
static int on_head(void *user)
{
	struct lane *l = user;
	struct fetch *f = l->f;
	const struct hub_http *h = &l->http;
	uint64_t from, end, all;

	if (h->status != 200 && h->status != 206)
		return 0;
	if (is_other_etag(f, h->etag))
		return refuse_content(f);
	if (h->status == 200) {
		if (h->length >= 0 && (uint64_t)h->length != f->i->bytes)
			return refuse_content(f);
		if (*h->range)
			f->no_ranges = 1;
		l->at = 0;
		l->end = f->i->bytes;
		return 0;
	}
	if (read_content_range(h->content_range, &from, &end, &all) || all != f->i->bytes)
		return refuse_content(f);
	if (from != l->at || end > l->end || end <= from) { /* another range than requested */
		if (f->no_ranges)
			return refuse_content(f);
		f->no_ranges = 1;
		return -1;
	}
	f->proven = 1;
	return 0;
}

static int on_body(void *user, const char *bytes, size_t n)
{
	struct lane *l = user;
	struct fetch *f = l->f;

	if (n > l->end - l->at)
		return refuse_content(f);
	uint64_t had = f->r.have;

	f->rc = hub_ranges_put(&f->r, l->at, bytes, n, f->err);
	l->gained += f->r.have - had;
	l->at += n;
	return f->rc;
}

/* ---- connections ---- */

static void stop_lane(struct lane *l)
{
	hub_http_stop(&l->http);
	if (l->active)
		l->f->r.at[l->piece].active = 0;
	l->active = 0;
}

/* Request the rest of the piece, or the whole file if the server has no ranges. */
static int start_lane(struct lane *l, size_t piece)
{
	struct fetch *f = l->f;
	struct hub_http *h = &l->http;
	uint64_t begin = piece * f->r.piece;

	l->piece = piece;
	l->gained = 0;
	l->at = begin + f->r.at[piece].got;
	l->end = begin + hub_ranges_bytes(&f->r, piece);
	h->head = on_head;
	h->body = on_body;
	h->user = l;
	*h->range = *h->if_range = 0;
	if (f->no_ranges) {
		l->at = 0;
		l->end = f->i->bytes;
	} else if (l->at || l->end < f->i->bytes) {
		snprintf(h->range, sizeof h->range, "%" PRIu64 "-%" PRIu64, l->at, l->end - 1);
		snprintf(h->if_range, sizeof h->if_range, "%s", f->etag);
	}
	TRY(hub_http_start(h, f->net, f->i->url, f->err));
	l->active = 1;
	f->r.at[piece].active = 1;
	return INFER_OK;
}

/* Start requests on idle connections: only one until an answer proves that ranges work. */
static int start_lanes(struct fetch *f)
{
	unsigned most = f->net->limits.connections, active = 0;

	if (clock_now_ns() < f->not_before_ns)
		return INFER_OK;
	if (most > HUB_CONNECTIONS)
		most = HUB_CONNECTIONS;
	for (unsigned i = 0; i < HUB_CONNECTIONS; i++)
		active += (unsigned)f->lanes[i].active;
	if (f->no_ranges || !f->proven)
		most = 1;
	for (unsigned i = 0; i < HUB_CONNECTIONS && active < most; i++) {
		size_t piece = hub_ranges_next(&f->r);

		if (piece == f->r.n)
			break;
		if (f->lanes[i].active)
			continue;
		TRY(start_lane(&f->lanes[i], piece));
		active++;
	}
	return INFER_OK;
}

/* Try again after a pause, or return the error after too many attempts. */
static int fail_lane(struct lane *l)
{
	struct fetch *f = l->f;
	const struct hub_http *h = &l->http;
	int64_t ns;

	if (clock_now_ns() < f->not_before_ns)
		return INFER_OK; /* already counted: the same failure on another connection */
	if (l->gained >= GAIN || f->r.have - f->have_at_failure >= GAIN)
		f->failures = 0;
	f->have_at_failure = f->r.have;
	if (++f->failures >= HUB_FAILURES)
		return h->result || h->status >= 300
		               ? hub_net_refusal(f->net, h, f->err)
		               : err_set(f->err, INFER_ENET, "answers end before their last byte");
	TRY(hub_net_pause(&ns, f->net, h, f->failures, f->err));
	f->not_before_ns = clock_now_ns() + ns;
	return INFER_OK;
}

/* Handle status 416: the file has another size, or the server does not support ranges. */
static int refuse_range(struct fetch *f, const struct hub_http *h)
{
	uint64_t all;

	if (f->no_ranges)
		return hub_net_refusal(f->net, h, f->err);
	if (sscanf(h->content_range, "bytes */%" SCNu64, &all) == 1 && all != f->i->bytes)
		f->outcome = CHANGED;
	else
		f->no_ranges = 1;
	return INFER_OK;
}

/* True if the URL is on another host than the hub's: then it is signed, and expires. */
static int is_elsewhere(const struct fetch *f, const struct hub_http *h)
{
	struct hub_origin o;

	return !hub_origin_of(&o, h->url.at, NULL) && !hub_origin_same(&o, &f->net->origin);
}

static int end_lane(struct lane *l)
{
	struct fetch *f = l->f;
	const struct hub_http *h = &l->http;
	int s = h->status;

	stop_lane(l);
	if (f->rc)
		return f->rc;
	if (f->outcome || h->stopped || (!h->result && (s == 200 || s == 206) && l->at == l->end))
		return INFER_OK;
	if (h->result || s == 200 || s == 206 || hub_net_may_retry(h))
		return h->result && !hub_net_may_retry(h) ? hub_net_refusal(f->net, h, f->err)
		                                          : fail_lane(l);
	if (s == 416)
		return refuse_range(f, h);
	if (is_elsewhere(f, h) && (s == 400 || s == 401 || s == 403 || s == 404 || s == 410)) {
		f->outcome = EXPIRED;
		return INFER_OK;
	}
	return hub_net_refusal(f->net, h, f->err);
}

/* Keep one connection: a server without ranges would send the whole file on each. */
static void keep_one(struct fetch *f)
{
	struct lane *kept = NULL;

	for (size_t i = 0; i < HUB_CONNECTIONS; i++) {
		struct lane *l = &f->lanes[i];

		if (!l->active)
			continue;
		if (!kept && (!*l->http.range || l->http.status == 200))
			kept = l;
		else
			stop_lane(l);
	}
}

/* ---- the loop ---- */

static void report_progress(struct fetch *f)
{
	const struct infer_watch *w = &f->net->o->watch;

	if (w->fn && f->told != f->r.have)
		w->fn(w->user, f->before + f->r.have, f->all);
	f->told = f->r.have;
}

static int run_turn(struct fetch *f)
{
	int busy = 0;

	TRY(start_lanes(f));
	for (size_t i = 0; i < HUB_CONNECTIONS; i++)
		busy |= f->lanes[i].active;
	/* do not block on the network if bytes can be hashed */
	int hashes = f->r.hashed < f->r.bytes &&
	             f->r.at[f->r.hashed / f->r.piece].got > f->r.hashed % f->r.piece;

	TRY(busy ? hub_http_step(f->net, hashes ? 0 : STEP_MS, f->err)
	         : hub_net_sleep(f->net, hashes ? 0 : STEP_MS * 1000000, f->err));
	for (size_t i = 0; i < HUB_CONNECTIONS; i++)
		if (f->lanes[i].active && f->lanes[i].http.ended)
			TRY(end_lane(&f->lanes[i]));
	if (f->no_ranges)
		keep_one(f);
	report_progress(f);
	if (hub_net_canceled(f->net))
		return err_set(f->err, INFER_ECANCEL, "canceled");
	return hub_ranges_hash(&f->r, HASH, f->err);
}

static int run_lanes(struct fetch *f)
{
	int rc = INFER_OK;

	report_progress(f);
	while (!rc && !f->outcome && f->r.hashed < f->r.bytes)
		rc = run_turn(f);
	for (size_t i = 0; i < HUB_CONNECTIONS; i++)
		if (f->lanes[i].f)
			stop_lane(&f->lanes[i]);
	return rc;
}

/* Compare the hash.  If it differs and the content includes bytes of an earlier download, which may
 * be damaged, begin anew. */
static int check_hash(struct fetch *f, int *same)
{
	*same = 0;
	TRY(hub_ranges_end(&f->r, same, f->err));
	if (*same)
		return INFER_OK;
	if (f->r.resumed)
		return hub_ranges_reset(&f->r, f->err);
	(void)!ftruncate(f->r.fd, 0);
	return err_set(f->err, INFER_EFORMAT,
	               "the %s of the content differs from the hub's, %.12s...",
	               f->i->is_lfs ? "sha256" : "git SHA-1", f->i->etag);
}

static int finish_download(struct fetch *f, uint64_t had, int *again)
{
	struct hub_net *n = f->net;

	n->refused = f->outcome == EXPIRED && f->r.have == had ? n->refused + 1 : 0;
	n->changed = f->outcome == CHANGED ? n->changed + 1 : 0;
	if (n->refused > AGAIN || n->changed > AGAIN) {
		n->why = HUB_WHY_OTHER;
		return err_set(f->err, INFER_ENET, "%s",
		               n->changed ? "the file on the hub is not the one that it names"
		                          : "the address that the hub gives is refused");
	}
	*again = f->outcome != GOES_ON;
	return f->outcome == CHANGED ? hub_ranges_reset(&f->r, f->err) : INFER_OK;
}

int hub_net_fetch(struct hub_net *n, const struct hub_file_info *i, int fd, uint64_t before,
                  uint64_t all, int *again, infer_error *err)
{
	struct fetch *f = mem_zalloc(MEM_HUB, 1, sizeof *f);
	int same = 0, rc;

	*again = 0;
	if (!f)
		return err_set(err, INFER_ENOMEM, "out of memory for a download");
	*f = (struct fetch){ .net = n, .i = i, .before = before, .all = all, .err = err };
	for (size_t k = 0; k < HUB_CONNECTIONS; k++)
		f->lanes[k].f = f;
	n->why = HUB_WHY_OTHER;
	f->told = UINT64_MAX;
	rc = hub_ranges_open(&f->r, fd, i, n->limits.piece, err);
	uint64_t had = f->r.have;

	while (!rc && !same && !f->outcome) {
		rc = run_lanes(f);
		if (!rc && !f->outcome)
			rc = check_hash(f, &same);
	}
	if (f->r.at && f->outcome != CHANGED && !same && rc != INFER_EFORMAT) {
		int rc_save = hub_ranges_save(&f->r, rc ? NULL : err);

		rc = rc ? rc : rc_save;
	}
	if (!rc)
		rc = finish_download(f, had, again);
	if (!rc)
		n->why = HUB_WHY_NONE;
	for (size_t k = 0; k < HUB_CONNECTIONS; k++)
		hub_http_fini(&f->lanes[k].http);
	hub_ranges_fini(&f->r);
	mem_free(f);
	return rc;
}
