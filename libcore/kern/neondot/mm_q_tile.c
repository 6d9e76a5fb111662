#include "kern/neondot/int.h"
#include "kern/tmpl/by4_neon.h"
#include "kern/tmpl/tile_neon.h"
