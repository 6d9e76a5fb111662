#include "kern/avx512vnni/int.h"
#include "kern/x86/mm_q32.h"
