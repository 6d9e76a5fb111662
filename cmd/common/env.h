/* common/env.h - the environment: read here, once, and handed down as options.  Nothing below cmd/ looks at it. */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H
#include <infer/status.h>
#include "common/opt.h"

/* For each row of `rows` that a variable stands for (INFER_MODEL: --model, INFER_THREADS: --threads, INFER_ISA: --isa),
 * take the variable's value, under the row's own rules.  Before opt_parse, so that options win.  An empty one is not there.
 * INFER_EINVAL  names the variable */
int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err);
#endif
