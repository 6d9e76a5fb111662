/* hub/tree.h (private) - parse answers of the hub's API: a revision, and pages of its files. */
#ifndef HUB_TREE_H
#define HUB_TREE_H
#include <stddef.h>
#include <infer/status.h>
#include "hub/choose.h"
#include "hub/ref.h"

/* Limits: bytes of an answer, pages of a list, files of a repository. */
enum { HUB_PAGE_BYTES = 8 << 20, HUB_PAGES = 256, HUB_FILES = 100000 };

struct hub_tree {
	struct arena *mem; /* memory of the paths */
	struct hub_entry *at;
	size_t n, cap;
};

/* Read the commit in the answer to /api/models/ORG/REPO/revision/REV.  INFER_EFORMAT: no commit */
int hub_revision_read(char commit[HUB_COMMIT], const char *text, size_t n, infer_error *err);
/* Append the files of one page of /api/models/ORG/REPO/tree/COMMIT?recursive=true.
 * INFER_EFORMAT: not such a page, or a path that leads out of the repository; INFER_EUNSUP: more than HUB_FILES;
 * INFER_ENOMEM */
int hub_tree_add(struct hub_tree *t, const char *text, size_t n, infer_error *err);
#endif
