/* infer-bench/child.h - run a command and measure its resources. */
#ifndef INFER_BENCH_CHILD_H
#define INFER_BENCH_CHILD_H
#include <infer/status.h>
#include "base/buf.h"

struct child {
	double wall_s, cpu_s, peak_bytes; /* peak_bytes: peak resident memory */
	int status;                       /* as of waitpid(2) */
};
/* Run argv and wait for it. in: descriptor of its standard input, or -1 for empty input. Its standard output
 * is appended to out. Its standard error is not printed; a failure quotes it.
 * INFER_EIO  the command cannot be started, or it failed; err names it. INFER_ENOMEM */
int child_run(struct child *c, char *const *argv, int in, struct buf *out, infer_error *err);
#endif
