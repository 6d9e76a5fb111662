/* common/say.h - messages to people (stderr), and answers to the caller (stdout, exit code).  A
 * message is one line and one write(2): "infer-run: error: ...".  Control characters and
 * ill-formed UTF-8, which may come from a file, are escaped.  Errors are always printed; -q
 * silences the rest. */
#ifndef COMMON_SAY_H
#define COMMON_SAY_H
#include <stddef.h>
#include <infer/status.h>

/* The exit codes, part of the contract of all tools.  The codes 130, 141 and 143 are the
 * shell's, for signals. */
enum say_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* while running: missing file, I/O, network, device */
	EXIT_USAGE = 2,
	EXIT_INPUT = 3,      /* a model or input file is damaged or not supported */
	EXIT_NO_ROOM = 4,    /* memory or context */
	EXIT_CONSTRAINT = 5, /* cannot be compiled or satisfied */
	EXIT_LENGTH = 6,     /* cut by the token limit, with --fail-on-length */
	EXIT_SOME = 7,       /* a batch has finished, and some of its requests failed */
	EXIT_DIFFERS = 8,    /* compared, and different */
};

/* Called before any message.  program: not copied.  Verbosity: -1 quiet, 0, 1 (-v), 2 (-vv). */
void say_init(const char *program, int verbosity);

void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
infer_log_fn say_log; /* a log callback for the options of libcore; user is unused */

/* With -v given so often (1, 2). */
void say_note(int verbosity, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With -vv: a text of any lines, each of them marked. */
void say_text(const char *text, size_t n);
/* What it all came to: where stderr is a terminal, and with -v. */
void say_summary(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int say_verbosity(void); /* as say_init was told */

/* Text that accompanies an answer but is not part of it, as it arrives; only if stderr is a
 * terminal.  NULL: it has ended, if there was any. */
void say_aside(const char *text, size_t n);

int say_code(int status); /* the exit code of an infer_status, the same in all programs */
int say_fail(const infer_error *err); /* print the error; returns its exit code */

/* Write everything to standard output at once.  INFER_EIO: a full disk, a closed descriptor.  A
 * closed pipe ends the program by SIGPIPE, unless that was ignored at the start. */
int say_out(const void *bytes, size_t n, infer_error *err);
/* Close standard output; an error that a disk or network reports only now counts too.  Returns
 * code, or EXIT_FAILED. */
int say_end(int code);
#endif
