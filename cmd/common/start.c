/* common/start.c - the start of every program: signals, environment, options, --help, --version. */
#include "common/start.h"
#include "common/env.h"
#include "common/say.h"
#include "common/sig.h"
#include <infer/hw.h>
#include <infer/model.h>
#include "base/err.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Open /dev/null read-only for each standard descriptor that is closed. Otherwise the next file that is
 * opened would get its number, and a model could be read as the prompt. */
static void fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
			_exit(EXIT_FAILED);
}

static int print(struct buf *b)
{
	infer_error err = { 0 };
	int rc = b->bad ? err_set(&err, INFER_ENOMEM, "out of memory")
	                : say_out(b->at, b->len, &err);

	buf_fini(b);
	return say_end(rc ? say_fail(&err) : EXIT_DONE);
}

static int help(const struct program *p, const struct opt *rows, const char *section)
{
	infer_error err = { 0 };
	struct buf b;

	buf_init(&b, MEM_BASE);
	if (!section) {
		help_brief(&b, p, rows);
	} else if (help_put(&b, p, rows, section, &err)) {
		buf_fini(&b);
		return say_fail(&err);
	}
	return print(&b);
}

static int version(const struct program *p)
{
	struct infer_kernel_set s;
	struct buf b;

	buf_init(&b, MEM_BASE);
	buf_printf(&b, "%s %s\nkernels:", p->name, infer_version());
	for (int i = 0; infer_kernel_set(i, &s); i++)
		if (s.usable)
			buf_printf(&b, " %s", s.name);
	buf_puts(&b, "\nfamilies:");
	for (int i = 0; infer_model_family(i); i++)
		buf_printf(&b, " %s", infer_model_family(i));
	buf_printf(&b, "\nlibraries: pcre2 %d.%d, zstd %s\n", PCRE2_MAJOR, PCRE2_MINOR,
	           ZSTD_VERSION_STRING);
	return print(&b);
}

int start(const struct program *p, void *into, const struct start *s, int argc, char **argv,
          struct opt_rest *rest)
{
	infer_error env_err = { 0 }, err = { 0 };
	struct opt rows[OPT_ROWS_MAX];

	opt_rows(rows, p->rows);
	fill_descriptors();
	sig_init(p->name);
	say_init(p->name, 0);
	opt_rest_init(rest);
	/* options take precedence over the environment, --help over errors in the environment */
	env_read(rows, into, &rest->mem, &env_err);
	opt_parse(rows, into, argc, argv, rest, &err);
	say_init(p->name, s->quiet ? -1 : s->verbose);
	int code = err.code                  ? say_fail(&err)
	           : s->help                 ? help(p, rows, s->help)
	           : s->stop == STOP_BRIEF   ? help(p, rows, NULL)
	           : s->stop == STOP_VERSION ? version(p)
	           : env_err.code            ? say_fail(&env_err)
	                                     : -1;

	if (code >= 0)
		opt_rest_fini(rest);
	return code;
}
