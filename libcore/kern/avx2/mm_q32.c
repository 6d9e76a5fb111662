#include "kern/avx2/int.h"
#define ROWS_TYPES KERN_ROWS_32
#include "kern/x86/mm_q32.h"
