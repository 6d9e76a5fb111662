/* common/append.c - write records to standard output, to a file, or to both. */
#include "common/append.h"
#include "common/records.h"
#include "base/err.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A power cut may lose the first sector of a file. That is assumed of files up to MAX_LOST_BYTES only. */
enum { SECTOR = 512, MAX_LOST_BYTES = 1 << 16 };

/* Read the byte at offset `at` into *c. Returns -1 on failure. */
static int byte_at(int fd, off_t at, char *c)
{
	ssize_t n;

	do
		n = pread(fd, c, 1, at);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

/* Set *from to the start of the last line of the first `end` bytes. *damaged: 1 if the line has no
 * newline, or has NUL bytes (left by a power cut). Returns -1 on failure. */
static int last_line(int fd, off_t end, off_t *from, int *damaged)
{
	char c = '\n';

	if (byte_at(fd, end - 1, &c))
		return -1;
	*damaged = c != '\n';
	for (*from = end - 1; *from > 0; --*from) {
		if (byte_at(fd, *from - 1, &c))
			return -1;
		if (c == '\n')
			return 0;
		*damaged |= !c;
	}
	return 0;
}

/* True if the file begins like a record, or like one whose first sector was lost. */
static int is_ours(int fd, off_t size)
{
	char first[SECTOR];
	ssize_t n = pread(fd, first, sizeof first, 0);

	for (ssize_t i = 0; i < n; i++)
		if (first[i])
			return !i && first[i] == '{';
	return n > 0 && size <= MAX_LOST_BYTES;
}

/* Remove damaged lines from the end of a file of records. A file of other text is never shortened.
 * INFER_EFORMAT INFER_EIO */
static int cut_torn(int fd, const char *path, infer_error *err)
{
	struct stat st;
	off_t end, from;
	int damaged = 1;

	if (fstat(fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return INFER_OK;
	if (!st.st_size)
		return os_dir_sync(path, err);
	for (end = st.st_size; end > 0; end = from) {
		if (last_line(fd, end, &from, &damaged))
			return err_errno(err, errno, "%s", path);
		if (!damaged)
			break;
	}
	if (end < st.st_size && !is_ours(fd, st.st_size))
		return err_set(err, INFER_EFORMAT, "%s: line 1 is not a record", path);
	return end < st.st_size && ftruncate(fd, end) ? err_errno(err, errno, "%s", path)
	                                              : INFER_OK;
}

int append_open(struct append *a, int print, const char *path, infer_error *err)
{
	*a = (struct append){ .fd = -1 };
	if (print)
		TRY(infer_records_new(&a->out, err));
	if (!path)
		return INFER_OK;
	a->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (a->fd < 0)
		return err_errno(err, errno, "%s", path);
	TRY(cut_torn(a->fd, path, err));
	return infer_records_new(&a->file, err);
}

int append_send(struct append *a, infer_error *err)
{
	if (a->file) {
		TRY(records_send(a->file, a->fd, NULL, err));
		TRY(records_sync(a->fd, err));
	}
	return a->out ? records_send(a->out, STDOUT_FILENO, NULL, err) : INFER_OK;
}

int append_close(struct append *a, infer_error *err)
{
	int rc = a->file ? records_sync(a->fd, err) : INFER_OK;

	infer_records_free(a->out);
	infer_records_free(a->file);
	if (a->fd >= 0 && close(a->fd))
		rc = err_errno(err, errno, "the records");
	return rc;
}
