#include "kern/avx2/int.h"
#define ROWS_TYPES(X) \
	KERN_ROWS_32(X) \
	KERN_ROWS_64(X) KERN_ROWS_16(X)
#include "kern/x86/mm_q32.h"
