#include "kern/neoni8mm/int.h"
#include "kern/arm/by8.h"
#include "kern/arm/tile.h"
