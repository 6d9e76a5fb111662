#include "kern/avxvnni/int.h"
#define TILE_TYPES KERN_ROWS_256
#include "kern/tmpl/mm_q256_tile.h"
