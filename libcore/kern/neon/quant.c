#include "kern/neon/int.h"
#include "kern/arm/quant.h"
