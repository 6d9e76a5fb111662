#include "kern/avx2/int.h"
#include "kern/tmpl/quant.h"
#include "kern/tmpl/peak_x86.h"
