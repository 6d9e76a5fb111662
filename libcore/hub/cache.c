/* hub/cache.c - the cache of huggingface_hub: folders, refs, snapshots. */
#include "hub/cache.h"
#include "base/err.h"
#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits: LISTED: files of a snapshot; DEPTH: nested folders. */
enum { LISTED = 100000, DEPTH = 32, DIRS = O_DIRECTORY | O_CLOEXEC | O_RDONLY };

int hub_root_fail(const struct hub_cache *c, const char *what, int errnum, infer_error *err)
{
	if (errnum == ELOOP || errnum == ENOTDIR)
		return err_set(err, INFER_EIO,
		               "%.60s/%.130s: a part of it is a link or no directory", c->at, what);
	return err_errno(err, errnum, "%.60s/%.130s", c->at, what);
}

int hub_cache_fail(const struct hub_cache *c, const char *what, int errnum, infer_error *err)
{
	char path[HUB_FOLDER + HUB_PATH_MOST + HUB_COMMIT + 32];

	snprintf(path, sizeof path, "%s/%s", c->folder, what);
	return hub_root_fail(c, path, errnum, err);
}

/* Create the directories of a path.  Returns 0 or -1 and errno. */
static int make_dirs(const char *path)
{
	char p[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof p) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(p, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (p[i] && p[i] != '/')
			continue;
		p[i] = 0;
		if (mkdir(p, 0777) && errno != EEXIST)
			return -1;
		p[i] = i < n ? '/' : 0;
	}
	return 0;
}

/* Tag the cache for backup programs, as huggingface_hub does.  A failure is ignored. */
static void write_tag(int root)
{
	static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
				   "# This file is a cache directory tag.\n"
				   "# For information about cache directory tags, see:\n"
				   "#\thttps://bford.info/cachedir/\n";
	int fd = openat(root, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	                0666);

	if (fd < 0)
		return;
	if (write(fd, text, sizeof text - 1) < 0) {
		/* ignore a full disk: the download fails later, with a message */
	}
	close(fd);
}

int hub_cache_open(struct hub_cache *c, const struct infer_hub_opts *o, const char *folder,
                   int make, infer_error *err)
{
	*c = (struct hub_cache){ .root = -1, .repo = -1 };
	snprintf(c->folder, sizeof c->folder, "%s", folder);
	if (!o->cache)
		return err_set(
			err, INFER_EIO,
			"no cache for models: neither HF_HUB_CACHE nor HF_HOME nor HOME names a "
			"directory");
	if (make && make_dirs(o->cache))
		return err_errno(err, errno, "%.160s", o->cache);
	c->root = open(o->cache, DIRS);
	if (c->root < 0)
		return errno == ENOENT && !make ? INFER_OK
		                                : err_errno(err, errno, "%.160s", o->cache);
	if (!realpath(o->cache, c->at))
		return err_errno(err, errno, "%.160s", o->cache);
	if (!*folder)
		return INFER_OK;
	if (make && mkdirat(c->root, folder, 0777) && errno != EEXIST)
		return hub_root_fail(c, folder, errno, err);
	if (make)
		write_tag(c->root);
	c->repo = openat(c->root, folder, DIRS | O_NOFOLLOW);
	return c->repo >= 0 || (errno == ENOENT && !make) ? INFER_OK
	                                                  : hub_root_fail(c, folder, errno, err);
}

void hub_cache_close(struct hub_cache *c)
{
	if (c->repo >= 0)
		close(c->repo);
	if (c->root >= 0)
		close(c->root);
	c->root = c->repo = -1;
}

int hub_open_parent(int dir, const char *path, int make, const char **name)
{
	char part[256];
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);

	for (*name = path; at >= 0;) {
		const char *slash = strchr(*name, '/');
		size_t n = slash ? (size_t)(slash - *name) : 0;

		if (!slash)
			return at;
		if (n >= sizeof part) {
			close(at);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, *name, n);
		part[n] = 0;
		int next = make && mkdirat(at, part, 0777) && errno != EEXIST
		                   ? -1
		                   : openat(at, part, DIRS | O_NOFOLLOW),
		    why = errno;

		close(at);
		errno = why;
		at = next;
		*name = slash + 1;
	}
	return -1;
}

/* ---- refs ---- */

