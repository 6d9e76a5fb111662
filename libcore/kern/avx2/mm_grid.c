#include "kern/avx2/points.h"
#define ROWS_TYPES(X) \
	KERN_ROWS_GRID(X) \
	KERN_ROWS_TERNARY(X)
#include "kern/x86/mm_grid.h"
