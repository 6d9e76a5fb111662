#include "kern/neon/int.h"
#include "kern/arm/by4.h"
#include "kern/arm/tile.h"
