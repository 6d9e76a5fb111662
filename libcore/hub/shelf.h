/* hub/shelf.h (private) - contents of the cache: repositories, snapshots, refs. */
#ifndef HUB_SHELF_H
#define HUB_SHELF_H
#include "hub/cache.h"

/* Names in a directory, sorted, without "." and "..". */
struct hub_dirs {
	const char **at;
	size_t n;
};
enum { HUB_DIRS_MOST = 100000 };
/* List the names in `path`, which ends with a slash, below dir; "" is dir itself.  A missing
 * directory is empty.
 * INFER_EIO INFER_ENOMEM; INFER_EUNSUP: more than HUB_DIRS_MOST names */
int hub_names(struct hub_dirs *d, struct arena *mem, int dir, const char *path, infer_error *err);

/* List the branches and tags of the repository, with their folders: "main", "refs/pr/1".  Errors as
 * for hub_names. */
int hub_refs(struct hub_dirs *d, struct arena *mem, const struct hub_cache *c, infer_error *err);
#endif
