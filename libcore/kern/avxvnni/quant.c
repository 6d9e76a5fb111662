#include "kern/avxvnni/int.h"
#include "kern/tmpl/quant.h"
