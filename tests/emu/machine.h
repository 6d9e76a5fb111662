/* machine.h (private) - functions of emu.cpp for the other files of the machine and the runtime */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H
#include "emu.h"
/* the machine itself is not instrumented by TSan */
#define MACHINE __attribute__((no_sanitize("thread"), noinline))
struct emu_kernel {
	dim3 grid, block;
	size_t bytes;
	void (*call)(void *);
	void *user; /* the arguments; identifies the launch */
};
/* Run a kernel to its end.  next (or NULL), the kernel after it in the stream, runs up to its
 * gpu_wait first.  The caller has checked the sizes and holds the lock. */
void emu_run(const emu_kernel *k, const emu_kernel *next);
void emu_clear_counters(void);
/* True if n bytes at p are in the shared memory of the running block. */
int emu_is_shared(const void *p, size_t n);
/* True if terms of float mma are cut: emu_set_mma, EMU_MMA=trunc. */
int emu_mma_cuts(void);
#endif
