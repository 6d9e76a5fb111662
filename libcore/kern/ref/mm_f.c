#include "kern/ref/simd.h"
#include "kern/tmpl/mm_f.h"
