/* common/say.h - messages on stderr, output on stdout, and exit codes.
 *
 * A message is one line and one write(2): "infer-run: error: ...". Control characters and ill-formed
 * UTF-8 are escaped. Errors are always printed; -q silences all others. */
#ifndef COMMON_SAY_H
#define COMMON_SAY_H
#include <stddef.h>
#include <infer/status.h>

/* Exit codes of all programs; users rely on them. 130, 141 and 143 are the shell's codes for signals. */
enum say_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* a missing file, I/O, the network, a device */
	EXIT_USAGE = 2,
	EXIT_INPUT = 3,      /* a model or input file is damaged or not supported */
	EXIT_NO_ROOM = 4,    /* memory or context is too small */
	EXIT_CONSTRAINT = 5, /* a constraint cannot be compiled or satisfied */
	EXIT_LENGTH = 6,     /* the token limit cut the answer, with --fail-on-length */
	EXIT_SOME = 7,       /* some requests of a batch failed */
	EXIT_DIFFERS = 8,    /* a comparison found differences */
};

/* Set the name of the program (not copied) and the verbosity: -1 quiet, 0, 1 (-v), 2 (-vv). Call it
 * before any message. */
void say_init(const char *program, int verbosity);

void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
infer_log_fn say_log; /* log callback for options of libcore; user is unused */

/* Print a line if the verbosity of say_init is at least `verbosity`. */
void say_note(int verbosity, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With -vv: print a text of several lines, each prefixed with the program name. */
void say_text(const char *text, size_t n);
/* Print a final line with totals, if stderr is a terminal or with -v. */
void say_summary(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int say_verbosity(void); /* Return the verbosity that say_init set. */

/* If stderr is a terminal, print a piece of text that is not part of the answer, such as reasoning. text
 * NULL: end the text, if any was printed. */
void say_aside(const char *text, size_t n);

int say_code(int status);             /* Return the exit code of an infer_status. */
int say_fail(const infer_error *err); /* Print the error and return its exit code. */

/* Write n bytes to standard output, unbuffered. A closed pipe ends the program by SIGPIPE, unless the
 * signal was ignored at the start. INFER_EIO: a full disk, a closed descriptor */
int say_out(const void *bytes, size_t n, infer_error *err);
/* Close standard output, which may report a late error of a disk or network. Returns `code`, or
 * EXIT_FAILED after such an error. */
int say_end(int code);
#endif
