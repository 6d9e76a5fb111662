/* common/env.h - the environment: read here, once, and handed down as options.  Nothing below cmd/
 * looks at it. */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H
#include <infer/status.h>
#include "common/opt.h"

/* For each row of `rows` that a variable stands for (INFER_MODEL: --model, INFER_THREADS:
 * --threads, INFER_ISA: --isa), take the variable's value, under the row's own rules.  Before
 * opt_parse, so that options win.  An empty one is not there.
 * INFER_EINVAL  names the variable */
int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err);

/* Colours and other escape sequences may go to fd: it is a terminal that knows them (TERM), and for
 * colours NO_COLOR is not set. */
enum { ENV_ESCAPES = 1 << 0, ENV_COLOURS = 1 << 1 };
unsigned env_terminal(int fd);

/* Where the user's state is kept, made where it is not there: inferutils/ below XDG_STATE_HOME,
 * else below ~/.local/state. path: initialised by the caller, its to buf_fini.
 * INFER_EIO  there is no home, or a directory cannot be made */
int env_state_dir(struct buf *path, infer_error *err);
#endif
