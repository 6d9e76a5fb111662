#include "kern/neon/int.h"
#include "kern/tmpl/rows_neon.h"
