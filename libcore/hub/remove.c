/* hub/remove.c - remove snapshots, or some of their files, from the cache. */
#include "base/err.h"
#include "base/map.h"
#include "hub/choose.h"
#include "hub/shelf.h"
#include "hub/similar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DEPTH: nested folders; ETAG_MOST: bytes of the name of a blob. */
enum { DEPTH = 32, ETAG_MOST = 128, FULL = HUB_PATH_MOST + HUB_COMMIT + 16 };

struct removal {
	struct hub_ref ref;
	struct hub_cache c;
	struct arena mem;
	uint64_t freed;
	int n;           /* files and snapshots removed */
	struct map gone; /* blobs of the files that were removed */
};

static int fail_removal(const struct removal *r, const char *what, infer_error *err)
{
	return err_errno(err, errno, "%.60s/%s/%.90s", r->c.at, r->c.folder, what);
}

/* Return the bytes on disk that unlinking a file frees: 0 if it has another name. */
static uint64_t disk_bytes(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 ? (uint64_t)st->st_blocks * 512 : 0;
}

/* ---- whole folders ---- */

/* Remove a directory and its contents without following links.  A missing one is not an error. */
static int remove_tree(struct removal *r, int dir, const char *name, int depth, infer_error *err)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = INFER_OK;
	const struct dirent *e;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? INFER_OK : fail_removal(r, name, err);
	DIR *d = fdopendir(fd);

	if (!d) {
		close(fd);
		return fail_removal(r, name, err);
	}
	while (!rc && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
			rc = fail_removal(r, e->d_name, err);
		} else if (S_ISDIR(st.st_mode)) {
			rc = depth < DEPTH
			             ? remove_tree(r, fd, e->d_name, depth + 1, err)
			             : err_set(err, INFER_EIO, "%.60s: folders inside %d others",
			                       r->c.folder, DEPTH);
		} else if (unlinkat(fd, e->d_name, 0)) {
			rc = fail_removal(r, e->d_name, err);
		} else {
			r->freed += disk_bytes(&st);
		}
	}
	closedir(d);
	return !rc && unlinkat(dir, name, AT_REMOVEDIR) ? fail_removal(r, name, err) : rc;
}

/* Fail if any process holds a lock of the repository. */
static int check_locks(struct removal *r, const struct infer_hub_opts *o, infer_error *err)
{
	char path[HUB_FOLDER + 16], etag[ETAG_MOST];
	struct hub_dirs d;
	int lock;

	snprintf(path, sizeof path, ".locks/%s/", r->c.folder);
	TRY(hub_names(&d, &r->mem, r->c.root, path, err));
	for (size_t i = 0; i < d.n; i++) {
		size_t n = strlen(d.at[i]);

		if (n <= 5 || n - 5 >= sizeof etag || strcmp(d.at[i] + n - 5, ".lock") != 0)
			continue;
		memcpy(etag, d.at[i], n - 5);
		etag[n - 5] = 0;
		TRY(hub_lock(&lock, &r->c, etag, 0, "", o, err));
		if (lock < 0)
			return err_set(err, INFER_EIO,
			               "%s: another process downloads it: nothing was removed",
			               r->ref.repo);
		close(lock);
	}
	return INFER_OK;
}

/* ---- files of a snapshot ---- */

/* Read the name of the blob that snapshots/COMMIT/PATH links to; "" for other files. */
static void read_blob_name(char etag[ETAG_MOST], int dir, const char *name)
{
	char to[4096];
	ssize_t n = readlinkat(dir, name, to, sizeof to - 1);
	const char *slash;

	*etag = 0;
	if (n <= 0)
		return;
	to[n] = 0;
	slash = strrchr(to, '/');
	if (slash && strlen(slash + 1) < ETAG_MOST && slash[1] != '.')
		snprintf(etag, ETAG_MOST, "%s", slash + 1);
}

/* Remove the folders of a path in the snapshot that have become empty. */
static void remove_empty(const struct removal *r, char *full)
{
	for (char *slash = strrchr(full, '/'); slash && slash - full > 10;
	     slash = strrchr(full, '/')) {
		*slash = 0;
		if (unlinkat(r->c.repo, full, AT_REMOVEDIR))
			return;
	}
}

