/* common/input.c - read the prompt from arguments, files and standard input. */
#include "common/input.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

struct input {
	struct buf *out;
	unsigned flags;
	const struct input_bound *bound;
	size_t most; /* limit in bytes; 0: bound->most has not been called yet */
	int parts, stdin_read;
	struct sha256 *sha; /* hash over the files; NULL: not wanted */
};

static int is_stdin(const char *path) { return !strcmp(path, "-"); }

/* Begin a part: append a blank line after earlier text. Returns the offset of the part. */
static size_t part_begin(struct input *in)
{
	in->parts++;
	if (in->out->len)
		buf_puts(in->out, "\n\n");
	return in->out->len;
}

/* End the part that begins at `from`: check it, or remove its blank line if it is empty. */
static int part_end(struct input *in, size_t from, const char *what, infer_error *err)
{
	struct buf *b = in->out;

	if (b->bad)
		return err_set(err, INFER_ENOMEM, "%s: out of memory for the text", what);
	size_t good = in->flags & INPUT_RAW || b->len == from
	                      ? b->len - from
	                      : utf8_check(b->at + from, b->len - from);

	if (good < b->len - from)
		return err_set(err, INFER_EINVAL, "%s: not UTF-8 at byte %zu%s", what, good,
		               in->flags & INPUT_ONLY_TEXT ? "" : "; --raw takes any bytes");
	if (b->len == from && from)
		b->len -= 2;
	return INFER_OK;
}

static size_t file_most(const void *user)
{
	(void)user;
	return INPUT_FILE;
}

const struct input_bound input_file = { .most = file_most };

static int check_bound(struct input *in, const char *what, infer_error *err)
{
	if (!in->bound || in->out->len <= INPUT_FREE)
		return INFER_OK;
	if (!in->most) {
		in->most = in->bound->most(in->bound->user);
		in->most = in->most < INPUT_FREE ? INPUT_FREE : in->most;
	}
	if (in->out->len <= in->most)
		return INFER_OK;
	if (!in->bound->ctx)
		return err_set(err, INFER_ENOMEM, "%s: longer than %zu bytes", what, in->most);
	return err_set(err, INFER_ENOMEM,
	               "%s: the prompt is longer than %zu bytes, more than a context of %d tokens "
	               "can hold; %s",
	               what, in->most, (int)in->bound->ctx, in->bound->more);
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
		if (in->sha)
			sha256_add(in->sha, in->out->at + in->out->len, (size_t)n);
		in->out->len += (size_t)n;
		TRY(check_bound(in, what, err));
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
	if (is_stdin(path))
		return add_stdin(in, err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	int rc = add_fd(in, fd, path, err);

	close(fd);
	return rc;
}

/* Add a part: the words [from, to) joined by spaces. */
static int join_words(struct input *in, char *const *from, char *const *to, infer_error *err)
{
	size_t begin = part_begin(in);

	for (char *const *w = from; w < to; w++) {
		if (w > from)
			buf_putc(in->out, ' ');
		buf_puts(in->out, *w);
	}
	return part_end(in, begin, "the prompt", err);
}

static int add_words(struct input *in, const struct opt_rest *words, infer_error *err)
{
	char *const *at = words->words, *const *end = at + words->n_words, *const * next;

	for (; at < end; at = next) {
		for (next = at; next < end && !is_stdin(*next); next++)
			;
		if (next > at) {
			TRY(join_words(in, at, next, err));
		} else {
			TRY(add_stdin(in, err));
			next++;
		}
	}
	return INFER_OK;
}

int input_names_stdin(const struct opt_rest *words, const struct opt_list *files)
{
	for (int i = 0; i < words->n_words; i++)
		if (is_stdin(words->words[i]))
			return 1;
	for (int i = 0; i < files->n; i++)
		if (is_stdin(files->at[i]))
			return 1;
	return 0;
}

int input_read(struct buf *out, const struct opt_rest *words, const struct opt_list *files,
               unsigned flags, const struct input_bound *bound, infer_error *err)
{
	struct input in = { .out = out, .flags = flags, .bound = bound };

	TRY(add_words(&in, words, err));
	for (int i = 0; i < files->n; i++)
		TRY(add_file(&in, files->at[i], err));
	if (!(flags & INPUT_NO_STDIN) && !in.stdin_read && !isatty(STDIN_FILENO))
		TRY(add_stdin(&in, err));
	if (!in.parts && !(flags & INPUT_MAYBE))
		return err_set(
			err, INFER_EINVAL,
			"no text: give it as arguments, with -f FILE, or on standard input%s",
			flags & INPUT_TALK && isatty(STDIN_FILENO) ? "; -i talks" : "");
	return INFER_OK;
}

int input_texts(struct buf *out, const struct opt_list *files, struct input_digest *digest,
                infer_error *err)
{
	struct sha256 sha;
	struct input in = { .out = out, .flags = INPUT_ONLY_TEXT, .sha = &sha };
	uint8_t sum[32];

	sha256_init(&sha);
	for (int i = 0; i < files->n; i++)
		TRY(add_file(&in, files->at[i], err));
	digest->bytes = sha.bytes;
	sha256_end(&sha, sum);
	sha256_hex(sum, digest->sha256);
	return INFER_OK;
}
