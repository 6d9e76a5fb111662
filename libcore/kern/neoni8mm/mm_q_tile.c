#include "kern/neoni8mm/int.h"
#include "kern/tmpl/by8_neon.h"
#include "kern/tmpl/tile_neon.h"
