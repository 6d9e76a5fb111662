#include "kern/avx2/int.h"
#define ROWS_TYPES KERN_ROWS_256
#include "kern/x86/mm_q256.h"
