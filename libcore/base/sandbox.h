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
#endif
