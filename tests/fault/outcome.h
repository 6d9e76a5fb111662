/* tests/fault/outcome.h - how a run ended, compared with how it should have. */
#ifndef TESTS_OUTCOME_H
#define TESTS_OUTCOME_H
#include <stddef.h>

enum outcome_form {
	OUTCOME_TEXT,  /* bytes */
	OUTCOME_LINES, /* records, in any order, times aside */
	OUTCOME_SHAPE, /* measurements: their number of lines */
};
enum outcome_class {
	OUTCOME_SAME,
	OUTCOME_MEMORY,
	OUTCOME_IO,
	OUTCOME_PARTS,
	OUTCOME_BAD,
	OUTCOMES
};

struct outcome_text {
	char *at;
	size_t n;
};
struct outcome {
	int code; /* -signal */
	int late;
	enum outcome_form form;
	struct outcome_text out, err;
	/* of out, sorted, what changes from run to run taken out */
	struct outcome_text *lines;
	size_t n_lines;
	int torn; /* out ends amid a line */
};

/* Ends the program: a failure of the test itself. */
void outcome_die(const char *what) __attribute__((noreturn));
void outcome_put_file(const char *path, const void *at, size_t n);
/* The file's bytes, followed by a NUL, in memory of at least `room` bytes; empty if there is no file. */
struct outcome_text outcome_take_file(const char *path, size_t room);

void outcome_plain(struct outcome *o);
void outcome_fini(struct outcome *o);
/* NULL and the class, or what is wrong with it.  mute: standard error did not work. */
const char *outcome_class(const struct outcome *o, const struct outcome *want, int mute,
                          enum outcome_class *class);
#endif
