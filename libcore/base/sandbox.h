/* base/sandbox.h - give up every right except to compute and to use open files.  For programs: no
 * other module calls it. */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H
#include <infer/status.h>

/* SANDBOX_READ: files may still be opened for reading. */
enum { SANDBOX_READ = 1 };

/* Restrict all threads of the process permanently; a later call can only restrict them further.  A
 * forbidden system call fails with EPERM, memory cannot be made executable, and no thread can be
 * started.
 * INFER_EDEVICE  the kernel refuses filters of system calls, or has none (also under valgrind); the
 * processor is of a kind
 *                without a list of calls here, or the build has sanitizers: their runtimes open
 *                files and start processes */
int sandbox_enter(unsigned flags, infer_error *err);

/* For a server, which goes on to accept, read files and start threads; both permanent.
 *
 * sandbox_paths: the calling thread, and those that it starts, may read only below the paths of
 * `read`, write only below those of `written`, and create and write files, but not read or remove
 * them, below those of `logged`.  Paths that are missing are passed over.  What is
 * open stays so, and files can be removed everywhere (see sandbox_removals).
 * sandbox_serve: no thread of the process can run a program, start a process, open a socket, make
 * memory executable, touch another process, change modes, owners or attributes of files, or reach the
 * parts of the kernel that no server needs.
 * INFER_EDEVICE  as above; sandbox_paths: the kernel has no Landlock */
int sandbox_paths(const char *const *read, int n_read, const char *const *written, int n_written,
                  const char *const *logged, int n_logged, infer_error *err);
int sandbox_serve(infer_error *err);
/* With sandbox_paths: the same threads may remove files (not directories) only below these folders,
 * as far as sandbox_paths lets them.  A folder that is missing is passed over.
 * INFER_EDEVICE  as above */
int sandbox_removals(const char *const *folders, int n, infer_error *err);
#endif
