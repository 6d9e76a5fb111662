#include "kern/avx512vnni/points.h"
#include "kern/tmpl/mm_grid_tile.h"
