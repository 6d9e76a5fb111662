/* base/sandbox.h - drop all rights except computing and using open files (Landlock and seccomp).
 * For programs: no other module calls it. */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H
#include <infer/status.h>

/* SANDBOX_READ: files may still be opened for reading.  SANDBOX_THREADS: threads may still be started, which are
 * restricted in the same way, and unnamed files made in memory. */
enum { SANDBOX_READ = 1, SANDBOX_THREADS = 2 };

/* Restrict all threads of the process permanently; a later call can only restrict them further.  A
 * forbidden system call fails with EPERM, memory cannot be made executable, and no process can be
 * started, and without SANDBOX_THREADS no thread.
 * INFER_EDEVICE: the kernel refuses or lacks system-call filters (also under valgrind); there is no
 * list of system calls for this processor architecture; or the build has sanitizers, whose runtimes
 * open files and start processes. */
int sandbox_enter(unsigned flags, infer_error *err);

/* Restrict a server, which still accepts connections, reads files and starts threads.  Both calls
 * are permanent.
 *
 * sandbox_paths: the calling thread, and those that it starts, may read only below the paths of
 * `read`, write only below those of `written`, and only create and write files, not read or remove
 * them, below those of `logged`.  Missing paths are skipped.  Open files stay open, and files can
 * be removed everywhere (see sandbox_removals).
 * sandbox_serve: no thread of the process can run a program, start a process, open a socket, make
 * memory executable, access another process, change modes, owners or attributes of files, or use
 * the parts of the kernel that no server needs.
 * INFER_EDEVICE: as above; sandbox_paths: also if the kernel has no Landlock. */
int sandbox_paths(const char *const *read, int n_read, const char *const *written, int n_written,
                  const char *const *logged, int n_logged, infer_error *err);
int sandbox_serve(infer_error *err);
/* With sandbox_paths: the same threads may remove files (not directories) only below these
 * directories, within the limits of sandbox_paths.  Missing ones are skipped.
 * INFER_EDEVICE: as above. */
int sandbox_removals(const char *const *folders, int n, infer_error *err);
#endif
