/* common/input.c - composing the prompt from arguments, files and standard input. */
#include "common/input.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

struct input {
	struct buf *out;
	unsigned flags;
	int parts, stdin_read;
};

/* Begin a part; returns its offset. */
static size_t part_begin(struct input *in)
{
	in->parts++;
	if (in->out->len)
		buf_puts(in->out, "\n\n");
	return in->out->len;
}

/* End the part that begins at `from`; if it is empty, remove its blank line. */
static int part_end(struct input *in, size_t from, const char *what, infer_error *err)
{
	struct buf *b = in->out;

	if (b->bad)
		return err_set(err, INFER_ENOMEM, "%s: out of memory for the text", what);
	size_t good = in->flags & INPUT_RAW || b->len == from
	                      ? b->len - from
	                      : utf8_check(b->at + from, b->len - from);

	if (good < b->len - from)
		return err_set(err, INFER_EINVAL,
		               "%s: not UTF-8 at byte %zu; --raw takes any bytes", what, good);
	if (b->len == from && from)
		b->len -= 2;
	return INFER_OK;
}

static int add_fd(struct input *in, int fd, const char *what, infer_error *err)
{
	size_t from = part_begin(in);

	for (;;) {
		if (buf_reserve(in->out, PIECE))
			return err_set(err, INFER_ENOMEM, "%s: out of memory for the text", what);
		ssize_t n = read(fd, in->out->at + in->out->len, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, errno, "%s", what);
		if (!n)
			break;
		in->out->len += (size_t)n;
	}
	if (in->out->len > from && in->out->at[in->out->len - 1] == '\n')
		in->out->len--;
	return part_end(in, from, what, err);
}

static int add_stdin(struct input *in, infer_error *err)
{
	in->stdin_read = 1;
	return add_fd(in, STDIN_FILENO, "standard input", err);
}

static int add_file(struct input *in, const char *path, infer_error *err)
{
	if (!strcmp(path, "-"))
		return add_stdin(in, err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	int rc = add_fd(in, fd, path, err);

	close(fd);
	return rc;
}

static int add_words(struct input *in, const struct opt_rest *words, infer_error *err)
{
	size_t from = part_begin(in);

	for (int i = 0; i < words->n_words; i++) {
		if (i)
			buf_putc(in->out, ' ');
		buf_puts(in->out, words->words[i]);
	}
	return part_end(in, from, "the prompt", err);
}

int input_read(struct buf *out, const struct opt_rest *words, const struct opt_list *files,
               unsigned flags, infer_error *err)
{
	struct input in = { .out = out, .flags = flags };

	if (words->n_words)
		TRY(add_words(&in, words, err));
	for (int i = 0; i < files->n; i++)
		TRY(add_file(&in, files->at[i], err));
	if (!(flags & INPUT_NO_STDIN) && !in.stdin_read && !isatty(STDIN_FILENO))
		TRY(add_stdin(&in, err));
	if (!in.parts && !(flags & INPUT_MAYBE))
		return err_set(err, INFER_EINVAL,
		               "no text: give it as arguments, with -f FILE, or on standard input");
	return INFER_OK;
}
