/* base/replace.c - replace files safely. */
#include "base/replace.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS = 40, TRIES = 100, PERMISSIONS = 0777, OWNER_RW = 0600, LABEL = 96 };

/* Fail with errnum, naming the end of path. */
static int set_path_error(infer_error *err, int errnum, const char *path)
{
	size_t n = strlen(path);

	return err_errno(err, errnum, "%s", n > LABEL ? path + n - LABEL : path);
}

/* Replace path by the target of the link at path.  Sets *over to 1 if path is not a link. */
static int follow_link(char path[PATH_MAX], int *over)
{
	char to[PATH_MAX];
	char *slash = strrchr(path, '/');
	size_t keep = slash ? (size_t)(slash + 1 - path) : 0;
	ssize_t n = readlink(path, to, sizeof to);

	*over = n < 0;
	if (n < 0)
		return 0;
	if (n && *to == '/')
		keep = 0;
	if (keep + (size_t)n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path + keep, to, (size_t)n);
	path[keep + (size_t)n] = 0;
	return 0;
}

int replace_target(char out[PATH_MAX], const char *path, infer_error *err)
{
	size_t n = strlen(path);
	int over = 0;

	if (n >= PATH_MAX)
		return set_path_error(err, ENAMETOOLONG, path);
	memcpy(out, path, n + 1);
	for (int i = 0; i < LINKS && !over; i++)
		if (follow_link(out, &over))
			return set_path_error(err, errno, path);
	return over ? INFER_OK : set_path_error(err, ELOOP, path);
}

unsigned replace_mode(const char *path, unsigned mode)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) ? (st.st_mode & PERMISSIONS) | OWNER_RW
	                                               : mode;
}

int replace_create(int *fd, const char *name, unsigned mode, infer_error *err)
{
	*fd = -1;
	for (int i = 0; *fd < 0 && i < TRIES; i++) {
		if (unlink(name) && errno != ENOENT)
			break;
		*fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
		if (*fd < 0 && errno != EEXIST)
			break;
	}
	return *fd < 0 ? set_path_error(err, errno, name) : INFER_OK;
}

void replace_keep(int fd, const char *path)
{
	struct stat old, now;
	mode_t mode;

	if (stat(path, &old) || !S_ISREG(old.st_mode) || fstat(fd, &now))
		return;
	mode = old.st_mode & PERMISSIONS;
	if ((old.st_uid != now.st_uid || old.st_gid != now.st_gid) &&
	    fchown(fd, old.st_uid, old.st_gid) && old.st_gid != now.st_gid &&
	    fchown(fd, (uid_t)-1, old.st_gid))
		mode = (mode & ~(mode_t)070) | (mode & ((mode & 07) << 3));
	(void)!fchmod(fd, mode);
}
