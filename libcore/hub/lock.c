/* hub/lock.c - locks of blobs, compatible with huggingface_hub. */
#include "hub/cache.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 100000000

static int is_cancelled(const struct infer_hub_opts *o)
{
	return o->cancel && *(const volatile int *)o->cancel;
}

/* Open the lock file and try to lock it.  Returns -1 and errno; EWOULDBLOCK: another process has it. */
static int try_lock(const struct hub_cache *c, const char *path)
{
	const char *name;
	struct stat a, b;
	int dir = hub_open_parent(c->root, path, 1, &name);

	if (dir < 0)
		return -1;
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0664);
	int why = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;

	/* the process that had the lock may have removed its file, and another may lock a new
	 * one */
	if (!why && (fstat(fd, &a) || fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW) ||
	             a.st_ino != b.st_ino || a.st_dev != b.st_dev))
		why = EWOULDBLOCK;
	close(dir);
	if (why && fd >= 0)
		close(fd);
	errno = why;
	return why ? -1 : fd;
}

int hub_lock(int *lock, const struct hub_cache *c, const char *etag, int wait, const char *what,
             const struct infer_hub_opts *o, infer_error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	char path[HUB_FOLDER + 96], line[200];

	snprintf(path, sizeof path, ".locks/%s/%.72s.lock", c->folder, etag);
	for (int said = 0;; said = 1) {
		*lock = try_lock(c, path);
		if (*lock >= 0)
			return INFER_OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return hub_root_fail(c, path, errno, err);
		if (!wait)
			return INFER_OK;
		if (is_cancelled(o))
			return err_set(err, INFER_ECANCEL, "%.120s: cancelled", what);
		if (!said && o->say) {
			snprintf(line, sizeof line,
			         "another process is downloading %.120s: waiting for it", what);
			o->say(o->user, line);
		}
		nanosleep(&pause, NULL);
	}
}
