#include "kern/avx2/points.h"
#include "kern/x86/mm_grid_tile.h"
