#include "kern/avx512/fcode.h"
#include "kern/tmpl/mm_f.h"
