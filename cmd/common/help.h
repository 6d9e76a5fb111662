/* common/help.h - what programs say of their options: the commonest, all, a section, or rows for
 * scripts. */
#ifndef COMMON_HELP_H
#define COMMON_HELP_H
#include "common/opt.h"

/* Lines of two parts: a subject or a command line, and what it does.  Closed by { NULL }. */
struct help_line {
	const char *head, *text;
};
struct program {
	const char *name;                 /* "infer-run" */
	const char *usage;                /* the lines behind "Usage: " */
	const char *brief;                /* one sentence, at most a line */
	const char *about;                /* more sentences; NULL: none */
	const struct help_line *subjects; /* the words that may come first; NULL: none */
	const struct help_line *examples;
	const struct opt *rows;
};

/* rows: of the program, as opt_rows makes them.  No line has more than 80 columns. */
void help_brief(struct buf *out, const struct program *p, const struct opt *rows);
/* section: a group's name, "examples", "rows" (one line an option, for scripts), or "" for all.
 * INFER_EINVAL  another; err lists them */
int help_put(struct buf *out, const struct program *p, const struct opt *rows, const char *section,
             infer_error *err);
#endif
