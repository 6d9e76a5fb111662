/* hub/get.h (private) - find a model of the hub in the cache, or download it. */
#ifndef HUB_GET_H
#define HUB_GET_H
#include <infer/hub.h>
#include "hub/cache.h"
#include "hub/tree.h"

struct hub_net;
struct hub_get {
	const struct infer_hub_opts *o;
	struct hub_ref ref;
	struct hub_cache cache;
	struct hub_net *net;
	struct arena mem;
	char commit[HUB_COMMIT];
	struct hub_tree tree;
	struct hub_choice choice;
	int config; /* 1: only config.json is wanted */
};

/* Report a formatted sentence, if o has a callback for reports. */
void hub_say(const struct infer_hub_opts *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Mark the files of g->choice that the cache lacks.  missing: [g->choice.n] 1: missing; *n, *bytes:
 * number and total size of the missing files
 * INFER_EFORMAT: the size of a cached file differs from the hub's */
int hub_find_missing(const struct hub_get *g, unsigned char *missing, size_t *n, uint64_t *bytes,
                     infer_error *err);
/* Download the marked files of g->choice, each under its lock, and link them into the snapshot.
 * bytes: total size of the marked files
 * INFER_EIO: no space (then nothing is downloaded), or a write failed; INFER_ENET; INFER_EFORMAT;
 * INFER_ECANCEL */
int hub_download(struct hub_get *g, const unsigned char *missing, uint64_t bytes, infer_error *err);
#endif
