/* infer-serve/ops/harden.h - drop privileges after start: no_new_privs, Landlock, seccomp. */
#ifndef INFER_SERVE_OPS_HARDEN_H
#define INFER_SERVE_OPS_HARDEN_H

#include <infer/status.h>

struct server;

/* Restrict the files that this thread and its later threads may open. Call it after all other files are
 * open.
 * INFER_ENOMEM  nothing is restricted */
int harden_files(const struct server *s, infer_error *err);
/* Forbid the removal of files, except below --files-dir and in the folder of the socket `path`
 * (NULL: none). Call it after harden_files.
 * INFER_ENOMEM  nothing is restricted */
int harden_removals(const struct server *s, const char *path, infer_error *err);
/* Restrict the system calls of all threads. Call it after they were started. All three functions do
 * nothing if a GPU is used. If the kernel lacks support, they print a note with -v and restrict
 * nothing. */
void harden(const struct server *s);
#endif
