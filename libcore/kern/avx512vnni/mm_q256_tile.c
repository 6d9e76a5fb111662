#include "kern/avx512vnni/int.h"
#define TILE_TYPES KERN_ROWS_K235
#include "kern/x86/mm_q256_tile.h"
