#include "kern/avxvnni/int.h"
#include "kern/x86/quant.h"
