/* infer-serve/serve.h - run the server. */
#ifndef INFER_SERVE_SERVE_H
#define INFER_SERVE_SERVE_H
#include "infer-serve/ops/options.h"

/* Serve until a signal ends it. rows: the command line's options; keys of --config have their names.
 * Returns the exit code; errors are printed here. */
int serve(const struct serve_opts *o, const struct opt *rows);
#endif
