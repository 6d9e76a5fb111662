/* hub/net.h (private) - HTTP requests to the hub, by libcurl, which is loaded with dlopen. */
#ifndef HUB_NET_H
#define HUB_NET_H
#include <stdint.h>
#include <infer/hub.h>
#include "base/buf.h"

struct hub_net; /* confined: connections are reused */
int hub_net_open(struct hub_net **out, const struct infer_hub_opts *o, infer_error *err);
void hub_net_close(struct hub_net *n);

/* What a HEAD of a file says, from the hub's own answer before its redirect to another host. */
struct hub_file_info {
	char etag[72];       /* without quotes and W/: X-Linked-Etag, or ETag: a sha256 (LFS) or a git SHA-1 in hex */
	int is_lfs;          /* etag is a sha256 */
	uint64_t bytes;      /* X-Linked-Size, or Content-Length */
	char commit[44];     /* X-Repo-Commit */
	char *url;           /* of the bytes: Location, or the same.  hub_file_info_fini frees it */
};
void hub_file_info_fini(struct hub_file_info *i);

/* GET of ENDPOINT/path (JSON): the body, at most `most` bytes.  Retries after 429 and 5xx as the hub asks.
 * INFER_ENET: with the status and what to do: 401, 403 (gated: the page where its licence is accepted), 404 */
int hub_net_get(struct hub_net *n, const char *path, size_t most, struct buf *body, infer_error *err);
/* The path of the next page after hub_net_get, for hub_net_get (Link: rel="next" to the endpoint); NULL: none. */
const char *hub_net_next(const struct hub_net *n);
/* The kind of the failure of the last request. */
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
/* HEAD of ENDPOINT/path.  *found 0: 404 with X-Error-Code EntryNotFound. */
int hub_net_head(struct hub_net *n, const char *path, struct hub_file_info *i, int *found, infer_error *err);
/* Download i->bytes bytes of i->url into fd, which may contain the beginning of an earlier download (resume): parallel
 * ranges for large files, one stream if ranges are refused.  Afterwards the content has been compared with i->etag.
 * *again 1: the file changed on the hub, or a signed URL has expired: call hub_net_head anew.
 * INFER_EFORMAT: the content has another hash; INFER_ENET; INFER_EIO; INFER_ECANCEL */
int hub_net_fetch(struct hub_net *n, const struct hub_file_info *i, int fd, uint64_t before, uint64_t all,
                  int *again, infer_error *err);
#endif
