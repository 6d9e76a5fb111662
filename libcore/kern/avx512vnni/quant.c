#include "kern/avx512vnni/int.h"
#include "kern/x86/quant.h"
#include "kern/x86/peak.h"
