/* common/start.h - the start of every program: signals, environment, options, --help, --version. */
#ifndef COMMON_START_H
#define COMMON_START_H
#include "common/help.h"

/* Options of every program: a member of the program's options, filled by START_ROWS. */
enum { STOP_BRIEF = 1, STOP_VERSION };
struct start {
	const char *help; /* section of --help, "" for all; NULL: not given */
	int stop;         /* STOP_BRIEF, STOP_VERSION, or 0 */
	int quiet, verbose;
};
/* Help text of -v; a program may define its own. */
#define START_VERBOSE "say more; -vv still more"
/* clang-format off */
#define START_ROWS(T, m) \
	{ OPT_GROUP, .name = "general", .help = "General" }, \
	{ OPT_FLAG, 'q', "quiet", NULL, "no warnings, no progress; errors are still said", \
	  offsetof(T, m.quiet), .value = 1, .marks = OPT_SERVER }, \
	{ OPT_MORE, 'v', "verbose", NULL, START_VERBOSE, offsetof(T, m.verbose), \
	  .marks = OPT_SERVER }, \
	{ OPT_LAST, 'h', NULL, NULL, "the commonest options, and examples", offsetof(T, m.stop), \
	  .value = STOP_BRIEF }, \
	{ OPT_HELP, 0, "help", "[=SECTION]", "all options, or a part of this text", \
	  offsetof(T, m.help) }, \
	{ OPT_LAST, 0, "version", NULL, "version, kernel sets, families and libraries", \
	  offsetof(T, m.stop), .value = STOP_VERSION }, \
	{ OPT_END }
/* clang-format on */

/* Set up signals and standard descriptors, and read the environment and the options into `into`. s: a
 * member of `into`. Returns -1 to continue, with *rest filled, which the caller frees with opt_rest_fini.
 * Otherwise returns the exit code, with --help, --version or an error printed. */
int start(const struct program *p, void *into, const struct start *s, int argc, char **argv,
          struct opt_rest *rest);
#endif
