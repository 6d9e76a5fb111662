/* common/say.h - what a program says to people (stderr) and how it answers its caller (stdout, exit
 * code).
 *
 * One sentence is one line and one write(2): "infer-run: error: ...".  Control characters and
 * ill-formed UTF-8, which may come out of a file, are shown escaped.  Errors are always said; -q
 * silences the rest. */
#ifndef COMMON_SAY_H
#define COMMON_SAY_H
#include <stddef.h>
#include <infer/status.h>

/* What a program ends with; contract of all tools.  The codes 130, 141 and 143 are a shell's, for
 * signals. */
enum say_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* while running: missing file, I/O, network, device */
	EXIT_USAGE = 2,
	EXIT_INPUT = 3,      /* a model or input file is damaged or not supported */
	EXIT_NO_ROOM = 4,    /* memory or context */
	EXIT_CONSTRAINT = 5, /* cannot be compiled or satisfied */
	EXIT_LENGTH = 6,     /* cut by the token limit, with --fail-on-length */
	EXIT_SOME = 7,       /* a batch is done, and some of its requests failed */
};

/* Before anything is said.  program: kept.  Verbosity: -1 quiet, 0, 1 (-v), 2 (-vv). */
void say_init(const char *program, int verbosity);

void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
infer_log_fn say_log; /* for the options of libcore; user is unused */

/* Progress: a line that is written over, only where stderr is a terminal.  It is wiped before
 * anything else is said. */
void say_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_progress_end(void);

/* What goes with an answer and is none, as it comes: only where stderr is a terminal.  NULL: it is
 * over, if there was any. */
void say_aside(const char *text, size_t n);

int say_code(int status); /* exit code of an infer_status: the one mapping of all programs */
int say_fail(const infer_error *err); /* say the error; its exit code */

/* Write all to standard output, now.  INFER_EIO: a full disk, a closed descriptor.  A closed pipe
 * ends the program by SIGPIPE, unless that came ignored. */
int say_out(const void *bytes, size_t n, infer_error *err);
/* Close standard output: what a disk or a network refuses only now is an error too.  code, or
 * EXIT_FAILED. */
int say_end(int code);
#endif
