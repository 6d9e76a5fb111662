#include "kern/neon/int.h"
#include "kern/tmpl/quant_neon.h"
