/* tests/unit/infer-run/test_lines.c - lines from descriptors compared with the same text cut by
 * hand */
#include "../nth.h"
#include "infer-run/lines.h"
#include <string.h>
#include <unistd.h>

#define BOM "\xef\xbb\xbf"

static const struct row {
	const char *text;
	size_t n;
	char end;
	int as_is;
	const char *lines[5]; /* "(long)": one that is not given out; NULL: the end */
} rows[] = {
	{ "", 0, '\n', 0, { NULL } },
	{ "a", 1, '\n', 0, { "a", NULL } },
	{ "a\nb\n", 4, '\n', 0, { "a", "b", NULL } },
	{ "\n\r\n\r", 4, '\n', 0, { "", "", "\r", NULL } },
	{ BOM "a\r\n" BOM "b\r\r\n", 13, '\n', 0, { "a", BOM "b\r", NULL } },
	{ BOM, 3, '\n', 0, { "", NULL } },
	{ BOM "a\r\n", 6, '\n', 1, { BOM "a\r", NULL } },
	{ "a\nb\0\0c\r", 7, 0, 1, { "a\nb", "", "c\r", NULL } },
	/* 10 bytes are the most */
	{ "0123456789\n0123456789x\nb", 24, '\n', 0, { "0123456789", "(long)", "b", NULL } },
	{ "a\n0123456789x", 13, '\n', 0, { "a", "(long)", NULL } },
};

/* A pipe with this text, and nothing more to come. */
static int pipe_with(const char *text, size_t n)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], text, n), n);
	close(fd[1]);
	return fd[0];
}

static int check(const struct row *r, struct lines *l, int64_t number)
{
	infer_error err;
	enum lines_got got;
	const char *at;
	size_t n;
	int rc;

	for (int i = 0;; i++) {
		nth_ok(lines_next(l, -1, &got, &at, &n, &err));
		if (!r->lines[i]) {
			assert_int_equal(got, LINES_END);
			return INFER_OK;
		}
		assert_int_equal(l->number, ++number);
		if (!strcmp(r->lines[i], "(long)")) {
			assert_int_equal(got, LINES_LONG);
			continue;
		}
		assert_int_equal(got, LINES_LINE);
		assert_int_equal(n, strlen(r->lines[i]));
		assert_memory_equal(at, r->lines[i], n);
	}
out:
	return rc;
}

/* Read each text alone; then read it again from a second descriptor: its line numbers continue. */
static int case_rows(void)
{
	int rc = INFER_OK;

	for (size_t i = 0; !rc && i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		int fd = pipe_with(r->text, r->n), again = pipe_with(r->text, r->n);
		struct lines l;

		lines_init(&l, fd, "text");
		l.end = r->end;
		l.as_is = r->as_is;
		l.longest = 10;
		rc = check(r, &l, 0);
		if (!rc) {
			lines_continue(&l, again, "again");
			rc = check(r, &l, l.number);
		}
		lines_fini(&l);
		close(fd);
		close(again);
	}
	return rc;
}

/* What is there of a line waits for the rest of it. */
static int case_pieces(void)
{
	infer_error err;
	enum lines_got got;
	const char *at;
	struct lines l;
	size_t n;
	int fd[2], rc;

	assert_int_equal(pipe(fd), 0);
	lines_init(&l, fd[0], "pipe");
	nth_ok(lines_next(&l, 0, &got, &at, &n, &err));
	assert_int_equal(got, LINES_NONE);
	for (const char *s = BOM "ab\r\nc"; *s; s++) {
		assert_int_equal(write(fd[1], s, 1), 1);
		nth_ok(lines_next(&l, 0, &got, &at, &n, &err));
		assert_int_equal(got, *s == '\n' ? LINES_LINE : LINES_NONE);
		if (*s == '\n')
			assert_true(n == 2 && !memcmp(at, "ab", 2));
	}
	close(fd[1]);
	fd[1] = -1;
	nth_ok(lines_next(&l, -1, &got, &at, &n, &err));
	assert_true(got == LINES_LINE && n == 1 && *at == 'c');
	nth_ok(lines_next(&l, -1, &got, &at, &n, &err));
	assert_int_equal(got, LINES_END);
out:
	lines_fini(&l);
	close(fd[0]);
	if (fd[1] >= 0)
		close(fd[1]);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_rows), nth_case(case_pieces) };

	return nth_group(tests);
}
