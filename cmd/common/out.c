/* common/out.c - --out: write standard output to a file that appears when it is complete. */
#include "common/out.h"
#include "common/file.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/os.h"
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	struct buf tmp;
	char path[PATH_MAX]; /* output file, with links resolved */
	int open;
} out;

int out_is_not(const char *option, const char *path, const char *from, infer_error *err)
{
	struct stat a, b;
	int is_stdin = from && !strcmp(from, "-");

	if (!from || stat(path, &a) || (is_stdin ? fstat(STDIN_FILENO, &b) : stat(from, &b)) ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino || !S_ISREG(a.st_mode))
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "%s%s is %s, which is read", option, path,
	               is_stdin ? "standard input" : from);
}

int out_open(const char *path, infer_error *err)
{
	struct stat st;
	int fd;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	TRY(replace_target(out.path, path, err));
	buf_init(&out.tmp, MEM_BASE);
	fd = file_beside(&out.tmp, out.path, 0666, err);
	if (fd < 0) {
		buf_fini(&out.tmp);
		return err->code;
	}
	sig_unfinished(out.tmp.at);
	out.open = 1;
	if (dup2(fd, STDOUT_FILENO) < 0)
		err_errno(err, errno, "%s", path);
	close(fd);
	return err->code;
}

/* True if the output of a program with this exit code is complete. */
static int is_whole(int code)
{
	return code == EXIT_DONE || code == EXIT_LENGTH || code == EXIT_SOME ||
	       code == EXIT_DIFFERS;
}

static int publish(infer_error *err)
{
	int failed = fsync(STDOUT_FILENO);

	if (failed)
		err_errno(err, errno, "%s", out.path);
	if (close(STDOUT_FILENO) && !failed)
		failed = err_errno(err, errno, "%s", out.path);
	if (failed)
		return INFER_EIO;
	if (rename(out.tmp.at, out.path))
		return err_errno(err, errno, "%s", out.path);
	sig_unfinished(NULL);
	return os_dir_sync(out.path, err);
}

int out_end(int code)
{
	infer_error err = { 0 };

	if (!out.open)
		return say_end(code);
	progress_end();
	if (!is_whole(code) || publish(&err))
		unlink(out.tmp.at);
	sig_unfinished(NULL);
	buf_fini(&out.tmp);
	return err.code ? say_fail(&err) : code;
}
