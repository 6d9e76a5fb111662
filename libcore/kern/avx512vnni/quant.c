#include "kern/avx512vnni/int.h"
#include "kern/tmpl/quant.h"
#include "kern/tmpl/peak_x86.h"
