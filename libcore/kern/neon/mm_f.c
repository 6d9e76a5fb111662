#include "kern/neon/simd.h"
#include "kern/tmpl/mm_f.h"
