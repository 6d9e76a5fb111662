#include "kern/avx512vnni/points.h"
#define ROWS_TYPES(X) KERN_ROWS_GRID12(X) KERN_ROWS_TERNARY(X)
#include "kern/x86/mm_grid.h"
