#include "kern/avx2/int.h"
#define TILE_TYPES KERN_ROWS_256
#include "kern/x86/mm_q256_tile.h"
