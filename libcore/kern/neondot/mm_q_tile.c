#include "kern/neondot/int.h"
#include "kern/arm/by4.h"
#include "kern/arm/tile.h"
