/* hub/store.c - read files of other programs. */
#include "hub/store.h"
#include "base/err.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Find the longest prefix of path that can be examined: its status in *st, its name in at[0 ..
 * room).  Returns 0 if there is none. */
static int find_closed(struct stat *st, char *at, size_t room, const char *path)
{
	size_t n = strlen(path);

	if (n >= room)
		return 0;
	memcpy(at, path, n + 1);
	for (;;) {
		if (!stat(at, st))
			return 1;
		char *slash = strrchr(at, '/');
		if (!slash || slash == at)
			return 0;
		*slash = 0;
	}
}

int hub_store_denied(const char *path, infer_error *err)
{
	struct group group, *found = NULL;
	char at[1024], names[1024];
	struct stat st;

	if (!find_closed(&st, at, sizeof at, path))
		return err_errno(err, EACCES, "%s", file_label(path));
	mode_t needed = S_ISDIR(st.st_mode) ? S_IXGRP : S_IRGRP;

	if ((st.st_mode & needed) && !getgrgid_r(st.st_gid, &group, names, sizeof names, &found) &&
	    found)
		return err_set(err, INFER_EIO,
		               "%s: Permission denied; group %.32s may read it: sudo usermod -aG "
		               "%.32s YOUR-NAME, then log in again",
		               file_label(at), group.gr_name, group.gr_name);
	return err_set(err, INFER_EIO,
	               "%s: Permission denied; only its owner may read it: sudo, or sudo chmod "
	               "g+rX and your group",
	               file_label(at));
}

static int read_open(struct buf *out, int fd, const char *path, size_t most, infer_error *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", file_label(path));
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EFORMAT, "%s: is not a regular file", file_label(path));
	for (size_t got = 0;; got += (size_t)n) {
		char part[16384];

		n = read(fd, part, sizeof part);
		if (n < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (n < 0)
			return err_errno(err, errno, "%s", file_label(path));
		if (!n)
			break;
		if ((size_t)n > most - got)
			return err_set(err, INFER_EFORMAT, "%s: has more than %zu bytes",
			               file_label(path), most);
		buf_put(out, part, (size_t)n);
	}
	return out->bad ? err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(path))
	                : INFER_OK;
}

int hub_store_read(struct buf *out, const char *path, size_t most, int *missing, infer_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
	if (*missing)
		return INFER_OK;
	if (fd < 0)
		return errno == EACCES ? hub_store_denied(path, err)
		                       : err_errno(err, errno, "%s", file_label(path));
	int rc = read_open(out, fd, path, most, err);

	close(fd);
	return rc;
}
