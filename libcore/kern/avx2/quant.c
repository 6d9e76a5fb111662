#include "kern/avx2/int.h"
#include "kern/tmpl/quant.h"
