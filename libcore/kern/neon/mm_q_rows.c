#include "kern/neon/int.h"
#include "kern/arm/rows.h"
