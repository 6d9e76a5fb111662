/* common/env.c - the environment, the only place that reads it. */
#include "common/env.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *variable, *option;
} variables[] = {
	{ "INFER_MODEL", "model" },
	{ "INFER_THREADS", "threads" },
	{ "INFER_ISA", "isa" },
	{ "INFER_SERVER", "server" },
};

int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i].variable);

		if (!value || !*value)
			continue;
		for (const struct opt *o = rows; o->kind != OPT_END; o++)
			if (o->kind != OPT_GROUP && o->name &&
			    !strcmp(o->name, variables[i].option))
				TRY(opt_value(o, into, value, variables[i].variable, mem, err));
	}
	return INFER_OK;
}

const char *env_name(const char *value)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		if (value && value == getenv(variables[i].variable))
			return variables[i].variable;
	return NULL;
}

/* A number from 1 to 2^30; 0: it is none. */
static long number(const char *value)
{
	char *end;
	long n = value && *value >= '0' && *value <= '9' ? strtol(value, &end, 10) : 0;

	return n > 0 && n <= 1 << 30 && !*end ? n : 0;
}

int env_listen_fds(void)
{
	return number(getenv("LISTEN_PID")) == (long)getpid() ? (int)number(getenv("LISTEN_FDS"))
	                                                      : 0;
}

static int is_set(const char *value) { return value && *value; }

unsigned env_terminal(int fd)
{
	const char *term = getenv("TERM");

	if (!isatty(fd) || !is_set(term) || !strcmp(term, "dumb"))
		return 0;
	return is_set(getenv("NO_COLOR")) ? ENV_ESCAPES : ENV_ESCAPES | ENV_COLOURS;
}

/* Create the missing directories of an absolute path, for their owner alone. */
static int make_dirs(char *path, infer_error *err)
{
	for (char *p = path + 1;; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = 0;
		int failed = mkdir(path, 0700) && errno != EEXIST;

		if (failed)
			err_errno(err, errno, "%s", path);
		*p = was;
		if (failed)
			return INFER_EIO;
		if (!was)
			return INFER_OK;
	}
}

/* inferutils/ below the directory that a variable names, or below ~/home. */
static int user_dir(struct buf *path, const char *variable, const char *below, const char *what,
                    infer_error *err)
{
	const char *given = getenv(variable), *home = getenv("HOME");

	buf_clear(path);
	/* the XDG specification says to ignore a relative path */
	if (given && *given == '/')
		buf_printf(path, "%s/inferutils", given);
	else if (home && *home == '/')
		buf_printf(path, "%s/%s/inferutils", home, below);
	else
		return err_set(err, INFER_EIO, "no directory for %s: neither %s nor HOME names one",
		               what, variable);
	if (path->bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	return make_dirs(path->at, err);
}

int env_state_dir(struct buf *path, infer_error *err)
{
	return user_dir(path, "XDG_STATE_HOME", ".local/state", "state", err);
}

int env_cache_dir(struct buf *path, infer_error *err)
{
	return user_dir(path, "XDG_CACHE_HOME", ".cache", "caches", err);
}