int hub_ref_read(char commit[HUB_COMMIT], const struct hub_cache *c, const char *rev,
                 infer_error *err)
{
	char path[HUB_REV + 8], text[HUB_COMMIT + 8];
	const char *name;
	ssize_t n;

	*commit = 0;
	if (c->repo < 0)
		return INFER_OK;
	snprintf(path, sizeof path, "refs/%s", rev);
	int dir = hub_open_parent(c->repo, path, 0, &name);
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int why = errno;

	if (dir >= 0)
		close(dir);
	if (fd < 0)
		return why == ENOENT || why == ENOTDIR ? INFER_OK
		                                       : hub_cache_fail(c, path, why, err);
	n = read(fd, text, sizeof text - 1);
	why = errno;
	close(fd);
	if (n < 0)
		return why == EISDIR ? INFER_OK : hub_cache_fail(c, path, why, err);
	text[n] = 0;
	text[strcspn(text, " \r\n")] = 0;
	if (!hub_is_hex(text, HUB_COMMIT - 1))
		return err_set(err, INFER_EFORMAT, "%.80s/%s/%.60s: must be a commit of 40 digits",
		               c->at, c->folder, path);
	memcpy(commit, text, HUB_COMMIT);
	return INFER_OK;
}

/* Write a ref.  The temporary file is not in refs/, where every file counts as a ref. */
int hub_ref_write(const struct hub_cache *c, const char *rev, const char *commit, infer_error *err)
{
	char path[HUB_REV + 8], was[HUB_COMMIT], tmp[48];
	const char *name;
	int rc = INFER_OK;

	if (!hub_ref_read(was, c, rev, NULL) && !strcmp(was, commit))
		return INFER_OK;
	snprintf(path, sizeof path, "refs/%s", rev);
	snprintf(tmp, sizeof tmp, "ref.%ld" HUB_PARTIAL, (long)getpid());
	int dir = hub_open_parent(c->repo, path, 1, &name);

	if (dir < 0)
		return hub_cache_fail(c, path, errno, err);
	unlinkat(c->repo, tmp, 0);
	int fd = openat(c->repo, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0 || write(fd, commit, HUB_COMMIT - 1) != HUB_COMMIT - 1 || close(fd) ||
	    renameat(c->repo, tmp, dir, name)) {
		rc = hub_cache_fail(c, path, errno, err);
		unlinkat(c->repo, tmp, 0);
	}
	close(dir);
	return rc;
}

/* ---- snapshots ---- */

/* Fail unless the file that dir/name resolves to is inside the cache. */
static int check_inside(const struct hub_cache *c, int dir, const char *name, const char *what,
                        infer_error *err)
{
	char self[48], real[PATH_MAX];
	size_t n = strlen(c->at);
	int fd = openat(dir, name, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return hub_cache_fail(c, what, errno, err);
	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	ssize_t k = readlink(self, real, sizeof real - 1);

	close(fd);
	if (k < 0)
		return hub_cache_fail(c, what, errno, err);
	real[k] = 0;
	if (strncmp(real, c->at, n) != 0 || real[n] != '/')
		return err_set(err, INFER_EFORMAT, "%.60s/%.60s/%.90s: is a link out of the cache",
		               c->at, c->folder, what);
	return INFER_OK;
}

int hub_snapshot_has(int *has, uint64_t *bytes, const struct hub_cache *c, const char *commit,
                     const char *path, infer_error *err)
{
	char full[HUB_PATH_MOST + HUB_COMMIT + 16];
	const char *name;
	struct stat st;
	int rc = INFER_OK;

	*has = 0;
	*bytes = 0;
	if (c->repo < 0)
		return INFER_OK;
	snprintf(full, sizeof full, "snapshots/%s/%s", commit, path);
	int dir = hub_open_parent(c->repo, full, 0, &name);

	if (dir < 0)
		return errno == ENOENT ? INFER_OK : hub_cache_fail(c, full, errno, err);
	if (!fstatat(dir, name, &st, 0)) {
		if (!S_ISREG(st.st_mode))
			rc = err_set(err, INFER_EFORMAT, "%.80s/%s/%.100s: must be a file", c->at,
			             c->folder, full);
		else
			rc = check_inside(c, dir, name, full, err);
		*has = !rc;
		*bytes = (uint64_t)st.st_size;
	}
	close(dir);
	return rc;
}

int hub_snapshot_link(const struct hub_cache *c, const char *commit, const char *path,
                      const char *etag, infer_error *err)
{
	char full[HUB_PATH_MOST + HUB_COMMIT + 16], to[3 * HUB_PATH_MOST / 2 + 128];
	const char *name;
	struct stat st;
	size_t n = 0;
	int rc = INFER_OK;

	snprintf(full, sizeof full, "snapshots/%s/%s", commit, path);
	for (const char *s = strchr(full, '/'); s; s = strchr(s + 1, '/'))
		n += (size_t)snprintf(to + n, sizeof to - n, "../");
	snprintf(to + n, sizeof to - n, "blobs/%s", etag);
	int dir = hub_open_parent(c->repo, full, 1, &name);

	if (dir < 0)
		return hub_cache_fail(c, full, errno, err);
	int failed = symlinkat(to, dir, name);

	/* replace a dangling link, or a link to another blob */
	if (failed && errno == EEXIST && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISLNK(st.st_mode) && !unlinkat(dir, name, 0))
		failed = symlinkat(to, dir, name);
	if (failed)
		rc = hub_cache_fail(c, full, errno, err);
	close(dir);
	return rc;
}

int hub_snapshot_make(const struct hub_cache *c, const char *commit, infer_error *err)
{
	char path[HUB_COMMIT + 16];
	const char *name;
	int dir;

	snprintf(path, sizeof path, "snapshots/%s/", commit);
	dir = hub_open_parent(c->repo, path, 1, &name);
	if (dir < 0)
		return hub_cache_fail(c, path, errno, err);
	close(dir);
	return INFER_OK;
}

int hub_snapshot_path(char **out, const struct hub_cache *c, const char *commit, const char *path,
                      infer_error *err)
{
	struct buf b;

	buf_init(&b, MEM_HUB);
	buf_printf(&b, "%s/%s/snapshots/%s%s%s", c->at, c->folder, commit, path ? "/" : "",
	           path ? path : "");
	*out = buf_take(&b, NULL);
	buf_fini(&b);
	return *out ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for a path");
}

struct listing {
	struct arena *mem;
	struct hub_entry *at;
	size_t n, cap;
	char path[HUB_PATH_MOST + 1];
};

static int add_entry(struct listing *l, uint64_t bytes, infer_error *err)
{
	if (l->n == LISTED)
		return err_set(err, INFER_EUNSUP, "a snapshot of more than %d files", LISTED);
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct hub_entry *more = arena_alloc(l->mem, cap, sizeof *more);

		if (!more)
			return err_set(err, INFER_ENOMEM, "out of memory for a list of files");
		if (l->n)
			memcpy(more, l->at, l->n * sizeof *more);
		l->at = more;
		l->cap = cap;
	}
	l->at[l->n].path = arena_strndup(l->mem, l->path, strlen(l->path));
	l->at[l->n].bytes = bytes;
	return l->at[l->n++].path ? INFER_OK
	                          : err_set(err, INFER_ENOMEM, "out of memory for a list of files");
}

