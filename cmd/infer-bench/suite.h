/* infer-bench/suite.h - --suite: a list of runs in YAML. */
#ifndef INFER_BENCH_SUITE_H
#define INFER_BENCH_SUITE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/arena.h"

struct suite_run {
	const char *name;
	char **argv; /* ends with NULL */
	int argc;
};
struct suite {
	struct suite_run *runs;
	size_t n;
	struct arena mem;
};
/* Read a suite. subject: sub-command of runs that name none. The caller calls suite_fini, on failure too.
 * INFER_EFORMAT  not a suite; err has line and column. INFER_EIO INFER_ENOMEM */
int suite_read(struct suite *s, const char *path, const char *subject, infer_error *err);
void suite_fini(struct suite *s);
#endif
