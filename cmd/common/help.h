/* common/help.h - help texts: the most common options, all options, a section, or rows for
 * scripts. */
#ifndef COMMON_HELP_H
#define COMMON_HELP_H
#include "common/opt.h"

/* Lines of two parts: a subject or a command line, and what it does.  Ended by { NULL }. */
struct help_line {
	const char *head, *text;
};
struct program {
	const char *name;                 /* "infer-run" */
	const char *usage;                /* the lines after "Usage: " */
	const char *brief;                /* one sentence, at most a line */
	const char *about;                /* more sentences; NULL: none */
	const struct help_line *subjects; /* the subcommands; NULL: none */
	const struct help_line *examples;
	const struct opt *rows;
};

/* rows: those of the program, from opt_rows.  No line is longer than 80 columns. */
void help_brief(struct buf *out, const struct program *p, const struct opt *rows);
/* section: the name of a group, "examples", "rows" (one line per option, for scripts), or "" for
 * all.
 * INFER_EINVAL  there is no such section; err lists them */
int help_put(struct buf *out, const struct program *p, const struct opt *rows, const char *section,
             infer_error *err);
#endif
