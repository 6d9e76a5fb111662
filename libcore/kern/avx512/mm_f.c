#include "kern/avx512/simd.h"
#include "kern/tmpl/mm_f.h"
