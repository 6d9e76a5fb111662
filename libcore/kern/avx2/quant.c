#include "kern/avx2/int.h"
#include "kern/x86/quant.h"
#include "kern/x86/peak.h"
