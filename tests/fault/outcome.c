/* tests/fault/outcome.c - judging how a run ended. */
#include "outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void outcome_die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

void outcome_put_file(const char *path, const void *at, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, at, n) != (ssize_t)n || close(fd))
		outcome_die(path);
}

struct outcome_text outcome_take_file(const char *path, size_t room)
{
	struct outcome_text t = { 0 };
	struct stat st = { 0 };
	int fd = open(path, O_RDONLY);

	if (fd >= 0 && fstat(fd, &st))
		outcome_die(path);
	if (fd < 0 && !room)
		return t;
	t.n = (size_t)st.st_size;
	t.at = calloc(1, t.n < room ? room : t.n + 1);
	if (!t.at || (fd >= 0 && read(fd, t.at, t.n) != (ssize_t)t.n))
		outcome_die(path);
	if (fd >= 0)
		close(fd);
	return t;
}

static int by_text(const void *a, const void *b)
{
	const struct outcome_text *x = a, *y = b;
	int d = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);

	return d ? d : (x->n > y->n) - (x->n < y->n);
}

/* What stands behind `key` up to one of `ends` goes. */
static void blank(struct outcome_text *t, const char *key, const char *ends)
{
	size_t k = strlen(key);

	for (size_t i = 0; i + k <= t->n; i++) {
		size_t to = i + k;

		if (memcmp(t->at + i, key, k))
			continue;
		while (to < t->n && !strchr(ends, t->at[to]))
			to++;
		memmove(t->at + i + k, t->at + to, t->n - to);
		t->n -= to - i - k;
	}
}

void outcome_plain(struct outcome *o)
{
	static const char *const changing[][2] = {
		{ "\"timings\":{", "}" },
		{ "\"created\":", ",}" },
		{ "\"cached_tokens\":", ",}" },
		{ "\"load_ms\":", ",}" },
	};
	char *p = o->out.at, *end = p + o->out.n, *nl;

	o->torn = o->out.n && end[-1] != '\n';
	if (o->form == OUTCOME_TEXT)
		return;
	for (char *q = p; q < end && (q = memchr(q, '\n', (size_t)(end - q))); q++)
		o->n_lines++;
	o->lines = calloc(o->n_lines + 1, sizeof *o->lines);
	if (!o->lines)
		abort();
	for (size_t i = 0; i < o->n_lines; i++, p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		o->lines[i] = (struct outcome_text){ p, (size_t)(nl - p) };
		/* the first that is written has it */
		if (o->lines[i].n > 7 && !memcmp(p, "{\"v\":1,", 7)) {
			p[6] = '{';
			o->lines[i].at += 6;
			o->lines[i].n -= 6;
		}
		for (size_t k = 0; k < sizeof changing / sizeof *changing; k++)
			blank(&o->lines[i], changing[k][0], changing[k][1]);
	}
	qsort(o->lines, o->n_lines, sizeof *o->lines, by_text);
}

void outcome_fini(struct outcome *o)
{
	free(o->out.at);
	free(o->err.at);
	free(o->lines);
}

static int has(const struct outcome_text *t, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= t->n; i++)
		if (!memcmp(t->at + i, what, n))
			return 1;
	return 0;
}

/* Every line is one of `want`'s, none more often than there; *failed: errors that say that memory
 * ended. */
static int lines_are_of(const struct outcome *o, const struct outcome *want, size_t *failed)
{
	size_t k = 0;

	*failed = 0;
	for (size_t i = 0; i < o->n_lines; i++) {
		if (has(&o->lines[i], "\"kind\":\"error\"") &&
		    has(&o->lines[i], "\"code\":\"INFER_ENOMEM\"")) {
			++*failed;
			continue;
		}
		if (has(&o->lines[i], "\"custom_id\"") &&
		    has(&o->lines[i], "\"status_code\":500") && has(&o->lines[i], "memory")) {
			++*failed;
			continue;
		}
		while (k < want->n_lines && by_text(&want->lines[k], &o->lines[i]) < 0)
			k++;
		if (k == want->n_lines || by_text(&want->lines[k++], &o->lines[i]))
			return 0;
	}
	return 1;
}

static int is_beginning(const struct outcome *o, const struct outcome *want)
{
	size_t failed;

	switch (o->form) {
	case OUTCOME_TEXT:
		return o->out.n <= want->out.n &&
		       !(o->out.n && memcmp(o->out.at, want->out.at, o->out.n));
	case OUTCOME_LINES:
		return lines_are_of(o, want, &failed);
	default:
		return o->n_lines <= want->n_lines;
	}
}

static int is_same(const struct outcome *o, const struct outcome *want)
{
	size_t failed = 0;

	if (o->torn != want->torn || !is_beginning(o, want))
		return 0;
	if (o->form == OUTCOME_TEXT)
		return o->out.n == want->out.n;
	return o->n_lines == want->n_lines &&
	       (o->form == OUTCOME_SHAPE || (lines_are_of(o, want, &failed) && !failed));
}

/* One line, and it is ours. */
static int says_one_line(const struct outcome *o)
{
	const char *at =
		o->err.n > 6 && !memcmp(o->err.at, "infer-", 6) ? strchr(o->err.at, ':') : NULL;

	return at && !strncmp(at, ": error: ", 9) && strchr(at, '\n') == o->err.at + o->err.n - 1;
}

/* The line says that memory is missing, or which size does not fit. */
static int says_memory(const struct outcome *o)
{
	return has(&o->err, "memory") || has(&o->err, "address space") || has(&o->err, " fits");
}

const char *outcome_class(const struct outcome *o, const struct outcome *want, int mute,
                          enum outcome_class *class)
{
	size_t failed;

	*class = OUTCOME_BAD;
	if (o->late)
		return "it hangs";
	if (o->code < 0)
		return "ended by a signal";
	if (o->code == want->code && is_same(o, want)) {
		*class = OUTCOME_SAME;
		return mute || !o->err.n ? NULL : "something is said, and nothing failed";
	}
	if (!o->code)
		return "exit 0, and another output";
	if (!mute && !says_one_line(o))
		return "not one line on standard error";
	if (o->code == 7 && o->form == OUTCOME_LINES) {
		*class = OUTCOME_PARTS;
		return o->n_lines == want->n_lines && lines_are_of(o, want, &failed) && failed
		               ? NULL
		               : "a record that is wrong";
	}
	*class = o->code == 4 ? OUTCOME_MEMORY : OUTCOME_IO;
	if (o->code == 4 && !mute && !says_memory(o))
		return "exit 4, and the line does not say that memory is missing";
	if (o->code != 4 && o->code != 1)
		return "the wrong exit code";
	return is_beginning(o, want) ? NULL : "output that is no beginning of the right one";
}