/* List the files below fd, and close fd.  Recursion is limited by DEPTH. */
static int list_dir(struct listing *l, int fd, size_t n, int depth, infer_error *err)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	int rc = INFER_OK;

	if (!d) {
		close(fd);
		return err_set(err, INFER_ENOMEM, "out of memory for a directory");
	}
	while (!rc && (e = readdir(d))) {
		size_t k = strlen(e->d_name);
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    n + k + 1 > HUB_PATH_MOST || !hub_path_ok(e->d_name, k))
			continue;
		memcpy(l->path + n, e->d_name, k + 1);
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode)) {
			int sub =
				depth < DEPTH ? openat(dirfd(d), e->d_name, DIRS | O_NOFOLLOW) : -1;

			l->path[n + k] = '/';
			if (sub >= 0)
				rc = list_dir(l, sub, n + k + 1, depth + 1, err);
		} else if (!fstatat(dirfd(d), e->d_name, &st, 0) && S_ISREG(st.st_mode)) {
			rc = add_entry(l, (uint64_t)st.st_size, err);
		}
	}
	closedir(d);
	return rc;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct hub_entry *)a)->path, ((const struct hub_entry *)b)->path);
}

int hub_snapshot_list(struct hub_entry **list, size_t *n, struct arena *mem,
                      const struct hub_cache *c, const char *commit, infer_error *err)
{
	struct listing l = { .mem = mem };
	char path[HUB_COMMIT + 16];
	const char *name;
	int dir;

	*list = NULL;
	*n = 0;
	if (c->repo < 0)
		return INFER_OK;
	snprintf(path, sizeof path, "snapshots/%s/", commit);
	dir = hub_open_parent(c->repo, path, 0, &name);
	if (dir < 0)
		return errno == ENOENT ? INFER_OK : hub_cache_fail(c, path, errno, err);
	TRY(list_dir(&l, dir, 0, 0, err));
	if (l.n)
		qsort(l.at, l.n, sizeof *l.at, by_path);
	*list = l.at;
	*n = l.n;
	return INFER_OK;
}

void hub_no_exist_write(const struct hub_cache *c, const char *commit, const char *path)
{
	char full[HUB_PATH_MOST + HUB_COMMIT + 16];
	const char *name;
	int dir;

	if (c->repo < 0 || !hub_path_ok(path, strlen(path)))
		return;
	snprintf(full, sizeof full, "snapshots/%s", commit);
	if (faccessat(c->repo, full, F_OK, 0))
		return;
	snprintf(full, sizeof full, ".no_exist/%s/%s", commit, path);
	dir = hub_open_parent(c->repo, full, 1, &name);
	if (dir < 0)
		return;
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd >= 0)
		close(fd);
	close(dir);
}
