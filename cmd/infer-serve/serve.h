/* infer-serve/serve.h - run the server. */
#ifndef INFER_SERVE_SERVE_H
#define INFER_SERVE_SERVE_H
#include "infer-serve/ops/options.h"

/* Serve until a signal ends it.  rows: of the command line, whose names --config uses.  Returns the
 * exit code; errors were reported. */
int serve(const struct serve_opts *o, const struct opt *rows);
#endif
