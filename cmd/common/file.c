/* common/file.c - read files into memory, and replace files atomically. */
#include "common/file.h"
#include "base/err.h"
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16, TRIES = 100 };

/* Read fd to its end and append at most `most` bytes. path: for messages. */
static int read_descriptor(struct buf *out, int fd, const char *path, size_t most, infer_error *err)
{
	size_t from = out->len;

	for (;;) {
		if (buf_reserve(out, PIECE))
			return err_set(err, INFER_ENOMEM, "%s: out of memory for the file", path);
		ssize_t n = read(fd, out->at + out->len, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, errno, "%s", path);
		if (!n)
			break;
		out->len += (size_t)n;
		if (out->len - from > most)
			return err_set(err, INFER_EFORMAT, "%s: longer than %zu bytes", path, most);
	}
	out->at[out->len] = 0;
	return INFER_OK;
}

int file_read(struct buf *out, const char *path, size_t most, infer_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	int rc = read_descriptor(out, fd, path, most, err);

	close(fd);
	return rc;
}

int file_read_any(struct buf *out, const char *path, size_t most, infer_error *err)
{
	return strcmp(path, "-") ? file_read(out, path, most, err)
	                         : read_descriptor(out, STDIN_FILENO, "standard input", most, err);
}

int file_put(int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t w = write(fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Sync the directory of path, which makes a rename durable. Some file systems cannot sync directories;
 * that is ignored. Overwrites path. */
static void sync_dir(char *path)
{
	char *slash = strrchr(path, '/');
	int fd;

	if (slash)
		slash[slash == path] = 0;
	fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

int file_beside(struct buf *tmp, const char *path, unsigned mode, infer_error *err)
{
	int fd = -1;

	mode = replace_mode(path, mode);
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		buf_clear(tmp);
		buf_printf(tmp, "%s.%d.%d.tmp", path, (int)getpid(), i);
		if (tmp->bad) {
			err_set(err, INFER_ENOMEM, "out of memory for a path");
			return -1;
		}
		fd = open(tmp->at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		err_errno(err, errno, "%s", path);
	else
		replace_keep(fd, path);
	return fd;
}

int file_write(const char *path, const void *bytes, size_t n, unsigned mode, infer_error *err)
{
	char target[PATH_MAX];
	infer_error why = { 0 };
	struct stat st;
	struct buf tmp;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	TRY(replace_target(target, path, err));
	buf_init(&tmp, MEM_BASE);
	int fd = file_beside(&tmp, target, mode, &why);

	if (fd >= 0) {
		if (file_put(fd, bytes, n) || fsync(fd))
			err_errno(&why, errno, "%s", path);
		if (close(fd) && !why.code)
			err_errno(&why, errno, "%s", path);
		if (!why.code && rename(tmp.at, target))
			err_errno(&why, errno, "%s", path);
		if (why.code)
			unlink(tmp.at);
		else
			sync_dir(tmp.at);
	}
	buf_fini(&tmp);
	return why.code ? err_set(err, why.code, "%s", why.message) : INFER_OK;
}
