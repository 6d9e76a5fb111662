#include "kern/avx512vnni/int.h"
#include "kern/avx512vnni/rows4.h"
#define ROWS_TYPES(X) \
	X(Q8_0, q8_0_by8) \
	X(Q4_0, q4_0_by8) \
	X(Q4_1, q4_1) \
	X(Q5_0, q5_0) \
	X(Q5_1, q5_1) X(IQ4_NL, iq4_nl) X(MXFP4, mxfp4) KERN_ROWS_64(X) KERN_ROWS_16(X)
#include "kern/x86/mm_q32.h"
