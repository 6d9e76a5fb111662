/* infer-bench/child.c - run a command and measure its resources. */
#include "child.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PIECE = 1 << 16, SHOWN = 160 };

static int read_back(int fd, struct buf *out)
{
	char piece[PIECE];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET))
		return -1;
	while ((n = read(fd, piece, sizeof piece)) > 0)
		buf_put(out, piece, (size_t)n);
	return n || out->bad ? -1 : 0;
}

static int start_process(pid_t *pid, char *const *argv, int in, int out, int said)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t usual;
	int rc;

	posix_spawn_file_actions_init(&files);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&files, in, 0);
	else
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, said, 2);
	posix_spawnattr_init(&attr);
	sigemptyset(&usual);
	posix_spawnattr_setsigmask(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return rc;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

/* Set the error of a command that failed, with the start of its standard error. */
static int set_failure(const struct child *c, char *const *argv, int said, infer_error *err)
{
	struct buf text;
	size_t n;

	buf_init(&text, MEM_BASE);
	if (read_back(said, &text))
		buf_clear(&text);
	n = text.len ? strcspn(text.at, "\n") : 0;
	if (WIFSIGNALED(c->status))
		err_set(err, INFER_EIO, "%.80s: ended by signal %d", argv[0], WTERMSIG(c->status));
	else
		err_set(err, INFER_EIO, "%.80s: exit code %d%s%.*s", argv[0],
		        WEXITSTATUS(c->status), n ? ": " : "", (int)(n < SHOWN ? n : SHOWN),
		        n ? text.at : "");
	buf_fini(&text);
	return INFER_EIO;
}

int child_run(struct child *c, char *const *argv, int in, struct buf *out, infer_error *err)
{
	int to = memfd_create("out", MFD_CLOEXEC), said = memfd_create("said", MFD_CLOEXEC), rc = 0;
	int64_t from = clock_now_ns();
	struct rusage used;
	pid_t pid, got;

	if (to < 0 || said < 0)
		rc = err_errno(err, errno, "a file in memory");
	if (!rc && (rc = start_process(&pid, argv, in, to, said)))
		rc = err_set(err, INFER_EIO, "%.80s: %s", argv[0], strerror(rc));
	if (!rc) {
		do
			got = wait4(pid, &c->status, 0, &used);
		while (got < 0 && errno == EINTR);
		c->wall_s = (double)(clock_now_ns() - from) * 1e-9;
		c->cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
		c->peak_bytes = (double)used.ru_maxrss * 1024;
		if (got < 0)
			rc = err_errno(err, errno, "%.80s", argv[0]);
		else if (c->status)
			rc = set_failure(c, argv, said, err);
		else if (read_back(to, out))
			rc = err_set(err, INFER_ENOMEM, "out of memory for the output of %.80s",
			             argv[0]);
	}
	if (to >= 0)
		close(to);
	if (said >= 0)
		close(said);
	return rc;
}
