#include "kern/avx2/int.h"
#include "kern/tmpl/mm_q256.h"
