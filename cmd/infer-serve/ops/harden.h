/* infer-serve/ops/harden.h - drop privileges after start: no_new_privs, Landlock, seccomp. */
#ifndef INFER_SERVE_OPS_HARDEN_H
#define INFER_SERVE_OPS_HARDEN_H

#include <infer/status.h>

struct server;

/* Files, for this thread and those that it starts: after everything was opened.
 * INFER_ENOMEM  nothing is given up */
int harden_files(const struct server *s, infer_error *err);
/* Removal of files, except below --files-dir and of the socket at `path` (NULL: none): after harden_files.
 * INFER_ENOMEM  nothing is given up */
int harden_removals(const struct server *s, const char *path, infer_error *err);
/* The rest, for all threads: after they were started.  All three do nothing if a GPU computes.
 */
void harden(const struct server *s);
#endif
