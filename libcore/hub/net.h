/* hub/net.h (private) - HTTP requests to the hub, by libcurl, which is loaded with dlopen.
 *
 * Redirects are followed one at a time, at most 10, and from https to https only.  The token is sent to the
 * endpoint's scheme, host and port only. */
#ifndef HUB_NET_H
#define HUB_NET_H
#include <stdint.h>
#include <infer/hub.h>
#include "base/buf.h"

struct hub_net; /* confined; reuses connections */
/* Load libcurl and prepare requests.  o: borrowed until hub_net_close.
 * INFER_EUNSUP: no libcurl; INFER_EINVAL: the endpoint is not http(s)://HOST[:PORT][/PATH];
 * INFER_ENOMEM */
int hub_net_open(struct hub_net **out, const struct infer_hub_opts *o, infer_error *err);
void hub_net_close(struct hub_net *n); /* NULL is fine */

/* Limits that tests change. */
struct hub_net_limits {
	int64_t stall_ns;     /* replace a connection after this time without bytes; 30 s */
	int64_t backoff_ns;   /* pause before the second attempt, doubled for each further; 0.5 s */
	int64_t wait_ns;      /* total pause that the hub may demand with Retry-After; 5 min */
	uint64_t piece;       /* bytes per range request; 16 MiB */
	unsigned connections; /* parallel connections; 6, at most 8 */
};
struct hub_net_limits *hub_net_limits(struct hub_net *n);

/* Answer to a HEAD of a file: the hub's own answer, before a redirect to another host. */
struct hub_file_info {
	char etag[72];   /* hex sha256 (LFS) or git SHA-1, without quotes */
	int is_lfs;      /* etag is a sha256 */
	uint64_t bytes;  /* X-Linked-Size, or Content-Length */
	char commit[44]; /* X-Repo-Commit, 40 hex digits; "": none */
	char *url;       /* URL of the content: Location, or the requested URL */
};
void hub_file_info_fini(struct hub_file_info *i);

/* GET ENDPOINT/path and append the body, at most `most` bytes, to *body.  path: percent-encoded.
 * Tries again if there is no answer, and after 408, 429 (with Retry-After) and 5xx.
 * INFER_ENET: the message has the status and what to do: 401, 403 (gated: the page to accept the
 * licence), 404
 * INFER_EFORMAT: the body is longer than `most`; INFER_ECANCEL */
int hub_net_get(struct hub_net *n, const char *path, size_t most, struct buf *body,
                infer_error *err);
/* Return the path of the next page after hub_net_get (Link: rel="next", which must lead to the
 * endpoint), for another hub_net_get; NULL: there is none. */
const char *hub_net_next(const struct hub_net *n);
/* Reason why the last hub_net_get, hub_net_head or hub_net_fetch failed. */
enum hub_why {
	HUB_WHY_NONE,
	HUB_WHY_OFFLINE, /* no connection */
	HUB_WHY_NO_REPO,
	HUB_WHY_NO_REVISION,
	HUB_WHY_NO_ENTRY,
	HUB_WHY_GATED,
	HUB_WHY_DENIED,
	HUB_WHY_OTHER
};
enum hub_why hub_net_why(const struct hub_net *n);
/* Append a path with percent-encoding; slashes are kept. */
void hub_net_quote(struct buf *b, const char *path);
/* HEAD ENDPOINT/path.  *found 0: 404 with X-Error-Code EntryNotFound.  Errors as for hub_net_get.
 * i: call hub_file_info_fini, also after a failure */
int hub_net_head(struct hub_net *n, const char *path, struct hub_file_info *i, int *found,
                 infer_error *err);
/* Download i->bytes bytes of i->url into fd (open for reading and writing), and compare the content
 * with i->etag.  Large files are fetched in ranges over several connections, or as one stream if
 * ranges are refused.
 *
 * If fd has an unfinished download of the same i->etag, it is continued: see range.h.  After
 * success the file has i->bytes bytes; the caller syncs and renames it.  The watch is called with
 * before + (bytes so far) and all.
 * *again 1: the file changed on the hub, or a signed URL has expired: call hub_net_head, then this
 * function again.
 * INFER_EFORMAT: the content has another hash, and fd is now empty; INFER_ENET; INFER_EIO;
 * INFER_ECANCEL */
int hub_net_fetch(struct hub_net *n, const struct hub_file_info *i, int fd, uint64_t before,
                  uint64_t all, int *again, infer_error *err);
#endif
