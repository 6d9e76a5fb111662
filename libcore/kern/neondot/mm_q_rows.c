#include "kern/neondot/int.h"
#include "kern/tmpl/rows_neon.h"
