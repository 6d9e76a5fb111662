#define MM_F_CODED_ONLY
#include "kern/avx512vbmi/fcode.h"
#include "kern/tmpl/mm_f.h"