static int remove_link(struct removal *r, const char *commit, const char *path, infer_error *err)
{
	char full[FULL], etag[ETAG_MOST];
	const char *name, *kept;
	struct stat st;
	int rc = INFER_OK;

	snprintf(full, sizeof full, "snapshots/%s/%s", commit, path);
	int dir = hub_open_parent(r->c.repo, full, 0, &name);

	if (dir < 0)
		return fail_removal(r, full, err);
	read_blob_name(etag, dir, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || unlinkat(dir, name, 0)) {
		rc = fail_removal(r, full, err);
	} else {
		r->freed += disk_bytes(&st) * !S_ISLNK(st.st_mode);
		r->n++;
	}
	close(dir);
	if (!rc && *etag && !map_get(&r->gone, etag, strlen(etag))) {
		kept = arena_strndup(&r->mem, etag, strlen(etag));
		if (!kept || map_put(&r->gone, kept, strlen(kept), 0))
			rc = err_set(err, INFER_ENOMEM, "out of memory for a list of files");
	}
	remove_empty(r, full);
	return rc;
}

/* Remove the refs and the .no_exist entries of a snapshot that has no files. */
static int forget_commit(struct removal *r, const char *commit, infer_error *err)
{
	char path[HUB_REV + 64], is[HUB_COMMIT];
	struct hub_dirs refs;
	const char *name;
	int dir;

	snprintf(path, sizeof path, "snapshots/%s", commit);
	if (unlinkat(r->c.repo, path, AT_REMOVEDIR) && errno != ENOENT)
		return INFER_OK; /* the snapshot still has files */
	TRY(hub_refs(&refs, &r->mem, &r->c, err));
	for (size_t i = 0; i < refs.n; i++) {
		if (hub_ref_read(is, &r->c, refs.at[i], NULL) || strcmp(is, commit) != 0)
			continue;
		snprintf(path, sizeof path, "refs/%s", refs.at[i]);
		dir = hub_open_parent(r->c.repo, path, 0, &name);
		if (dir >= 0) {
			unlinkat(dir, name, 0);
			close(dir);
		}
	}
	dir = openat(r->c.repo, ".no_exist", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return INFER_OK;
	int rc = remove_tree(r, dir, commit, 0, err);

	close(dir);
	return rc;
}

/* Remove dangling links and empty folders, and then the snapshot. */
static int remove_rest(struct removal *r, const char *commit, infer_error *err)
{
	int dir = openat(r->c.repo, "snapshots", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = dir < 0 ? fail_removal(r, "snapshots", err) : remove_tree(r, dir, commit, 0, err);

	if (dir >= 0)
		close(dir);
	r->n++;
	return rc ? rc : forget_commit(r, commit, err);
}

static int remove_from(struct removal *r, const char *commit, infer_error *err)
{
	struct hub_entry *list;
	struct hub_choice choice;
	infer_error why;
	size_t n;

	TRY(hub_snapshot_list(&list, &n, &r->mem, &r->c, commit, err));
	if (!r->ref.what) {
		for (size_t i = 0; i < n; i++)
			TRY(remove_link(r, commit, list[i].path, err));
		return remove_rest(r, commit, err);
	}
	int rc = hub_choose(&choice, &r->mem, list, n, r->ref.what, 0, r->ref.base, &why);

	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s", why.message);
	for (size_t i = 0; !rc && i < choice.n; i++)
		TRY(remove_link(r, commit, list[choice.at[i]].path, err));
	return rc ? INFER_OK : forget_commit(r, commit, err);
}

/* ---- contents ---- */

/* Mark the blobs that a snapshot links to as used. */
static int mark_used(struct removal *r, const char *commit, struct map *used, infer_error *err)
{
	char full[FULL], etag[ETAG_MOST];
	struct hub_entry *list;
	const char *name, *kept;
	size_t n;

	TRY(hub_snapshot_list(&list, &n, &r->mem, &r->c, commit, err));
	for (size_t i = 0; i < n; i++) {
		snprintf(full, sizeof full, "snapshots/%s/%s", commit, list[i].path);
		int dir = hub_open_parent(r->c.repo, full, 0, &name);

		if (dir < 0)
			return fail_removal(r, full, err);
		read_blob_name(etag, dir, name);
		close(dir);
		if (!*etag || map_get(used, etag, strlen(etag)))
			continue;
		kept = arena_strndup(&r->mem, etag, strlen(etag));
		if (!kept || map_put(used, kept, strlen(kept), 0))
			return err_set(err, INFER_ENOMEM, "out of memory for a list of files");
	}
	return INFER_OK;
}

/* Remove the blobs of r->gone that are neither used nor locked by a process. */
static int remove_unused_blobs(struct removal *r, const struct map *used,
                               const struct infer_hub_opts *o, infer_error *err)
{
	const char *name;
	struct stat st;
	int rc = INFER_OK, lock, blobs = hub_open_parent(r->c.repo, "blobs/", 0, &name);

	if (blobs < 0)
		return errno == ENOENT ? INFER_OK : fail_removal(r, "blobs", err);
	for (uint32_t i = 0; !rc && i <= r->gone.mask; i++) {
		const struct map_slot *s = &r->gone.at[i];

		if (!s->key || map_get(used, s->key, s->len))
			continue;
		rc = hub_lock(&lock, &r->c, s->key, 0, "", o, err);
		if (rc || lock < 0)
			continue;
		if (!fstatat(blobs, s->key, &st, AT_SYMLINK_NOFOLLOW)) {
			if (unlinkat(blobs, s->key, 0))
				rc = fail_removal(r, s->key, err);
			else
				r->freed += disk_bytes(&st);
		}
		close(lock);
	}
	close(blobs);
	return rc;
}

static int remove_some(struct removal *r, const struct infer_hub_opts *o, infer_error *err)
{
	char commit[HUB_COMMIT] = "";
	struct hub_dirs all;
	struct map used;
	int rc = INFER_OK;

	if (r->ref.is_commit)
		memcpy(commit, r->ref.rev, sizeof commit);
	else if (r->ref.has_rev)
		TRY(hub_ref_read(commit, &r->c, r->ref.rev, err));
	if (r->ref.has_rev && !*commit)
		return INFER_OK;
	TRY(hub_names(&all, &r->mem, r->c.repo, "snapshots/", err));
	if (map_init(&used, MEM_HUB, 64))
		return err_set(err, INFER_ENOMEM, "out of memory for a list of files");
	for (size_t i = 0; !rc && i < all.n; i++)
		if (hub_is_hex(all.at[i], HUB_COMMIT - 1) &&
		    (!*commit || !strcmp(all.at[i], commit)))
			rc = remove_from(r, all.at[i], err);
	for (size_t i = 0; !rc && i < all.n; i++)
		if (hub_is_hex(all.at[i], HUB_COMMIT - 1))
			rc = mark_used(r, all.at[i], &used, err);
	if (!rc)
		rc = remove_unused_blobs(r, &used, o, err);
	map_fini(&used);
	return rc;
}

/* True if the repository has a snapshot. */
static int has_snapshot(struct removal *r)
{
	struct hub_dirs d;

	return !hub_names(&d, &r->mem, r->c.repo, "snapshots/", NULL) && d.n > 0;
}

static int remove_all(struct removal *r, const struct infer_hub_opts *o, infer_error *err)
{
	char similar[120];
	int rc = INFER_OK;

	if (r->c.repo >= 0)
		TRY(check_locks(r, o, err));
	if (r->c.repo >= 0 && (r->ref.what || r->ref.has_rev)) {
		rc = remove_some(r, o, err);
		if (rc || !r->n || has_snapshot(r))
			return rc || r->n ? rc
			                  : err_set(err, INFER_EIO, "%s%s%.60s is not in the cache",
			                            r->ref.base, r->ref.what ? ":" : "",
			                            r->ref.what ? r->ref.what : "");
	}
	if (r->c.repo >= 0)
		return remove_tree(r, r->c.root, r->c.folder, 0, err);
	hub_similar(similar, sizeof similar, r->ref.repo, o);
	return err_set(err, INFER_EIO, "%s is not in the cache%s", r->ref.base, similar);
}

int infer_hub_remove(uint64_t *freed, const char *ref, const struct infer_hub_opts *o,
                     infer_error *err)
{
	struct removal r = { 0 };
	int rc;

	*freed = 0;
	TRY(hub_ref_parse_bare(&r.ref, ref, err));
	arena_init(&r.mem, MEM_HUB);
	if (map_init(&r.gone, MEM_HUB, 64)) {
		arena_fini(&r.mem);
		return err_set(err, INFER_ENOMEM, "out of memory for a list of files");
	}
	rc = hub_cache_open(&r.c, o, r.ref.folder, 0, err);
	if (!rc)
		rc = remove_all(&r, o, err);
	*freed = r.freed;
	hub_cache_close(&r.c);
	map_fini(&r.gone);
	arena_fini(&r.mem);
	return rc;
}
