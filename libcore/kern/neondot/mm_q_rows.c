#include "kern/neondot/int.h"
#include "kern/arm/rows.h"
