#include "kern/avx512vnni/int.h"
#include "kern/tmpl/mm_q256.h"
