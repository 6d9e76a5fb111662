/* hub/cache.h (private) - the cache of huggingface_hub on disk.
 *
 *   CACHE/models--ORG--REPO/blobs/ETAG                   contents
 *                          /blobs/ETAG.inferutils        an unfinished download of the blob
 *                          /snapshots/COMMIT/PATH        relative symlink to its blob
 *                          /refs/REV                     the commit of a branch or tag
 *                          /.no_exist/COMMIT/PATH        empty: the commit has no such file
 *   CACHE/.locks/models--ORG--REPO/ETAG.lock             flock while a blob is written
 *
 * Below CACHE no symlink to a directory is followed, so nothing is written outside it. */
#ifndef HUB_CACHE_H
#define HUB_CACHE_H
#include <limits.h>
#include <stdint.h>
#include <infer/hub.h>
#include "base/arena.h"
#include "hub/choose.h"
#include "hub/ref.h"

#define HUB_PARTIAL ".inferutils"

struct hub_cache {
	int root, repo;    /* descriptors: the cache, the repository's folder; -1: missing */
	char at[PATH_MAX]; /* absolute path of root, links resolved */
	char folder[HUB_FOLDER];
};

/* Open the cache and the folder of a repository.  make: create both if they are missing.
 * Without make, the descriptor of a missing one is -1.
 * INFER_EIO  no cache directory is named, or it cannot be opened or created */
int hub_cache_open(struct hub_cache *c, const struct infer_hub_opts *o, const char *folder,
                   int make, infer_error *err);
void hub_cache_close(struct hub_cache *c);
/* Return INFER_EIO with a message about a path in the folder of the repository (hub_cache_fail) or
 * in the cache (hub_root_fail).  errnum: errno of the call that failed. */
int hub_cache_fail(const struct hub_cache *c, const char *path, int errnum, infer_error *err);
int hub_root_fail(const struct hub_cache *c, const char *path, int errnum, infer_error *err);

/* Open the directory that contains the last component of `path`, which is relative to dir.  make:
 * create missing directories.  *name: the last component.  Returns -1 and errno on failure. */
int hub_open_parent(int dir, const char *path, int make, const char **name);

/* Read or write the commit of a branch or tag.  commit: "" if the cache does not have it.
 * INFER_EIO; INFER_EFORMAT: the file does not contain a commit */
int hub_ref_read(char commit[HUB_COMMIT], const struct hub_cache *c, const char *rev,
                 infer_error *err);
int hub_ref_write(const struct hub_cache *c, const char *rev, const char *commit, infer_error *err);

/* Look for snapshots/COMMIT/PATH.  Sets *has to 1 and *bytes to the size of a regular file, or of a
 * link to one inside the cache; *has to 0 if the file or its blob is missing.
 * INFER_EFORMAT: the path is a directory, or a link to a file outside the cache */
int hub_snapshot_has(int *has, uint64_t *bytes, const struct hub_cache *c, const char *commit,
                     const char *path, infer_error *err);
/* Create the link to blobs/ETAG, replacing a broken link of the same name.  INFER_EIO */
int hub_snapshot_link(const struct hub_cache *c, const char *commit, const char *path,
                      const char *etag, infer_error *err);
/* Create the folder of a snapshot.  INFER_EIO */
int hub_snapshot_make(const struct hub_cache *c, const char *commit, infer_error *err);
/* List the files of a snapshot, in mem.  *n 0: no snapshot of the commit.  Broken links are left
 * out.
 * INFER_EIO; INFER_EUNSUP: too many files; INFER_ENOMEM */
int hub_snapshot_list(struct hub_entry **list, size_t *n, struct arena *mem,
                      const struct hub_cache *c, const char *commit, infer_error *err);
/* Write the absolute path of snapshots/COMMIT, or of a file in it if path is not NULL.  The caller
 * frees it.  INFER_ENOMEM */
int hub_snapshot_path(char **out, const struct hub_cache *c, const char *commit, const char *path,
                      infer_error *err);

/* Record that the commit has no such file, if the cache has the commit.  Failures are ignored. */
void hub_no_exist_write(const struct hub_cache *c, const char *commit, const char *path);

/* Take the lock of a blob.  *lock: a descriptor; close it to unlock.
 * wait 0: *lock is -1 if another process has the lock.  wait 1: sleep until it is free, with one
 * report.  what: the name of the file, for the report.
 * INFER_EIO INFER_ECANCEL */
int hub_lock(int *lock, const struct hub_cache *c, const char *etag, int wait, const char *what,
             const struct infer_hub_opts *o, infer_error *err);
#endif
