#include "kern/avx2/points.h"
#include "kern/tmpl/mm_grid_tile.h"
