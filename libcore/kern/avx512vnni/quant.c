#include "kern/avx512vnni/int.h"
#include "kern/tmpl/quant.h"
