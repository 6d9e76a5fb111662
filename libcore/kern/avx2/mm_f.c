#include "kern/avx2/fcode.h"
#include "kern/tmpl/mm_f.h"
