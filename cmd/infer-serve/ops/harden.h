/* infer-serve/ops/harden.h - drop privileges after start: no_new_privs, Landlock, seccomp. */
#ifndef INFER_SERVE_OPS_HARDEN_H
#define INFER_SERVE_OPS_HARDEN_H

#include <infer/status.h>

struct server;

/* Restrict which files this thread, and those that it starts, may open.  Call it after everything
 * was opened.
 * INFER_ENOMEM  nothing is restricted */
int harden_files(const struct server *s, infer_error *err);
/* Forbid the removal of files, except below --files-dir and in the folder of the socket `path`
 * (NULL: none). Call it after harden_files.
 * INFER_ENOMEM  nothing is restricted */
int harden_removals(const struct server *s, const char *path, infer_error *err);
/* Restrict the system calls of all threads.  Call it after they were started. All three do nothing
 * if a GPU computes, and go on with a note if the kernel does not support it. */
void harden(const struct server *s);
#endif
