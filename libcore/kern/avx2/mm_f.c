#include "kern/avx2/simd.h"
#include "kern/tmpl/mm_f.h"
