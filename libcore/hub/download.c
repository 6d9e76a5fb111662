/* hub/download.c - download chosen files, each to its blob, and link them into the snapshot. */
#include "base/buf.h"
#include "base/err.h"
#include "hub/choose_inner.h"
#include "hub/get.h"
#include "hub/net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Limit on requests for the address of a file, which may expire before the download is complete.
 * hub_net_fetch fails if a request brings no new bytes. */
enum { TRIES = 1000 };

/* One file while it is downloaded. */
struct item {
	const struct hub_entry *e;
	struct hub_file_info info;
	int blobs, lock; /* descriptors of the folder blobs and of the lock */
	uint64_t before, all;
};

/* Return the bytes on disk of the unfinished downloads of the repository. */
static uint64_t partial_bytes(int blobs)
{
	const struct dirent *e;
	uint64_t bytes = 0;
	int fd = fcntl(blobs, F_DUPFD_CLOEXEC, 3);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct stat st;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	rewinddir(d);
	while ((e = readdir(d)))
		if (hub_ends(e->d_name, HUB_PARTIAL) &&
		    !fstatat(blobs, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	closedir(d);
	return bytes;
}

/* Fail if the file system has less room than the files need. */
static int check_space(const struct hub_get *g, int blobs, uint64_t all, infer_error *err)
{
	uint64_t partial = partial_bytes(blobs), need = all > partial ? all - partial : 0;
	char needed[16], has[16];
	struct statvfs v;

	if (fstatvfs(blobs, &v))
		return INFER_OK;
	uint64_t room = (uint64_t)v.f_bavail * v.f_frsize;

	if (need <= room)
		return INFER_OK;
	hub_size(needed, need);
	hub_size(has, room);
	return err_set(err, INFER_EIO,
	               "%.100s: %s are needed for %.60s, and %s are free (infer-inspect list shows "
	               "models, infer-inspect rm removes one)",
	               g->cache.at, needed, g->ref.base, has);
}

/* Ask the hub for the hash, the size and the address of the file, and compare them with its list. */
static int ask_file(struct hub_get *g, struct item *it, infer_error *err)
{
	struct buf path;
	infer_error why;
	int found = 0, rc = INFER_OK;

	buf_init(&path, MEM_HUB);
	buf_printf(&path, "/%s/resolve/%s/", g->ref.repo, g->commit);
	hub_net_quote(&path, it->e->path);
	if (path.bad)
		rc = err_set(&why, INFER_ENOMEM, "out of memory for a request");
	else
		rc = hub_net_head(g->net, path.at, &it->info, &found, &why);
	buf_fini(&path);
	const struct hub_file_info *i = &it->info;

	if (!rc && !found)
		rc = err_set(&why, INFER_EFORMAT,
		             "is in the hub's list, but there is no such file");
	if (!rc && !hub_is_hex(i->etag, i->is_lfs ? 64 : 40))
		rc = err_set(&why, INFER_EFORMAT, "its ETag must be a sha256 or a git SHA-1");
	if (!rc && *i->commit && strcmp(i->commit, g->commit) != 0)
		rc = err_set(&why, INFER_EFORMAT, "the hub answers for another commit, %.40s",
		             i->commit);
	if (!rc && i->bytes != it->e->bytes)
		rc = err_set(&why, INFER_EFORMAT,
		             "the hub reports %llu bytes, but %llu in its list",
		             (unsigned long long)i->bytes, (unsigned long long)it->e->bytes);
	if (rc && hub_net_why(g->net) == HUB_WHY_GATED)
		return err_set(err, rc, "%.60s: %s", g->ref.base, why.message);
	return rc ? err_set(err, rc, "%.60s: %.60s: %s", g->ref.base, it->e->path, why.message)
	          : INFER_OK;
}

/* Open the temporary file of the blob, which may contain an unfinished download. */
static int open_partial(int *fd, const struct hub_get *g, const struct item *it, const char *name,
                        infer_error *err)
{
	struct stat st;

	*fd = openat(it->blobs, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (*fd < 0)
		return err_errno(err, errno, "%.80s/%s/blobs/%.80s", g->cache.at, g->cache.folder,
		                 name);
	if (!fstat(*fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return INFER_OK;
	close(*fd);
	return err_set(err, INFER_EIO, "%.80s/%s/blobs/%.80s: must be a file with one name",
	               g->cache.at, g->cache.folder, name);
}

/* Download the blob under its lock.  *again 1: call ask_file, then this again. */
static int fetch_blob(struct hub_get *g, struct item *it, int *again, infer_error *err)
{
	char name[96];
	infer_error why;
	int fd;

	snprintf(name, sizeof name, "%.72s" HUB_PARTIAL, it->info.etag);
	TRY(open_partial(&fd, g, it, name, err));
	int rc = hub_net_fetch(g->net, &it->info, fd, it->before, it->all, again, &why);

	if (rc)
		err_set(err, rc, "%.60s: %.60s: %s", g->ref.base, it->e->path, why.message);
	else if (!*again && (fsync(fd) || renameat(it->blobs, name, it->blobs, it->info.etag)))
		rc = err_errno(err, errno, "%.80s/%s/blobs/%.80s", g->cache.at, g->cache.folder,
		               name);
	if (rc == INFER_EFORMAT)
		unlinkat(it->blobs, name, 0);
	close(fd);
	return rc;
}

/* True if the blob exists and has the size that the hub gave.  A link, which may lead out of the cache, is replaced. */
static int has_blob(const struct item *it)
{
	struct stat st;

	return !fstatat(it->blobs, it->info.etag, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == it->info.bytes;
}

static int fetch_once(struct hub_get *g, struct item *it, int *again, infer_error *err)
{
	uint64_t bytes;
	int has, rc;

	*again = 0;
	TRY(ask_file(g, it, err));
	TRY(hub_lock(&it->lock, &g->cache, it->info.etag, 1, it->e->path, g->o, err));
	rc = hub_snapshot_has(&has, &bytes, &g->cache, g->commit, it->e->path, err);
	if (!rc && !has && !has_blob(it))
		rc = fetch_blob(g, it, again, err);
	if (!rc && !*again && !has)
		rc = hub_snapshot_link(&g->cache, g->commit, it->e->path, it->info.etag, err);
	close(it->lock);
	return rc;
}

static int fetch_item(struct hub_get *g, struct item *it, infer_error *err)
{
	int again = 1, rc = INFER_OK;

	for (int i = 0; i < TRIES && again && !rc; i++) {
		rc = fetch_once(g, it, &again, err);
		hub_file_info_fini(&it->info);
	}
	if (!rc && again)
		rc = err_set(err, INFER_ENET,
		             "%.60s: %.80s: the hub changes it while it is downloaded", g->ref.base,
		             it->e->path);
	return rc;
}

static void report_bytes(const struct hub_get *g, uint64_t done, uint64_t all)
{
	if (g->o->watch.fn)
		g->o->watch.fn(g->o->watch.user, done, all);
}

int hub_find_missing(const struct hub_get *g, unsigned char *missing, size_t *n, uint64_t *all,
                     infer_error *err)
{
	*all = 0;
	*n = 0;
	for (size_t i = 0; i < g->choice.n; i++) {
		const struct hub_entry *e = &g->tree.at[g->choice.at[i]];
		uint64_t bytes;
		int has;

		TRY(hub_snapshot_has(&has, &bytes, &g->cache, g->commit, e->path, err));
		if (has && bytes != e->bytes)
			return err_set(
				err, INFER_EFORMAT,
				"%.60s: %.60s has %llu bytes in the cache, and %llu on the hub: "
				"infer-inspect rm %s removes it",
				g->ref.base, e->path, (unsigned long long)bytes,
				(unsigned long long)e->bytes, g->ref.repo);
		missing[i] = !has;
		*n += !has;
		if (!has && __builtin_add_overflow(*all, e->bytes, all))
			return err_set(err, INFER_EFORMAT, "%.60s: sizes above 2^64", g->ref.base);
	}
	return INFER_OK;
}

int hub_download(struct hub_get *g, const unsigned char *missing, uint64_t bytes, infer_error *err)
{
	struct item it = { .all = bytes };
	const char *name;
	int rc;

	it.blobs = hub_open_parent(g->cache.repo, "blobs/", 1, &name);
	if (it.blobs < 0)
		return hub_cache_fail(&g->cache, "blobs", errno, err);
	rc = check_space(g, it.blobs, it.all, err);
	if (!rc)
		report_bytes(g, 0, it.all);
	for (size_t i = 0; !rc && i < g->choice.n; i++) {
		if (!missing[i])
			continue;
		it.e = &g->tree.at[g->choice.at[i]];
		rc = fetch_item(g, &it, err);
		it.before += it.e->bytes;
	}
	if (!rc)
		report_bytes(g, it.all, it.all);
	close(it.blobs);
	return rc;
}
