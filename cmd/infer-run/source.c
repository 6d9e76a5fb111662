/* infer-run/source.c - the input of a batch. */
#include "source.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int open_file(struct source *s, const char *path, infer_error *err)
{
	struct source_file *f = &s->files[s->n++];

	*f = (struct source_file){ "standard input", STDIN_FILENO };
	if (!strcmp(path, "-"))
		return INFER_OK;
	*f = (struct source_file){ path, open(path, O_RDONLY | O_CLOEXEC) };
	return f->fd < 0 ? err_errno(err, errno, "%s", path) : INFER_OK;
}

/* Open the files of --batch or --lines; standard input if none is given. */
static int open_files(struct source *s, const struct run_opts *o, const struct opt_rest *rest,
                      infer_error *err)
{
	if (o->batch)
		return open_file(s, o->batch, err);
	for (int i = 0; i < rest->n_words; i++)
		TRY(open_file(s, rest->words[i], err));
	for (int i = 0; i < o->files.n; i++)
		TRY(open_file(s, o->files.at[i], err));
	if (s->n)
		return INFER_OK;
	return o->no_stdin
	               ? err_set(err, INFER_EINVAL, "--lines has nothing to read: give it -f FILE")
	               : open_file(s, "-", err);
}

int source_open(struct source *s, const struct run_opts *o, const struct opt_rest *rest,
                infer_error *err)
{
	size_t most = (size_t)rest->n_words + (size_t)o->files.n + 1;
	int rc;

	*s = (struct source){ .text = !o->batch,
		              .files = mem_zalloc(MEM_BASE, most, sizeof *s->files) };
	rc = s->files ? open_files(s, o, rest, err)
	              : err_set(err, INFER_ENOMEM, "out of memory for the names of files");
	lines_init(&s->in, s->n ? s->files->fd : -1, s->n ? s->files->name : "");
	if (o->null) {
		s->in.end = 0;
		s->in.as_is = 1;
	}
	return rc;
}

void source_close(struct source *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->files[i].fd > STDIN_FILENO)
			close(s->files[i].fd);
	mem_free(s->files);
	lines_fini(&s->in);
}

int source_next(struct source *s, int wait_ms, enum lines_got *got, const char **at, size_t *n,
                infer_error *err)
{
	for (;;) {
		TRY(lines_next(&s->in, wait_ms, got, at, n, err));
		if (*got != LINES_END || s->at + 1 == s->n)
			return INFER_OK;
		s->at++;
		lines_continue(&s->in, s->files[s->at].fd, s->files[s->at].name);
	}
}
