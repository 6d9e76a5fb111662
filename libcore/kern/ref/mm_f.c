#include "kern/ref/fcode.h"
#include "kern/tmpl/mm_f.h"
