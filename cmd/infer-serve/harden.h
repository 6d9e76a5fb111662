/* infer-serve/harden.h - drop privileges after start: no_new_privs, Landlock, seccomp. */
#ifndef INFER_SERVE_HARDEN_H
#define INFER_SERVE_HARDEN_H

struct server;

/* Files, for this thread and those that it starts: after everything was opened. */
void harden_files(const struct server *s);
/* The rest, for all threads: after they were started. */
void harden(void);
#endif
