/* infer/hw.h - the kernel sets of this build, and which of them this machine can run.   floor: kern
 * */
#ifndef INFER_HW_H
#define INFER_HW_H
#include <stdint.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_kernel_set {
	const char *name; /* "avx2", as in infer_engine_opts.isa; static */
	int usable;       /* 1: the processor and the operating system allow it */
};

/* Get set i, narrowest first.  1: *s is filled; 0: there is no set i, and *s is unchanged.  Any
 * thread. */
int infer_kernel_set(int i, struct infer_kernel_set *s);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
