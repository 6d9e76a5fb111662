/* base/sandbox.h - give up every right but to compute and to use what is open already.  For
 * programs: no other module calls it. */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H
#include <infer/status.h>

/* SANDBOX_READ: files may still be opened, for reading only. */
enum { SANDBOX_READ = 1 };

/* For all threads of the process, and for good; the next call may only take more away.  A system
 * call that is not left fails with EPERM, and memory cannot be made executable.  No thread may be
 * started afterwards.
 * INFER_EDEVICE  the kernel refuses filters of system calls, or has none (also under valgrind); the
 * processor is of a kind
 *                without a list of calls here, or the build has sanitizers: their runtimes open
 *                files and start processes */
int sandbox_enter(unsigned flags, infer_error *err);
#endif
