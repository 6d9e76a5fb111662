#include "kern/neon/fcode.h"
#include "kern/tmpl/mm_f.h"
