#include "kern/avx512vnni/int.h"
#define TILE_TYPES KERN_ROWS_K235
#include "kern/tmpl/mm_q256_tile.h"
