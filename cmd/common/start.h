/* common/start.h - how every program begins. */
#ifndef COMMON_START_H
#define COMMON_START_H
#include "common/opt.h"

struct program {
	const char *name;  /* "infer-run" */
	const char *usage; /* the lines behind "Usage: " */
	const char *about; /* one sentence or two */
	const struct opt *rows;
};

/* Options of every program; a member of its options, filled by START_ROWS. */
enum { STOP_HELP = 1, STOP_VERSION };
struct start {
	int stop, quiet, verbose;
};
#define START_ROWS(T, m) \
	{ OPT_GROUP, .help = "General" }, \
		{ OPT_FLAG, \
		  'q', \
		  "quiet", \
		  NULL, \
		  "no warnings, no progress; errors are still said", \
		  offsetof(T, m.quiet), \
		  .value = 1 }, \
		{ OPT_MORE, 'v', "verbose", NULL, "say more; -vv still more", offsetof(T, m.verbose) }, \
		{ OPT_LAST, 'h', "help", NULL, "this text", offsetof(T, m.stop), .value = STOP_HELP }, \
		{ OPT_LAST, \
		  0, \
		  "version", \
		  NULL, \
		  "version, kernel sets and libraries", \
		  offsetof(T, m.stop), \
		  .value = STOP_VERSION }, \
	{ \
		OPT_END \
	}

/* Signals, standard descriptors, environment, options into `into` (whose member s points to),
 * --help and --version.
 * -1: go on, *rest filled (the caller's to opt_rest_fini); else the exit code, what is to be said
 * being said. */
int start(const struct program *p, void *into, const struct start *s, int argc, char **argv,
          struct opt_rest *rest);
#endif
