/* common/help.h - the texts of -h, --help, --help=SECTION and --help=rows. */
#ifndef COMMON_HELP_H
#define COMMON_HELP_H
#include "common/opt.h"

/* A sub-command or an example command line (head) and its description (text). Lists end with { NULL }. */
struct help_line {
	const char *head, *text;
};
struct program {
	const char *name;                 /* such as "infer-run" */
	const char *usage;                /* the text after "Usage: " */
	const char *brief;                /* one sentence, at most a line */
	const char *about;                /* further description, sentences; NULL: none */
	const struct help_line *subjects; /* the sub-commands; NULL: none */
	const struct help_line *words;    /* sub-commands that usage names; completed only; NULL */
	const struct help_line *examples;
	const struct opt *rows;
};

/* Append the text of -h. rows: expanded by opt_rows(). No line is longer than 80 columns. */
void help_brief(struct buf *out, const struct program *p, const struct opt *rows);
/* Append a section of --help: the name of a group, "examples", "rows" (one line per option, for
 * scripts), or "" for all sections.
 * INFER_EINVAL  there is no such section; err lists the sections. INFER_ENOMEM */
int help_put(struct buf *out, const struct program *p, const struct opt *rows, const char *section,
             infer_error *err);
#endif
