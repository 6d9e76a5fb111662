/* infer-bench/suite.h - several measurements as a text of YAML. */
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
/* subject: of runs that do not say theirs.  On failure too *s is the caller's to suite_fini.
 * INFER_EFORMAT  with line and column; INFER_EIO INFER_ENOMEM */
int suite_read(struct suite *s, const char *path, const char *subject, infer_error *err);
void suite_fini(struct suite *s);
#endif
