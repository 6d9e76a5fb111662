/* infer-serve/ops/store.c - a directory of files that are created atomically. */
#include "infer-serve/ops/store.h"
#include "base/err.h"
#include "base/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 32, MODE = 0600 };
static const char temporary_prefix[] = ".half-", description_suffix[] = ".json";

static int error_code(int e) { return e == ENOSPC || e == EDQUOT ? INFER_EAGAIN : INFER_EIO; }

static int set_errno_error(const struct store *s, const char *name, infer_error *err)
{
	return err_set(err, error_code(errno), "%s/%s: %s", s->path, name, strerror(errno));
}

int store_fault(const char *what, infer_error *err)
{
	return err_set(err, error_code(errno), "%s: %s", what, strerror(errno));
}

/* ---- names ---- */

static void format_name(char name[STORE_NAME], const char *prefix, uint64_t a, uint64_t b)
{
	snprintf(name, STORE_NAME, "%s%016llx%016llx", prefix, (unsigned long long)a,
	         (unsigned long long)b);
}

void store_name(struct store *s, char name[STORE_NAME], const char *prefix)
{
	uint64_t n = s->n++, a, b = 0;

	if (rng_system(&a, NULL) || rng_system(&b, NULL))
		a = rng_hash(s->salt, &n, sizeof n);
	format_name(name, prefix, a, rng_hash(s->salt ^ b, &n, sizeof n));
}

void store_name_of(char name[STORE_NAME], const char *prefix, const char *text)
{
	uint64_t a = rng_hash(0, text, strlen(text));

	format_name(name, prefix, a, rng_hash(a, text, strlen(text)));
}

int store_is_name(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && strlen(name + n) == DIGITS &&
	       strspn(name + n, "0123456789abcdef") == DIGITS;
}

/* ---- the directory ---- */

static int sync_dir(const struct store *s, infer_error *err)
{
	/* EINVAL: the file system cannot sync directories */
	return fsync(s->dir) && errno != EINVAL ? set_errno_error(s, ".", err) : INFER_OK;
}

/* Copy a name without this suffix to stem. Returns 0 if the name has another suffix. */
static int strip_suffix(const char *name, const char *suffix, char stem[STORE_NAME])
{
	size_t n = strlen(name), k = strlen(suffix);

	if (n <= k || n - k >= STORE_NAME || strcmp(name + n - k, suffix))
		return 0;
	snprintf(stem, STORE_NAME, "%.*s", (int)(n - k), name);
	return 1;
}

/* Remove temporary files, and descriptions of files that do not exist. */
static void remove_leftovers(const struct store *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char stem[STORE_NAME];

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, temporary_prefix, sizeof temporary_prefix - 1) ||
		    (strip_suffix(e->d_name, description_suffix, stem) &&
		     store_is_name(stem, "file-") && store_bytes(s, stem) < 0))
			(void)unlinkat(s->dir, e->d_name, 0);
	closedir(d);
}

int store_open(struct store *s, const char *path, infer_error *err)
{
	*s = (struct store){ .dir = -1, .lock = -1, .path = path };
	TRY(rng_system(&s->salt, err));
	if (mkdir(path, 0700) && errno != EEXIST)
		return err_set(err, INFER_EIO, "%s: %s", path, strerror(errno));
	s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return err_set(err, INFER_EIO, "%s: %s", path, strerror(errno));
	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, MODE);
	if (s->lock < 0)
		return err_set(err, INFER_EIO, "%s/lock: %s", path, strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB))
		return err_set(err, INFER_EIO, "%s: another server has its files there", path);
	remove_leftovers(s);
	return INFER_OK;
}

void store_close(struct store *s)
{
	if (s->lock >= 0)
		close(s->lock);
	if (s->dir >= 0)
		close(s->dir);
	s->lock = s->dir = -1;
}

int store_each(const struct store *s, const char *prefix, int (*fn)(void *user, const char *name),
               void *user)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && !rc && (e = readdir(d)))
		if (store_is_name(e->d_name, prefix))
			rc = fn(user, e->d_name);
	if (d)
		closedir(d);
	return rc;
}

/* ---- files ---- */

int store_read(const struct store *s, const char *name)
{
	return openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int store_append(const struct store *s, const char *name, infer_error *err)
{
	int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, MODE);

	if (fd < 0)
		set_errno_error(s, name, err);
	return fd;
}

int64_t store_bytes(const struct store *s, const char *name)
{
	struct stat st;

	return fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)
	               ? -1
	               : (int64_t)st.st_size;
}

int store_write(int fd, const char *at, size_t n, const char *what, infer_error *err)
{
	while (n) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return store_fault(what, err);
		at += k;
		n -= (size_t)k;
	}
	return INFER_OK;
}

int store_begin(struct store *s, char name[STORE_NAME], infer_error *err)
{
	int fd;

	store_name(s, name, temporary_prefix);
	fd = openat(s->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);
	if (fd < 0)
		set_errno_error(s, name, err);
	return fd;
}

int store_keep(const struct store *s, int fd, const char *from, const char *to, infer_error *err)
{
	int rc = fsync(fd) ? set_errno_error(s, to, err) : INFER_OK;

	if (!rc && renameat(s->dir, from, s->dir, to))
		rc = set_errno_error(s, to, err);
	if (rc) {
		store_drop(s, fd, from);
		return rc;
	}
	close(fd);
	return sync_dir(s, err);
}

void store_drop(const struct store *s, int fd, const char *name)
{
	if (fd >= 0)
		close(fd);
	(void)unlinkat(s->dir, name, 0);
}

int store_put(struct store *s, const char *name, const char *at, size_t n, infer_error *err)
{
	char temporary[STORE_NAME];
	int fd = store_begin(s, temporary, err), rc;

	if (fd < 0)
		return err ? err->code : INFER_EIO;
	rc = store_write(fd, at, n, name, err);
	if (rc) {
		store_drop(s, fd, temporary);
		return rc;
	}
	return store_keep(s, fd, temporary, name, err);
}

int store_get(const struct store *s, const char *name, struct buf *to, infer_error *err)
{
	int fd = store_read(s, name);
	char piece[4096];
	ssize_t n;

	if (fd < 0)
		return set_errno_error(s, name, err);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		buf_put(to, piece, (size_t)n);
	close(fd);
	if (n < 0)
		return set_errno_error(s, name, err);
	return to->bad ? err_set(err, INFER_ENOMEM, "out of memory for %s", name) : INFER_OK;
}

int store_rename(const struct store *s, const char *from, const char *to, infer_error *err)
{
	if (renameat(s->dir, from, s->dir, to))
		return set_errno_error(s, to, err);
	return sync_dir(s, err);
}

int store_remove(const struct store *s, const char *name) { return unlinkat(s->dir, name, 0); }
