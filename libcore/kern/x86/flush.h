/* kern/x86/flush.h - a mode of the processor that treats subnormal numbers as zeros, so that
 * results need no check. */
#ifndef KERN_X86_FLUSH_H
#define KERN_X86_FLUSH_H
#include <immintrin.h>

enum { V_FLUSHES = 1, MODE_FLUSH = 0x8040 /* flush to zero, denormals are zero */ };

static inline unsigned v_flush_begin(void)
{
	unsigned mode = _mm_getcsr();

	_mm_setcsr(mode | MODE_FLUSH);
	return mode;
}
static inline void v_flush_end(unsigned mode) { _mm_setcsr(mode); }

typedef int v_low_t;
static inline v_low_t v_low_none(void) { return 0; }
#define v_low(low, x) (low)
static inline int v_is_low(int low) { return low; }
#endif
