/* infer-bench/child.h - a command run once, and what it took. */
#ifndef INFER_BENCH_CHILD_H
#define INFER_BENCH_CHILD_H
#include <infer/status.h>
#include "base/buf.h"

struct child {
	double wall_s, cpu_s, peak_bytes;
	int status; /* as waitpid(2) has it */
};
/* Run argv.  in: its standard input; -1: nothing.  out: appended, standard output; what it says on standard
 * error is kept from the terminal, unless it fails.
 * INFER_EIO  it cannot be started, or it failed; names it */
int child_run(struct child *c, char *const *argv, int in, struct buf *out, infer_error *err);
#endif
