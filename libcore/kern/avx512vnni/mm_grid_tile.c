#include "kern/avx512vnni/points.h"
#include "kern/x86/mm_grid_tile.h"
